/**
 * What `loadSettings()` returned → what guards in it, and what of that is weaker in another start.
 *
 * Invariant: measured by what counts at a start (rules, hooks that run and what they fall to, modes), not by the file.
 */

import { HOOKS } from "../../../core/hook.ts"
import type { HookSource } from "../../../core/hook-source.ts"
import { suppressionOf } from "../../../core/hook-source.ts"
import type { RuleSource } from "../../../core/permission/decision.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import type { LoadedSettings } from "../../../core/settings/load.ts"
import { callOf, decideIn, type Folders } from "../permission/fixture.ts"

export interface Guard {
  deny: string[]
  ask: string[]
  allow: string[]
  ordered: string[]
  /** Gates that run. */
  hooks: GuardHook[]
  /** Those that do not. */
  suppressed: string[]
  switches: string[]
  mode: string
  denialLimit: number
  plugins: string[]
  rules: RuleSource[]
}

interface GuardHook {
  file: string
  event: string
  form: string
  matcher: string | undefined
  if: string | undefined
  falls: number
  isWaitedFor: boolean
}

export function guardOf({ settings, hooks, sources }: LoadedSettings): Guard {
  const { rules, defaultMode, denialLimit } = settings.permissions
  const list = (behavior: string) =>
    rules.filter((rule) => rule.behavior === behavior && !rule.ordered).map(({ text }) => text)
  // Only a gate guards: what an observer misses changes no decision.
  const active = hooks.sources.filter(
    ({ suppressed, event }) => suppressed === undefined && HOOKS[event].kind === "gate",
  )
  const managed = sources.filter(({ scope }) => scope === "managed")
  return {
    deny: list("deny"),
    ask: list("ask"),
    allow: list("allow"),
    ordered: rules.filter(({ ordered }) => ordered).map(({ behavior, text }) => `${behavior} ${text}`),
    hooks: active
      .filter((source) => suppressionOf(source) === undefined || source.form.type === "mcp_tool")
      .map(hookOf),
    suppressed: hooks.sources
      .filter(({ suppressed }) => suppressed !== undefined)
      .map((source) => JSON.stringify(source.form)),
    switches: [
      ...["permissions.disableBypassPermissionsMode", "permissions.disableAutoMode"].filter((key) =>
        settings.origins.has(key),
      ),
      ...(["allowManagedHooksOnly", "allowManagedPermissionRulesOnly"] as const).filter((key) =>
        managed.some(({ values }) => values[key]),
      ),
    ],
    mode: defaultMode,
    denialLimit,
    plugins: settings.plugins.map(({ value, required, isolation }) => `${value} ${required} ${isolation}`),
    rules,
  }
}

function hookOf(source: HookSource): GuardHook {
  const { event, matcher, form, dialect, onFailure, async: background } = source
  const spec = HOOKS[event]
  const isClosed = spec.kind === "gate" && spec.fails === "closed" && dialect === "native"
  const { headers: _, ...shown } = form as { headers?: unknown }
  return {
    file: source.origin.file ?? "",
    event,
    form: JSON.stringify(shown),
    matcher: matcher === "" || matcher === "*" ? undefined : matcher,
    if: source.if,
    falls: ["allow", "ask", "block"].indexOf(onFailure ?? (isClosed ? "block" : "allow")),
    isWaitedFor: !background && !source.once,
  }
}

const MODES = ["plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"]

/** What the owner took out on purpose, so that only the rest is compared. */
export interface Taken {
  /** Dotted, as in `permissions.deny`. */
  path: string
  /** Hooks of the file that stand below the path, by their index among those of the file. */
  hooks: readonly number[]
}

