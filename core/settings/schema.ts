/**
 * The one description of the settings: each key with its type, a sentence, a merge rule and a trust mark.
 *
 * Invariant: a key without a mark does not land (a test walks them all); settings.schema.json is generated from here.
 */
import { z } from "zod"
import { EFFORTS, type PermissionMode } from "../tool.ts"

/** How values of several scopes become one: the strongest scope's, all of them, or the strictest. */
export type MergeRule = "replace" | "union" | "tighten"

/** What a key can do in the hands of somebody whom nobody trusts yet: only restrict, nothing at all, or give more. */
export type TrustMark = "tightens" | "harmless" | "widens"

/** What the schema says about a key beside its type. */
export interface KeyMark {
  merge: MergeRule
  /** A function when entries of one list differ. */
  trust: TrustMark | ((entry: unknown) => TrustMark)
  /** The value when no scope sets the key. */
  default?: unknown
  /** Only the organisation's settings can set it; in any other file it says nothing. */
  managedOnly?: true
}

/** The marks, by schema. */
export const KEY_MARKS = z.registry<KeyMark>()

/** Every permission mode, and `manual`, the other name of `default`. */
export const MODE_NAMES = [
  "default",
  "manual",
  "acceptEdits",
  "plan",
  "auto",
  "dontAsk",
  "bypassPermissions",
] as const satisfies readonly (PermissionMode | "manual")[]

const ruleList = z.array(z.string().min(1))
const usdPerMillion = z.number().nonnegative()

const permissions = z.strictObject({
  allow: key(ruleList, 'Calls that run without a question: permission rules such as "Bash(npm test)".', {
    merge: "union",
    trust: "widens",
  }),
  ask: key(ruleList, "Calls that always need an answer, whatever allows them.", { merge: "union", trust: "tightens" }),
  deny: key(ruleList, "Calls that are refused; no rule of any scope lifts this.", {
    merge: "union",
    trust: "tightens",
  }),
  rules: key(
    z.array(z.string().regex(/^(allow|ask|deny)\s+\S/, 'expected "allow RULE", "ask RULE" or "deny RULE"')),
    'An ordered list in which the first match decides: "deny Bash(rm *)", "allow Bash(*)".',
    { merge: "union", trust: (entry) => (String(entry).startsWith("allow") ? "widens" : "tightens") },
  ),
  defaultMode: key(z.enum(MODE_NAMES), "The permission mode that a run starts in.", {
    merge: "replace",
    trust: "widens",
    default: "default",
  }),
  autoModel: key(
    z.string().min(1),
    "A small model that judges calls in mode auto; left out: a fixed list of risky shapes does.",
    { merge: "replace", trust: "widens" },
  ),
  additionalDirectories: key(
    z.array(z.string().min(1)),
    "Folders that belong to the work beside the current one; relative to the project, or starting with ~/.",
    { merge: "union", trust: "widens" },
  ),
  disableBypassPermissionsMode: key(z.literal("disable"), "Nobody can start in the mode bypassPermissions.", {
    merge: "tighten",
    trust: "tightens",
  }),
  disableAutoMode: key(z.literal("disable"), "Nobody can start in the mode auto.", {
    merge: "tighten",
    trust: "tightens",
  }),
  denialLimit: key(z.int().positive(), "Denials in a row after which a run with nobody to ask stops.", {
    merge: "tighten",
    trust: "tightens",
    default: 10,
  }),
})

const budget = z.strictObject({
  usd: key(z.number().positive(), "US dollars that a run may cost.", { merge: "replace", trust: "widens" }),
  tokens: key(z.int().positive(), "Tokens, input and output together, that a run may use.", {
    merge: "replace",
    trust: "widens",
  }),
  turns: key(z.int().positive(), "Turns that all agents of a run may take together.", {
    merge: "replace",
    trust: "widens",
  }),
  minutes: key(z.number().positive(), "Minutes that a run may take.", { merge: "replace", trust: "widens" }),
})

const compact = z.strictObject({
  auto: key(z.boolean(), "Conversations are compacted before they fill the model's window.", {
    merge: "replace",
    trust: "widens",
    default: true,
  }),
  strategy: key(z.string().min(1), "The compaction strategy to try first.", { merge: "replace", trust: "widens" }),
  threshold: key(
    z.number().min(0.1).max(1),
    "The share of the window at which a conversation is compacted; left out: what leaves room for an answer.",
    { merge: "replace", trust: "widens" },
  ),
  keep: key(z.int().positive(), "Tokens at the end of a conversation that stay as they are.", {
    merge: "replace",
    trust: "widens",
  }),
})

const memory = z.strictObject({
  files: key(z.boolean(), "CLAUDE.md, AGENTS.md and their like are read when a conversation starts.", {
    merge: "replace",
    trust: "widens",
    default: true,
  }),
  auto: key(z.boolean(), "Agents keep notes of their own for later conversations in a project.", {
    merge: "replace",
    trust: "widens",
    default: true,
  }),
  exclude: key(z.array(z.string().min(1)), "Globs of memory files that are not read; not for the organisation's.", {
    merge: "union",
    trust: "widens",
  }),
})

const cleanup = z.strictObject({
  days: key(z.int().positive(), "Days after which conversations that nobody went on with are deleted.", {
    merge: "replace",
    trust: "widens",
    default: 30,
  }),
})

const compat = z.strictObject({
  claude: key(z.boolean(), "Settings in .claude folders, and those of the organisation beside them, are read.", {
    merge: "replace",
    trust: "widens",
    default: true,
  }),
})

