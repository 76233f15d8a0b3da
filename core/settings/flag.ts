/**
 * The flags of whatever runs an agent, as a table; and what was given of them → settings of the CLI scope, grants, params.
 *
 * Invariant: a value that does not fit its flag is refused with what would; no flag is known here that does nothing.
 */
import { isSousError, SousError, suggest } from "../error.ts"
import type { FlagGrants } from "../permission/flag.ts"
import type { Budget } from "../step.ts"
import type { Effort, PermissionMode } from "../tool.ts"
import { EFFORTS } from "../tool.ts"
import { SESSION_FLAGS, type SessionFlagValues } from "./flag-session.ts"
import { given } from "./given.ts"
import type { EffectiveSettings } from "./merge.ts"
import { MODE_NAMES, type Settings } from "./schema.ts"
import { resolveWritten } from "./scopes.ts"

/** Everything of a kind, or what is named. */
export type Grant = true | string[]

/** What was given on the command line, by the flags' camelCase names. */
export interface FlagValues extends SessionFlagValues {
  model?: string
  effort?: Effort
  mode?: PermissionMode | "manual"
  maxTurns?: number
  budget?: Budget
  allowRead?: Grant
  allowWrite?: Grant
  allowRun?: Grant
  allowNet?: Grant
  allowEnv?: Grant
  denyRead?: Grant
  denyWrite?: Grant
  denyRun?: Grant
  denyNet?: Grant
  denyEnv?: Grant
  allowAll?: boolean
  allowedTools?: string[]
  disallowedTools?: string[]
  dangerouslySkipPermissions?: boolean
  tools?: string[]
  settings?: string[]
  addDir?: string[]
  plugin?: string[]
  system?: string
  appendSystemPrompt?: string
  outputSchema?: string
  record?: string
  replay?: string
  trust?: boolean
  strict?: boolean
  grant?: boolean
  param?: string[]
  params?: string
  print?: boolean
  json?: boolean
  quiet?: boolean
  verbose?: boolean
}

/** One flag, in the notation of the command-line library; `for` narrows it to a command. */
export interface Flag {
  /** Heading in the help. */
  group: string
  notation: string
  sentence: string
  for?: "run" | "prompt"
  /** Text to value; `before` is what earlier uses of the flag gave. Throws CLI_VALUE_INVALID. */
  parse?: (text: string, before: unknown) => unknown
}

/** Stands for "all of them" where a flag such as `--allow-read` is given without a list. */
export const WITHOUT_LIST = "*"

/** Flags whose list is optional and only ever follows an equals sign. */
export const LIST_FLAGS = ["read", "write", "run", "net", "env"].flatMap((kind) => [
  `--allow-${kind}`,
  `--deny-${kind}`,
])

const LISTED = {
  read: "paths that may be read",
  write: "paths that may be written",
  run: "programs that may run",
  net: "hosts that may be reached",
  env: "environment variables that tools may see",
} as const

