/**
 * `sous config`: the settings in force with where each comes from; `explain KEY`: all about one; `set` and its like hand on.
 *
 * Invariant: showing writes nothing, starts nothing, and shows nothing that is secret.
 */
import { realpath } from "node:fs/promises"
import { isSousError, nearestName, SousError } from "../error.ts"
import { loadModule } from "../recipe/load.ts"
import { projectOf } from "../run-grant.ts"
import { startMode } from "../run-mode.ts"
import { loadGrants } from "../session/grants.ts"
import { stateFolderFor } from "../session/store.ts"
import { type ExplainOptions, explainAll, explainSetting } from "../settings/explain.ts"
import type { ExplainedSetting } from "../settings/explained.ts"
import { settingsOfFlags } from "../settings/flag.ts"
import { unknownName } from "../settings/key-path.ts"
import { type LoadedSettings, loadSettings } from "../settings/load.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import { maskSettings } from "./config-mask.ts"
import { describeSettings, tableOf } from "./config-text.ts"
import type { Host } from "./host.ts"

const WORDS = ["show", "explain", "set", "unset", "add", "remove"]

/** Returns 0. Throws CLI_ARGUMENT_…, SETTINGS_… errors, and those of what it hands on to. */
export async function config(line: CommandLine, host: Host): Promise<number> {
  const [word = "show", key, surplus] = line.args
  if (["set", "unset", "add", "remove"].includes(word)) {
    return await (await import("./config-set.ts")).setConfig(line, host)
  }
  if (word !== "show" && word !== "explain") throw unknownWord(word)
  const extra = word === "show" ? key : surplus
  if (extra !== undefined) {
    const mend = word === "show" ? `write "sous config explain ${extra}"` : "name one key"
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: extra, mend })
  }
  if (word === "explain" && key === undefined) {
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "key", example: "sous config explain permissions.allow" })
  }
  if (line.values.scope !== undefined) {
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: "--scope", mend: "leave it out: all scopes are shown" })
  }
  const loaded = await load(line, host)
  await show(line, host, await explainHere(loaded, host, key))
  return 0
}

/** What `--json` prints, as one line. */
export interface ConfigAnswer {
  /** All keys that say anything, in the order of the schema; or those that were asked for. */
  settings: readonly ExplainedSetting[]
  /** The files that were read. */
  files: LoadedSettings["files"]
  trust: LoadedSettings["trust"]["state"]
  /** One sentence each. */
  warnings: readonly string[]
  notes: readonly string[]
}

/** Explains one key, or all of them, for this place. Throws SETTINGS_NAME_UNKNOWN. */
export async function explainHere(
  loaded: LoadedSettings,
  host: Pick<Host, "env" | "cwd">,
  key?: string,
): Promise<ConfigAnswer> {
  const { options, warnings } = await surroundings(loaded, host)
  const settings = key === undefined ? explainAll(loaded, options) : explainSetting(loaded, key, options)
  if (key !== undefined && settings.length === 0) throw unknownName(key)
  const { files, trust, notes } = loaded
  return {
    settings: maskSettings(settings, loaded, host.env),
    files,
    trust: trust.state,
    warnings: [...loaded.warnings, ...warnings],
    notes,
  }
}

function unknownWord(word: string): SousError {
  const near = nearestName(word, WORDS)
  const mend = near ? `write "sous config ${near}"` : `write "sous config explain ${word}"`
  return new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend })
}

async function load({ values }: CommandLine, host: Host): Promise<LoadedSettings> {
  const { settings, trust } = values
  const [cwd, home] = [await host.cwd(), homeFolder(host.env)]
  const code = (file: string) => loadModule(file, host.loadOptions())
  return await loadSettings({ cwd, home, env: host.env, flags: settingsOfFlags(values), settings, trust, load: code })
}

/** What a start would add to the settings: what was granted here, and the mode that it would be in. */
async function surroundings(
  loaded: LoadedSettings,
  host: Pick<Host, "env" | "cwd">,
): Promise<{ options: ExplainOptions; warnings: string[] }> {
  const home = homeFolder(host.env)
  const project = projectOf(await realpath(await host.cwd()), home)
  const { rules, fault } = await loadGrants(stateFolderFor(host.env, home), project)
  const grants = loaded.settings.permissions.managedRulesOnly ? [] : rules
  const warnings = fault ? [`${fault.message}; ${fault.mend}`] : []
  return { options: { grants, mode: modeAtStart(loaded) }, warnings }
}

function modeAtStart({ settings }: LoadedSettings): ExplainOptions["mode"] {
  const value = settings.permissions.defaultMode
  try {
    const { mode, warnings } = startMode(settings, undefined)
    return mode === value ? undefined : { value: mode, note: warnings.join("; ") }
  } catch (error) {
    if (!isSousError(error)) throw error
    return { value, note: error.message }
  }
}

async function show({ args, values }: CommandLine, host: Host, answer: ConfigAnswer): Promise<void> {
  if (values.json) return await host.pour(`${JSON.stringify(answer)}\n`)
  const { settings, warnings, notes } = answer
  const place = { cwd: await realpath(await host.cwd()), home: homeFolder(host.env) }
  const text = args[0] === "explain" ? describeSettings(settings, place) : tableOf(settings, place)
  await host.pour(host.escape(text))
  for (const warning of warnings) host.tell(`! ${warning}`)
  for (const note of notes) host.tell(`  ${note}`)
}
