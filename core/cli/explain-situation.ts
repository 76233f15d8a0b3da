/**
 * The permissions part of settings, a mode, folders → the rules and facts that a call is decided by.
 *
 * Invariant: no settings of the machine are read; a guard that cannot be read is an error, never a weaker guard.
 */
import { join, resolve } from "node:path"
import { nearestName, SousError } from "../error.ts"
import type { Behavior, RuleSource } from "../permission/decision.ts"
import { createDiskLook, type Disk, followNow } from "../permission/disk.ts"
import type { ExplainOptions } from "../permission/explain.ts"
import { resolvePath } from "../permission/path.ts"
import { compileRules, type RuleSet } from "../permission/rule.ts"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"
import { modeOf } from "../settings/merge.ts"
import { MODE_NAMES } from "../settings/schema.ts"
import { fixedFolders, homeFolder, resolveWritten } from "../settings/scopes.ts"
import type { PermissionMode } from "../tool.ts"

/** What one line says about the place of its call. */
export interface SituationRequest {
  /** As in a settings file; what stands beside `permissions` is not looked at. */
  settings?: unknown
  mode?: unknown
  /** Absolute. */
  cwd: string
  /** Absolute. Default: this user's. */
  home?: string | undefined
  headless: boolean
}

/** What a call is held against. */
export interface Situation extends ExplainOptions {
  disk: Disk
}

/** Makes situations; rule sets are compiled once for each text of settings. */
export interface SituationMaker {
  /** Begins a moment: what is asked of the disk until the next one is asked once. */
  begin(): void
  /** Throws CLI_LINE_INVALID and PERMISSION_RULE_INVALID. */
  make(request: SituationRequest): Promise<Situation>
}

/** The part of Claude Code's `permissions` that decides, and ours. */
interface Permissions {
  allow: string[]
  ask: string[]
  deny: string[]
  rules: string[]
  defaultMode?: string
  additionalDirectories: string[]
}

type Folders = Pick<
  ExplainOptions["facts"],
  "cwd" | "home" | "roots" | "namedRoots" | "stateFolders" | "configures" | "readRoots"
>

const MAX_RULE_SETS = 200