/** The flags, in the order of the help. */
export const FLAGS: readonly Flag[] = [
  ...group("Input and output", [
    { notation: "-p, --print", sentence: "print the answer and nothing else on stdout", for: "prompt" },
    { notation: "--param <name=value>", sentence: "a parameter of the recipe; repeatable", for: "run", parse: addText },
    { notation: "--params <file>", sentence: "parameters from a JSON or YAML file", for: "run" },
    { notation: "--system <text>", sentence: "replaces the system prompt", for: "prompt" },
    { notation: "--append-system-prompt <text>", sentence: "is added to the system prompt", for: "prompt" },
    { notation: "--output-schema <file|json>", sentence: "JSON Schema of the answer", for: "prompt" },
    { notation: "--json", sentence: "one event a line on stdout" },
    { notation: "-q, --quiet", sentence: "only warnings and failures on stderr" },
    { notation: "--verbose", sentence: "everything on stderr" },
  ]),
  ...group("Sessions", SESSION_FLAGS),
  ...group("Model and limits", [
    { notation: "--model <id>", sentence: "an id, script:FILE, cassette:FILE" },
    { notation: "--effort <effort>", sentence: EFFORTS.join(", "), parse: (text) => oneOf("--effort", text, EFFORTS) },
    { notation: "--max-turns <n>", sentence: "turns that one agent may take", parse: parseTurns },
    { notation: "--budget <limits>", sentence: "USD, or usd=1,tokens=200000,turns=40,minutes=10", parse: parseBudget },
    { notation: "--record <file>", sentence: "record the model's traffic as a cassette" },
    { notation: "--replay <file>", sentence: "answer from a cassette instead of a model" },
  ]),
  ...group("Permissions", [
    ...grantFlags("allow"),
    ...grantFlags("deny"),
    { notation: "-A, --allow-all", sentence: "allow all that no deny or ask rule stops" },
    { notation: "--allowed-tools <rules>", sentence: 'rules to allow: "Read,Bash(git log *)"', parse: addRules },
    { notation: "--disallowed-tools <rules>", sentence: "rules to deny", parse: addRules },
    { notation: "--tools <names>", sentence: 'the only tools there are; "" for none', for: "prompt", parse: addRules },
    { notation: "--mode <mode>", sentence: MODE_NAMES.join(", "), parse: (text) => oneOf("--mode", text, MODE_NAMES) },
    { notation: "--dangerously-skip-permissions", sentence: "the mode bypassPermissions" },
    { notation: "--grant", sentence: "grant what the recipe asks for in its permissions", for: "run" },
    { notation: "--add-dir <folder>", sentence: "a further folder to work in; repeatable", parse: addText },
  ]),
  ...group("Settings", [
    { notation: "--settings <file|json>", sentence: "settings for this start; repeatable", parse: addText },
    { notation: "--plugin <file>", sentence: "a plugin for this start; repeatable", parse: addText },
    { notation: "--trust", sentence: "trust this project for this start" },
    { notation: "--strict", sentence: "a plugin that does not load stops the start (default when CI is set)" },
  ]),
]

/** What the flags set, as settings of the CLI scope. */
export function settingsOfFlags(values: FlagValues): Settings {
  const model = values.replay === undefined ? values.model : `cassette:${values.replay}`
  const defaultMode = values.dangerouslySkipPermissions ? "bypassPermissions" : values.mode
  return given({
    model,
    effort: values.effort,
    maxTurns: values.maxTurns,
    budget: values.budget,
    plugins: values.plugin?.map((plugin) => (/^(?:[~./]|sous\/)/.test(plugin) ? plugin : `./${plugin}`)),
    permissions: given({
      allow: values.allowedTools,
      deny: values.disallowedTools,
      defaultMode,
      additionalDirectories: values.addDir,
    }),
  })
}

/**
 * What the flags say about a run. A model or a budget that a flag or the organisation set is in it, so that it beats the
 * recipe's; what weaker scopes set is not.
 */
export function optionsOfFlags(
  values: FlagValues,
  settings: EffectiveSettings,
  from: { cwd: string; home?: string | undefined },
): { flags: FlagGrants; budget: Budget; model?: string; record?: string; standIn?: string } {
  const isStrong = (key: string) => ["managed", "cli"].includes(settings.origins.get(key)?.scope ?? "")
  const budget = Object.entries(settings.budget).filter(([name]) => isStrong(`budget.${name}`))
  const record = values.record === undefined ? undefined : resolveWritten(values.record, from.cwd, from.home)
  return {
    flags: grantsOfFlags(values, from),
    budget: Object.fromEntries(budget),
    ...given({ model: isStrong("model") ? settings.model : undefined, record }),
    // A replay never reaches the network, whatever model a step names.
    ...(values.replay === undefined || settings.model === undefined ? {} : { standIn: settings.model }),
  }
}

/** What `--allow-…`, `--deny-…` and `-A` grant and refuse; paths become absolute. */
export function grantsOfFlags(values: FlagValues, from: { cwd: string; home?: string | undefined }): FlagGrants {
  const paths = (grant: Grant | undefined) =>
    Array.isArray(grant) ? grant.map((path) => resolveWritten(path, from.cwd, from.home)) : grant
  const { allowRun, allowNet, allowEnv, allowAll, denyRun, denyNet, denyEnv } = values
  const [allowRead, allowWrite] = [paths(values.allowRead), paths(values.allowWrite)]
  const [denyRead, denyWrite] = [paths(values.denyRead), paths(values.denyWrite)]
  return {
    allow: given({ read: allowRead, write: allowWrite, run: allowRun, net: allowNet, env: allowEnv, all: allowAll }),
    deny: given({ read: denyRead, write: denyWrite, run: denyRun, net: denyNet, env: denyEnv }),
  }
}

