/**
 * What a host and an isolated plugin say to each other, as types; what the plugin says also as schemas.
 *
 * Invariant: what comes from the plugin is used only in the form that a schema here gave it.
 */
import { z } from "zod"
import { HOOKS, type HookEvent } from "../hook.ts"
import type { AgentDefinition, AgentIdentity } from "../tool.ts"
import { EFFORTS } from "../tool.ts"

/** What the host wants; each ask has a number, and gets one answer or one fault with it. */
export type Ask =
  /** The first one, and once. `net`: the plugin may use the network. Answered with `Described`. */
  | { type: "load"; file: string; modules: Readonly<Record<string, string>>; net: boolean }
  /** `settings`: the plugin's section, unchecked. Answered with the `Parts` that its setup adds. */
  | { type: "setup"; settings: unknown; cwd: string }
  /** Answered with `CallFacts`. */
  | { type: "facts"; tool: string; input: unknown; cwd: string }
  /** Answered with a `ToolOutput`. */
  | { type: "call"; tool: string; input: unknown; context: CallContext }
  /** `hook`: its index among all hooks of the plugin. Answered with a `HookAnswer`, or nothing. */
  | { type: "hook"; hook: number; payload: unknown }
  /** What a tool deferred to the end of the run. */
  | { type: "cleanup"; cleanup: number }
  | { type: "dispose" }

/** What of a tool's context can be sent. */
export interface CallContext {
  toolUseId: string
  caller: "model" | "recipe"
  cwd: string
  roots: readonly string[]
  judged: readonly (readonly [string, { lexical: string; real: string }])[]
  env: Readonly<Record<string, string>>
  agent: AgentIdentity
  sessionId: string
  runFolder: string
  agents: readonly AgentDefinition[]
  /** Rules on web addresses can be asked about. */
  hasWeb: boolean
}

/** Everything that the host sends, on the plugin's stdin. */
export type HostMessage = ({ id: number } & Ask) | { type: "abort"; id: number }

const id = z.int().nonnegative()
const sentence = z.string().max(20_000)
const path = z.string().min(1).max(4096)

/** What the plugin sends on descriptor 3. `id` is that of an ask which is still open. */
export const childMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("answer"), id, value: z.unknown().optional() }),
  z.strictObject({
    type: z.literal("fault"),
    id,
    /** `refusal`: what the model did wrong, in words for it. */
    kind: z.enum(["refusal", "error"]),
    message: sentence,
    code: z.string().max(100).optional(),
    details: z.record(z.string(), z.union([sentence, z.number(), z.array(sentence).max(100)])).optional(),
  }),
  z.strictObject({ type: z.literal("progress"), id, text: z.string() }),
  z.strictObject({ type: z.literal("cwd"), id, path }),
  z.strictObject({ type: z.literal("defer"), id, cleanup: z.int().nonnegative() }),
])
export type ChildMessage = z.output<typeof childMessage>

/** What a tool asks while it stands still, on descriptor 4; answered with `{ answer: boolean }`. */
export const sideQuestion = z.strictObject({
  id,
  about: z.enum(["mayRead", "namesHost", "guardsUrl"]),
  value: z.string().max(100_000),
})
export type SideQuestion = z.output<typeof sideQuestion>

const names = z.array(z.string().max(1000)).max(1000)
const rules = z.array(z.string().min(1).max(4096)).max(1000).optional()
const title = z.string().max(1000)

const describedTool = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/),
  description: sentence,
  input: z.record(z.string(), z.unknown()),
  ruleName: title.optional(),
  role: z.enum(["shell", "write", "exitPlan", "memory"]).optional(),
  readOnly: z.boolean().optional(),
  concurrencySafe: z.boolean().optional(),
  /** It says of each call anew what it touches, or whether it only reads. */
  asks: z.boolean(),
  skipsDenied: z.literal(true).optional(),
  maxResultChars: z.int().positive().max(1_000_000).optional(),
  sideEffects: z.literal("external").optional(),
})
export type DescribedTool = z.output<typeof describedTool>

const describedHook = z.strictObject({
  event: z.enum(Object.keys(HOOKS) as [HookEvent, ...HookEvent[]]),
  matcher: z.string().max(300).optional(),
  description: title.optional(),
  timeoutMs: z.number().positive().max(3_600_000).optional(),
})
export type DescribedHook = z.output<typeof describedHook>

const agent = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/),
  description: sentence,
  prompt: z.string().max(200_000),
  tools: names.optional(),
  model: title.optional(),
  effort: z.enum(EFFORTS).optional(),
  maxTurns: z.int().positive().optional(),
  mode: z.enum(["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]).optional(),
})

/** A contribution as data. */
export const parts = z.strictObject({
  tools: z.array(describedTool).max(1000),
  hooks: z.array(describedHook).max(1000),
  permissions: z.strictObject({ allow: rules, ask: rules, deny: rules }),
  agents: z.array(agent).max(1000),
  /** What it adds that cannot be sent, by kind. */
  foreign: names,
})
export type Parts = z.output<typeof parts>

const capabilities = z.strictObject({
  tools: names.optional(),
  exec: names.optional(),
  net: names.optional(),
  env: names.optional(),
  read: names.optional(),
  write: names.optional(),
})

/** A plugin as data, before its setup. */
export const described = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,99}$/),
  apiVersion: z.int().optional(),
  requires: names.optional(),
  required: z.boolean().optional(),
  capabilities: capabilities.optional(),
  /** It has a setup, or a schema for its section. */
  hasSetup: z.boolean(),
  parts,
})
export type Described = z.output<typeof described>

const target = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("command"), text: z.string().max(200_000) }),
  z.strictObject({ kind: z.literal("path"), access: z.enum(["read", "write"]), path }),
  z.strictObject({ kind: z.literal("url"), url: z.string().max(20_000) }),
  z.strictObject({
    kind: z.literal("name"),
    name: title,
    params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  }),
])

/** `CallFacts` of a tool. */
export const callFacts = z.strictObject({
  readOnly: z.boolean(),
  concurrencySafe: z.boolean(),
  targets: z.array(target).max(10_000),
})

const image = z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"])
const base64 = { type: z.literal("base64"), data: z.string() }
const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image"), source: z.strictObject({ ...base64, media_type: image }) }),
  z.strictObject({
    type: z.literal("document"),
    source: z.strictObject({ ...base64, media_type: z.literal("application/pdf") }),
    title: title.optional(),
  }),
])

/** A `ToolOutput` without a file of its own: the kernel would read it with rights that the plugin lacks. */
export const toolOutput = z.union([
  z.string(),
  z.strictObject({
    content: z.union([z.string(), z.array(block)]),
    isError: z.boolean().optional(),
    data: z.unknown().optional(),
  }),
])