/** `env`: for the home and state folders of lines that name no home; `toolkit`: the folder of this package. */
export function createSituations({
  env,
  toolkit,
}: {
  env: Readonly<Record<string, string | undefined>>
  toolkit: string
}): SituationMaker {
  const sets = new Map<string, RuleSet>()
  let disk = createDiskLook()
  let places = new Map<string, Promise<Folders>>()
  const own = homeFolder(env) ?? "/nonexistent"
  return {
    begin() {
      disk = createDiskLook()
      places = new Map()
    },
    async make({ settings, mode, cwd, home, headless }) {
      const permissions = readPermissions(settings)
      const { additionalDirectories: more } = permissions
      const place = [cwd, home ?? "", ...more].join("\0")
      const scope = home === undefined ? { env, home: own } : { env: {}, home }
      if (!places.has(place)) {
        const further = more.filter(isText).map((path) => resolveWritten(path, cwd, scope.home))
        const found = findFolders({ cwd, disk, ...scope, further: further.map((path) => ({ path, isNamed: false })) })
        places.set(place, found)
      }
      const folders = await places.get(place)!
      const facts = { aborted: false, mode: modeFor(permissions, mode), canAsk: !headless, toolkit, ...folders }
      return { facts, disk, rules: rulesFor(permissions, folders, sets) }
    },
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string"
}

function rulesFor(permissions: Permissions, { cwd, home }: Folders, sets: Map<string, RuleSet>): RuleSet {
  const { allow, ask, deny, rules } = permissions
  const text = JSON.stringify([cwd, home, deny, ask, allow, rules])
  const known = sets.get(text)
  if (known) return known
  const list = (behavior: Behavior, texts: readonly string[]) =>
    texts.map((text): RuleSource => ({ text, behavior, scope: "project" }))
  const sources = [...list("deny", deny), ...list("ask", ask), ...list("allow", allow), ...rules.map(orderedRule)]
  const compiled = compileRules(sources, { cwd, home, follow: followNow })
  if (sets.size >= MAX_RULE_SETS) sets.delete(sets.keys().next().value!)
  sets.set(text, compiled)
  return compiled
}

function orderedRule(entry: string): RuleSource {
  const [, behavior, text] = /^(allow|ask|deny)\s+(\S.*)$/s.exec(String(entry)) ?? []
  if (text === undefined) {
    const mend = 'write "allow RULE", "ask RULE" or "deny RULE"'
    throw new SousError("CLI_LINE_INVALID", { problem: `"${entry}" of permissions.rules is no rule with a word`, mend })
  }
  return { text, behavior: behavior as Behavior, scope: "project", ordered: true }
}

/** The mode that a line names beats that of its settings, which cannot switch on what no project may. */
function modeFor({ defaultMode }: Permissions, mode: unknown): PermissionMode {
  const isPersonal = defaultMode === "auto" || defaultMode === "bypassPermissions"
  const name = mode ?? (isPersonal ? undefined : defaultMode) ?? "default"
  const found = MODE_NAMES.find((one) => one === name)
  if (found !== undefined) return modeOf(found)
  const mend = `choose one of ${MODE_NAMES.join(", ")}`
  throw new SousError("CLI_LINE_INVALID", { problem: `there is no mode "${String(name)}"`, mend })
}

const LISTS = ["allow", "ask", "deny", "rules", "additionalDirectories"] as const

/** Throws CLI_LINE_INVALID for what has another shape, and for a key that may be a misspelt guard. */
function readPermissions(settings: unknown): Permissions {
  const fields = readFields(readFields(settings, "settings")["permissions"], "settings.permissions")
  for (const key of Object.keys(fields)) {
    const near = LISTS.some((name) => name === key) ? undefined : nearestName(key, LISTS)
    if (near === undefined) continue
    throw new SousError("CLI_LINE_INVALID", {
      problem: `"settings.permissions.${key}" is unknown`,
      mend: `write "${near}"`,
    })
  }
  const list = (name: (typeof LISTS)[number]) => readList(fields[name], `settings.permissions.${name}`)
  const [allow, ask, deny, rules, additionalDirectories] = LISTS.map(list) as [
    string[],
    string[],
    string[],
    string[],
    string[],
  ]
  const { defaultMode } = fields
  return {
    allow,
    ask,
    deny,
    rules,
    additionalDirectories,
    ...(defaultMode === undefined ? {} : { defaultMode: String(defaultMode) }),
  }
}

/** The object's own fields; none for what is not there. Throws CLI_LINE_INVALID. */
export function readFields(value: unknown, name: string): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>
  throw new SousError("CLI_LINE_INVALID", { problem: `"${name}" is no object`, mend: `write an object in braces` })
}

function readList(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return []
  // What stands in a list and is no text is told of, or stops the start, where rules are compiled.
  if (Array.isArray(value)) return value
  throw new SousError("CLI_LINE_INVALID", {
    problem: `"${name}" is no list`,
    mend: `put the entries of "${name}" into [ ]`,
  })
}

/** Where a call stands: folders that the permission layer knows about, as real paths. */
export async function findFolders(options: {
  cwd: string
  home: string
  env: Readonly<Record<string, string | undefined>>
  /** Absolute: further folders to work in; `isNamed`: a start or managed settings named it. */
  further: readonly { path: string; isNamed: boolean }[]
  disk: Disk
}): Promise<Folders> {
  const { env, disk } = options
  const real = async (path: string) => (await resolvePath(path, "/", { disk }))?.real ?? path
  const [cwd, home] = [await real(resolve(options.cwd)), await real(options.home)]
  const [roots, namedRoots]: [string[], string[]] = [[cwd], []]
  for (const { path, isNamed } of options.further) {
    // As in a run, a folder that is not there is none to work in.
    const found = await disk.real(path)
    if (found === undefined) continue
    roots.push(found)
    if (isNamed) namedRoots.push(found)
  }
  const { managed, user, claude } = fixedFolders({ env, home: options.home })
  const own = [stateFolderFor(env, options.home), dataFolderFor(env, options.home), managed, claude.managed]
  const settings = [...(user ? [user] : []), ...(claude.user ? [join(claude.user, "settings.json")] : [])]
  const [stateFolders, configures] = [await Promise.all(own.map(real)), await Promise.all(settings.map(real))]
  return { cwd, home, roots, namedRoots, readRoots: [], stateFolders, configures }
}