/** The object that a flag names: JSON itself, or a JSON or YAML file. Throws CLI_VALUE_INVALID. */
export async function readObject(
  flag: string,
  value: string,
  from: { cwd: string; home?: string | undefined },
): Promise<Record<string, unknown>> {
  const { parseDocument } = await import("./document.ts")
  const { readNamedText } = await import("./text-file.ts")
  const inline = value.trimStart().startsWith("{")
  const file = resolveWritten(value, from.cwd, from.home)
  try {
    const document = inline ? await parseDocument(flag, value) : await parseDocument(file, await readNamedText(file))
    if (typeof document.value === "object" && document.value !== null && !Array.isArray(document.value)) {
      return document.value as Record<string, unknown>
    }
  } catch (error) {
    const reason = isSousError(error)
      ? error.message
      : ((error as NodeJS.ErrnoException).code ?? (error as Error).message)
    return refuse(flag, value, "JSON, or a file that holds an object", reason)
  }
  return refuse(flag, value, "an object")
}

/** Cuts `"Read,Bash(git log *) Edit"` at commas and spaces that stand outside of parentheses. */
export function splitRules(text: string): string[] {
  const rules: string[] = []
  let depth = 0
  let rule = ""
  for (const character of text) {
    if (character === "(") depth++
    if (character === ")") depth--
    if (depth === 0 && /[\s,]/.test(character)) {
      if (rule !== "") rules.push(rule)
      rule = ""
    } else rule += character
  }
  return rule === "" ? rules : [...rules, rule]
}

/** `1.5` is US dollars; else `usd=1,tokens=200000,turns=40,minutes=10` in any order. */
export function parseBudget(text: string): Budget {
  if (!text.includes("=")) return { usd: positive("--budget", text) }
  const budget: Budget = {}
  for (const part of text.split(",")) {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim())
    const kind = oneOf("--budget", name, ["usd", "tokens", "turns", "minutes"] as const)
    budget[kind] = positive("--budget", value, kind === "tokens" || kind === "turns" ? Number.isInteger : undefined)
  }
  return budget
}

function group(name: string, flags: Omit<Flag, "group">[]): Flag[] {
  return flags.map((flag) => ({ group: name, ...flag }))
}

function grantFlags(behavior: "allow" | "deny"): Omit<Flag, "group">[] {
  return Object.entries(LISTED).map(([kind, what]) => {
    const flag = `--${behavior}-${kind}`
    const sentence = behavior === "allow" ? `${what}; without a list: all` : what.replace("may", "may not")
    return {
      notation: `${flag} [list]`,
      sentence,
      parse: (text, before) => addGrant(flag, text, before as Grant | undefined),
    }
  })
}

function addGrant(flag: string, text: string, before: Grant | undefined): Grant {
  if (text === WITHOUT_LIST || before === true) return true
  const entries = text.split(",").map((entry) => entry.trim())
  if (entries.includes("")) refuse(flag, text, `entries with commas between them, such as ${flag}=a,b`)
  return [...(before ?? []), ...entries]
}

function addRules(text: string, before: unknown): string[] {
  return [...((before as string[] | undefined) ?? []), ...splitRules(text)]
}

function addText(text: string, before: unknown): string[] {
  return [...((before as string[] | undefined) ?? []), text]
}

function parseTurns(text: string): number {
  return positive("--max-turns", text, Number.isInteger)
}

function oneOf<const T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((name) => name === text)
  return found ?? refuse(flag, text, `one of ${known.join(", ")}`, suggest(text, known))
}

function positive(flag: string, text: string, fits: (value: number) => boolean = Number.isFinite): number {
  const value = text.trim() === "" ? Number.NaN : Number(text)
  return value > 0 && fits(value)
    ? value
    : refuse(flag, text, fits === Number.isFinite ? "a number above 0" : "a whole number above 0")
}

function refuse(flag: string, value: string, wanted: string, mend?: string): never {
  throw new SousError("CLI_VALUE_INVALID", { flag, value, wanted, ...(mend === undefined ? {} : { mend }) })
}