const pluginOptions = z.strictObject({
  plugin: z.string().min(1).describe("What to load: as an entry that is a string alone."),
  isolation: z
    .enum(["process", "none"])
    .optional()
    .describe("process: it runs in a process of its own, with its declared capabilities and no more."),
  required: z.boolean().optional().describe("Nothing starts without it."),
  collision: z
    .enum(["error", "prefix"])
    .optional()
    .describe("What becomes of a tool whose name is taken: an error, or it is called plugin__Tool."),
})

/** Names of packs are those of npm. Source: https://docs.npmjs.com/cli/configuring-npm/package-json#name */
const packName = z
  .string()
  .regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, "expected the name of a pack")

/** The settings of one file. */
export const settingsSchema = z.strictObject({
  $schema: key(z.string(), "Where editors find the schema of this file.", { merge: "replace", trust: "harmless" }),
  model: key(
    z.string().min(1),
    "The model to use: an id or alias of the Anthropic API, script:FILE, cassette:FILE, or what a plugin provides.",
    { merge: "replace", trust: "widens" },
  ),
  fallbackModel: key(z.string().min(1), "The model that takes over when the first one refuses.", {
    merge: "replace",
    trust: "widens",
  }),
  effort: key(z.enum(EFFORTS), "How much thought the model gives an answer.", { merge: "replace", trust: "widens" }),
  maxTurns: key(z.int().positive(), "Turns that one agent may take.", { merge: "replace", trust: "widens" }),
  permissions: permissions.describe("What agents may do.").optional(),
  env: key(
    z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable"), z.string()),
    "Environment variables for models, tools and hooks.",
    { merge: "union", trust: "widens" },
  ),
  plugins: key(
    z.array(z.union([z.string().min(1), pluginOptions])),
    "Plugins to load: names of installed packages, and paths that start with ./, / or ~/ (relative to the project).",
    { merge: "union", trust: "widens" },
  ),
  packs: key(
    z.record(packName, z.string().min(1)),
    'Packs by name, each with its source: "npm:name@range", "github:owner/repo#ref", "git+https://…", "./folder", "./file.tgz".',
    { merge: "union", trust: "widens" },
  ),
  compact: compact.describe("How conversations are kept within the model's window.").optional(),
  memory: memory.describe("Files and notes that conversations start with.").optional(),
  cleanup: cleanup.describe("When old conversations are deleted.").optional(),
  compat: compat.describe("What is read of other tools' files.").optional(),
  pluginSettings: key(
    z.record(z.string(), z.record(z.string(), z.unknown())),
    "Settings of single plugins, by the plugin's name.",
    { merge: "union", trust: "widens" },
  ),
  hooks: key(
    z.record(z.string(), z.unknown()),
    "Hooks by event: flat entries with a matcher and a command, or nested ones with a matcher and hooks.",
    { merge: "union", trust: "widens" },
  ),
  disableAllHooks: key(
    z.boolean(),
    "Configured hooks do not run; those of the managed settings stop only when these say so.",
    { merge: "replace", trust: "widens", default: false },
  ),
  allowManagedPermissionRulesOnly: key(
    z.boolean(),
    "Only permission rules of the managed settings count, beside deny and ask rules; only these can set it.",
    { merge: "replace", trust: "widens", default: false, managedOnly: true },
  ),
  allowManagedHooksOnly: key(z.boolean(), "Only hooks of the managed settings run; only these can set it.", {
    merge: "replace",
    trust: "widens",
    default: false,
    managedOnly: true,
  }),
  allowedHttpHookUrls: key(
    z.array(z.string().min(1)),
    'Addresses that HTTP hooks may reach, such as "https://hooks.example.com/*"; left out: all.',
    { merge: "union", trust: "widens" },
  ),
  httpHookAllowedEnvVars: key(
    z.array(z.string().min(1)),
    "Environment variables that headers of HTTP hooks may use, of those that a hook names; left out: all that it names.",
    { merge: "union", trust: "widens" },
  ),
  budget: budget.describe("What a run may use.").optional(),
  prices: key(
    z.record(
      z.string(),
      z.strictObject({
        input: usdPerMillion,
        output: usdPerMillion,
        cacheRead: usdPerMillion,
        cacheWrite: usdPerMillion,
      }),
    ),
    "Prices by model id, in US dollars per million tokens; they beat the built-in table.",
    { merge: "union", trust: "widens" },
  ),
})

/** What one settings file, or the author of a program that embeds the toolkit, may set. */
export type Settings = z.input<typeof settingsSchema>

/** One key of the settings, with all that the schema says about it. */
export interface SettingsKey {
  /** Dotted: `permissions.allow`. */
  path: string
  sentence: string
  schema: z.ZodType
  mark: KeyMark | undefined
}

/** Every key that can be set, `permissions.allow` and its like one by one, in the order of the schema. */
export function settingsKeys(): readonly SettingsKey[] {
  known ??= keysOf(settingsSchema)
  return known
}

let known: readonly SettingsKey[] | undefined

function keysOf(schema: z.ZodObject, prefix = ""): SettingsKey[] {
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const inner = unwrap(field as z.ZodType)
    const mark = KEY_MARKS.get(inner)
    if (!mark && inner instanceof z.ZodObject) return keysOf(inner, `${prefix}${name}.`)
    return [{ path: prefix + name, sentence: inner.description ?? "", schema: inner, mark }]
  })
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
}

function key<S extends z.ZodType>(schema: S, sentence: string, mark: KeyMark): z.ZodOptional<S> {
  const meta = mark.default === undefined ? { description: sentence } : { description: sentence, default: mark.default }
  const described = schema.meta(meta) as S
  KEY_MARKS.add(described, mark)
  return described.optional()
}