/** One line for everything that guarded before and guards less now. */
export function weakerIn(
  before: Guard,
  after: Guard,
  { file, taken }: { file: string; taken?: Taken | undefined },
): string[] {
  const isTaken = (path: string) =>
    taken !== undefined && (`${path}.`.startsWith(`${taken.path}.`) || `${taken.path}.`.startsWith(`${path}.`))
  const lost = (what: string, path: string, had: string[], has: string[]) =>
    isTaken(path) ? [] : missing(had, has).map((one) => `${what} ${one} is gone`)
  const own = before.hooks.filter((hook) => hook.file === file)
  const expected = before.hooks.filter((hook) => !taken?.hooks.includes(own.indexOf(hook)))
  const bounds = ["disableAllHooks", "allowManagedHooksOnly", "allowedHttpHookUrls"].some(isTaken)
  return [
    ...lost("deny", "permissions.deny", before.deny, after.deny),
    ...lost("ask", "permissions.ask", before.ask, after.ask),
    ...(isTaken("allowManagedPermissionRulesOnly")
      ? []
      : missing(after.allow, before.allow).map((one) => `allow ${one} is new`)),
    ...(isTaken("permissions.rules") ||
    isTaken("allowManagedPermissionRulesOnly") ||
    String(before.ordered) === String(after.ordered)
      ? []
      : [`ordered rules are ${after.ordered}`]),
    ...hooksLost(expected, after.hooks),
    ...(bounds
      ? []
      : missing(before.suppressed, after.suppressed)
          .filter((form) => after.hooks.some((hook) => hook.form === form && hook.file !== file))
          .map((one) => `${one} runs now`)),
    ...before.switches.filter((key) => !after.switches.includes(key) && !isTaken(key)).map((key) => `${key} is off`),
    ...(MODES.indexOf(after.mode) > MODES.indexOf(before.mode) && !isTaken("permissions.defaultMode")
      ? [`mode is ${after.mode}`]
      : []),
    ...(after.denialLimit > before.denialLimit && !isTaken("permissions.denialLimit")
      ? [`denialLimit is ${after.denialLimit}`]
      : []),
    ...lost("plugin", "plugins", before.plugins, after.plugins),
  ]
}

function missing(had: readonly string[], has: readonly string[]): string[] {
  const left = [...has]
  return had.filter((one) => {
    const index = left.indexOf(one)
    if (index !== -1) left.splice(index, 1)
    return index === -1
  })
}

/** Each hook has to be there as it was, or stricter. */
function hooksLost(had: readonly GuardHook[], has: readonly GuardHook[]): string[] {
  const left = [...has]
  return had.flatMap((hook) => {
    const index = left.findIndex(
      (one) =>
        one.event === hook.event &&
        one.form === hook.form &&
        (one.matcher === undefined || one.matcher === hook.matcher) &&
        (one.if === undefined || one.if === hook.if) &&
        one.falls >= hook.falls &&
        (one.isWaitedFor || !hook.isWaitedFor),
    )
    if (index === -1) return [`hook ${JSON.stringify(hook)} is gone or weaker`]
    left.splice(index, 1)
    return []
  })
}

const CALLS = [
  ["Bash", "rm -rf build"],
  ["Bash", "npm test"],
  ["Bash", "npm publish"],
  ["Bash", "git push origin main"],
  ["Bash", "curl localhost"],
  ["Bash", "ssh host uptime"],
  ["Bash", "sudo make deploy"],
  ["Read", ".env"],
  ["Read", "secret/k.txt"],
  ["Write", "src/a.ts"],
  ["WebFetch", "https://internal.example.com/"],
] as const

/** What becomes of a handful of calls under these settings: 0 allow, 1 ask, 2 deny. Throws PERMISSION_RULE_INVALID. */
export async function decisionsOf({ rules, mode }: Guard, folders: Folders): Promise<number[]> {
  const compiled = compileRules(rules, { cwd: folders.project, home: folders.home })
  const decide = ([tool, subject]: (typeof CALLS)[number]) =>
    decideIn(folders, callOf(tool, subject), compiled, { mode: mode as "default" })
  const decisions = await Promise.all(CALLS.map(decide))
  return decisions.map(({ behavior }) => ["allow", "ask", "deny"].indexOf(behavior))
}
