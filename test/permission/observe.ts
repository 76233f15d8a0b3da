/**
 * One observed case → what this project decides about each of its calls.
 */
import { fitInput } from "../../core/cli/explain-input.ts"
import { createDiskLook, followNow } from "../../core/permission/disk.ts"
import { createCall, createForeignCall, type ExplainOptions, explain } from "../../core/permission/explain.ts"
import { compileRules } from "../../core/permission/rule.ts"
import { splitRules } from "../../core/settings/flag.ts"
import { mergeSettings, type SettingsScope, type SettingsSource } from "../../core/settings/merge.ts"
import { MODE_NAMES, type Settings } from "../../core/settings/schema.ts"
import { needsTrust, withoutTrust } from "../../core/settings/trust.ts"
import { type createPlaces, type Place, type PlaceContent, shippedTools } from "./place.ts"

/** A call: tool, input, and what was seen of it; null where the tool itself gave the answer. */
export type ObservedCall = [tool: string, input: Record<string, unknown>, theirs: "allow" | "ask" | "deny" | null]

export interface ObservedCase {
  id: string
  /** Settings files; text is one that is no plain JSON. */
  scopes?: Partial<Record<SettingsScope, { permissions?: Record<string, unknown> } | string>>
  flags?: string[]
  trusted?: false
  cwd?: string
  place?: PlaceContent
  calls: ObservedCall[]
}

/** What was decided about one call; `error`: the rules stop the start, or the input does not fit the tool. */
export interface Ours {
  behavior: "allow" | "ask" | "deny" | "error"
  source: string
  reason: string
}

/** Decides about the calls of a case in a place of its own. */
export async function observe(row: ObservedCase, places: ReturnType<typeof createPlaces>): Promise<Ours[]> {
  const place = places.make(row.place)
  const { scopes = {}, flags = [], calls, cwd = place.cwd } = place.fill(row)
  try {
    const settings = mergeSettings(sourcesOf({ scopes, flags }, { ...place, trusted: row.trusted !== false }))
    const { rules: sources, defaultMode: mode, additionalDirectories } = settings.permissions
    const rules = compileRules(sources, { cwd: place.cwd, home: place.home, follow: followNow })
    const roots = [cwd, ...additionalDirectories.map(({ value }) => value)]
    const named = { aborted: false, mode, cwd, home: place.home, roots, readRoots: [], canAsk: true }
    const options = { rules, facts: named, disk: createDiskLook() }
    return await Promise.all(calls.map(async (call) => await decideCall(call, options)))
  } catch (error) {
    return calls.map(() => fault(error))
  }
}

async function decideCall([name, input, theirs]: ObservedCall, options: ExplainOptions): Promise<Ours> {
  if (theirs === null) return fault(new Error("It is not compared"))
  const tool = shippedTools.get(name)
  const { cwd } = options.facts
  try {
    const call = tool ? await createCall(tool, await fitInput(tool, input), cwd) : createForeignCall(name, input)
    const { behavior, source, reason } = await explain(call, options)
    return { behavior, source, reason }
  } catch (error) {
    return fault(error)
  }
}

function fault(error: unknown): Ours {
  return { behavior: "error", source: "rules", reason: (error as Error).message }
}

function sourcesOf(
  { scopes, flags }: Required<Pick<ObservedCase, "scopes" | "flags">>,
  { cwd, home, rig, trusted }: Place & { trusted: boolean },
): SettingsSource[] {
  const sources = Object.entries(scopes).flatMap(([name, given]): SettingsSource[] => {
    const scope = name as SettingsScope
    if (typeof given === "string") return []
    const folder = scope === "user" ? `${home}/.claude` : scope === "cli" ? rig : `${cwd}/.claude`
    const values = permissionsOf(given.permissions ?? {}, scope)
    const kept = trusted || !needsTrust(scope) ? values : withoutTrust(values).values
    return [{ scope, base: cwd, file: `${folder}/settings.json`, values: kept }]
  })
  return [...sources, { scope: "cli", base: cwd, values: settingsOfFlags(flags) }]
}

/** The keys that both have; files cannot switch on what only a person may. */
function permissionsOf(given: Record<string, unknown>, scope: SettingsScope): Settings {
  const { allow, ask, deny, additionalDirectories, defaultMode } = given
  const isPersonal = defaultMode === "auto" || defaultMode === "bypassPermissions"
  const isNone = defaultMode === undefined || (isPersonal && scope !== "cli")
  const mode = isNone ? undefined : MODE_NAMES.find((one) => one === defaultMode)
  if (mode === undefined && !isNone) throw new Error(`There is no mode "${String(defaultMode)}"`)
  const permissions = { allow, ask, deny, additionalDirectories, defaultMode: mode }
  return { permissions: JSON.parse(JSON.stringify(permissions)) as NonNullable<Settings["permissions"]> }
}

function settingsOfFlags(flags: readonly string[]): Settings {
  const after = (name: string) => flags.flatMap((flag, i) => (flag === name ? [flags[i + 1]!] : []))
  const listed = (name: string) => {
    const start = flags.indexOf(name)
    const end = flags.findIndex((flag, i) => i > start && flag.startsWith("--"))
    return start < 0 ? [] : flags.slice(start + 1, end < 0 ? undefined : end).flatMap(splitRules)
  }
  const [defaultMode] = after("--permission-mode")
  return permissionsOf(
    {
      allow: listed("--allowedTools"),
      deny: listed("--disallowedTools"),
      additionalDirectories: after("--add-dir"),
      defaultMode,
    },
    "cli",
  )
}
