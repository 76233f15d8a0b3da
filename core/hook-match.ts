/**
 * Which hooks an event meets: from the hooks of all plugins to a list for each event, with every matcher compiled.
 *
 * Invariant: a matcher that cannot match what its author meant is refused here, before the first event.
 */
import { nearestName, SousError } from "./error.ts"
import { HOOKS, type HookEvent, type HookSpec } from "./hook.ts"
import { type HookDialect, type HookSource, placeOf } from "./hook-source.ts"
import { findHidden } from "./name.ts"
import type { RegisteredHook } from "./registry.ts"

/** A hook that is ready to run. */
export interface CompiledHook {
  hook: RegisteredHook
  /** Who brought it, for messages: `plugin "guard"`, `.hooks.json:3`. */
  owner: string
  /** Names the hook among those of its owner: its description, or its event and matcher, with a number when taken. */
  name: string
  dialect: HookDialect
  /** The same for handlers that are the same thing configured twice; left out: there is no other. */
  key?: string
  /** True when the hook wants to see an event whose matched field has this value. */
  matches(value: string): boolean
  timeoutMs: number
}

/** The hooks of each event that has any, in the order of registration. */
export type HookTable = ReadonlyMap<HookEvent, readonly CompiledHook[]>

const DEFAULT_TIMEOUT_MS = 60_000

/** Letters, digits, `_`, `-` and what separates names: such a matcher is a list of exact names. */
const NAMES_ONLY = /^[\p{L}\p{N}_\-,| ]*$/u

/** Compiles every hook once. Throws HOOK_MATCHER_INVALID. */
export function compileHooks(hooks: readonly RegisteredHook[]): HookTable {
  const table = new Map<HookEvent, CompiledHook[]>()
  const taken = new Map<string, number>()
  for (const hook of hooks) {
    const { source } = hook
    const spec: HookSpec = HOOKS[hook.event]
    const owner = source ? placeOf(source.origin) : `plugin "${hook.plugin}"`
    const name = nameOf(hook, owner, taken)
    const compiled = {
      hook,
      owner,
      name,
      dialect: source?.dialect ?? "native",
      matches: compileMatcher(hook, spec, { owner, name }),
      timeoutMs: hook.timeoutMs ?? spec.timeoutMs ?? (source?.form.type === "prompt" ? 30_000 : DEFAULT_TIMEOUT_MS),
      ...(source ? { key: keyOf(source) } : {}),
    }
    const list = table.get(hook.event)
    if (list) list.push(compiled)
    else table.set(hook.event, [compiled])
  }
  return table
}

/** All that tells one handler from another; what it is called, where it stands and what it matches do not. */
function keyOf({ dialect, form, if: condition, onFailure, async, timeoutMs, once, origin }: HookSource): string {
  return JSON.stringify([dialect, form, condition, onFailure, async, timeoutMs, once, origin.by])
}

function nameOf(hook: RegisteredHook, owner: string, taken: Map<string, number>): string {
  const plain = hook.description ?? (hook.matcher ? `${hook.event}(${hook.matcher})` : hook.event)
  const key = `${owner} ${plain}`
  const count = (taken.get(key) ?? 0) + 1
  taken.set(key, count)
  return count === 1 ? plain : `${plain} #${count}`
}

/** Events of the claude-code protocol that take no matcher; one that is given is ignored there. */
const WITHOUT_MATCHER: readonly HookEvent[] = ["UserPromptSubmit", "Stop"]

/** Names by which the claude-code protocol knows a tool or a scope. */
const OTHER_NAMES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  Task: "Agent",
  policy_settings: "managed",
  flag_settings: "cli",
  local_settings: "local",
  project_settings: "project",
  user_settings: "user",
})

function compileMatcher(
  hook: RegisteredHook,
  spec: HookSpec,
  named: { owner: string; name: string },
): (value: string) => boolean {
  const isForeign = hook.source?.dialect === "claude-code"
  const own = isForeign && WITHOUT_MATCHER.includes(hook.event) ? undefined : hook.matcher
  const matcher = own ?? spec.matcher ?? ""
  const refuse = (reason: string, cause?: unknown) =>
    new SousError("HOOK_MATCHER_INVALID", { owner: named.owner, hook: named.name, matcher, reason }, { cause })
  if (/^\s*\*?\s*$/.test(matcher)) return () => true
  const hidden = findHidden(matcher)
  if (hidden !== undefined) throw refuse(`it holds a character that nobody sees, ${hidden}`)
  if (spec.matches === undefined) throw refuse(`the event "${hook.event}" has nothing to match`)
  if (NAMES_ONLY.test(matcher)) {
    const names = new Set(matcher.split(/[|,]/).map((part) => part.trim()))
    if (isForeign) for (const name of [...names]) names.add(OTHER_NAMES[name] ?? name)
    return (value) => names.has(value)
  }
  try {
    const pattern = new RegExp(matcher)
    const foreign = (value: string) => Object.keys(OTHER_NAMES).filter((name) => OTHER_NAMES[name] === value)
    return (value) => pattern.test(value) || (isForeign && foreign(value).some((name) => pattern.test(name)))
  } catch (cause) {
    throw refuse((cause as Error).message, cause)
  }
}

/** Hooks that look as if they watched over a tool and never see it, a sentence each. `tools`: the names of all tools. */
export function missedTools(hooks: readonly RegisteredHook[], tools: readonly string[]): string[] {
  return hooks.flatMap((hook) => {
    const { event, matcher, source } = hook
    const spec: HookSpec = HOOKS[event]
    if (matcher === undefined || spec.matches !== "tool_name") return []
    const mend = NAMES_ONLY.test(matcher) ? mendOfNames(matcher, tools, source) : mendOfPattern(matcher, tools)
    if (mend === undefined) return []
    const place = source ? placeOf(source.origin) : `plugin "${hook.plugin}"`
    return [`The ${event} hook of ${place} with the matcher "${matcher}" does not see what it seems to watch: ${mend}`]
  })
}

function mendOfNames(matcher: string, tools: readonly string[], source: HookSource | undefined): string | undefined {
  const known: Readonly<Record<string, string>> = source?.dialect === "claude-code" ? OTHER_NAMES : {}
  const names = matcher.split(/[|,]/).map((part) => part.trim())
  const isUseless = !names.some((name) => tools.includes(known[name] ?? name))
  for (const name of names) {
    if (name === "" || tools.includes(known[name] ?? name)) continue
    const sameLetters = tools.find((tool) => tool.toLowerCase() === name.toLowerCase())
    // Beside names that fit, one may be of a tool that only other programs have.
    const near = sameLetters ?? (isUseless ? (OTHER_NAMES[name] ?? nearestName(name, tools)) : undefined)
    if (near !== undefined) return `no tool is named "${name}"; write "${near}"`
  }
  return undefined
}

/** A permission rule, and a name in quotes or slashes, are valid regular expressions too, and fit no name of a tool. */
function mendOfPattern(matcher: string, tools: readonly string[]): string | undefined {
  const words: readonly string[] = matcher.match(/\w+/g) ?? []
  const meant = words.flatMap((word) => tools.find((name) => name.toLowerCase() === word.toLowerCase()) ?? [])
  if (meant.length === 0 || matcher.includes("mcp__")) return undefined
  if (tools.some((name) => new RegExp(matcher).test(name))) return undefined
  const [, tool = ""] = /^(\w+)\(.*\)$/s.exec(matcher) ?? []
  if (tools.includes(tool)) return `it is a permission rule; write the matcher "${tool}", and the rule as "if"`
  return `it fits no tool; write "${meant.join("|")}"`
}
