/**
 * What a YAML recipe may hold, as zod: the keys and the types; what they mean together stands in yaml-step.ts.
 *
 * Invariant: every object is strict, and what it says about an unknown key is the nearest right one.
 */
import { z } from "zod"
import { suggest } from "../error.ts"
import type { JsonSchema } from "../message.ts"
import { PERMISSION_MODES } from "../permission/mode.ts"
import { budgetSchema, compactSchema, headShape } from "./head.ts"

function strict<S extends z.ZodRawShape>(shape: S) {
  const known = Object.keys(shape)
  const error = (issue: { code?: string; keys?: string[] }) =>
    issue.code === "unrecognized_keys" ? suggest(issue.keys?.[0] ?? "", known) : undefined
  return z.strictObject(shape, { error: error as never })
}

const text = z.string()
/** A whole number, or an expression that gives one. */
const count = z.union([z.int().min(0), text])
const list = z.union([z.array(z.unknown()), text])
const mode = z.enum(PERMISSION_MODES)
const effort = z.enum(["low", "medium", "high", "xhigh", "max"])
const fanOut = { key: text.optional(), concurrency: count.optional(), allowFailures: count.optional() }
const inner = z.lazy((): z.ZodType<Declaration> => declaration)

const agentOptions = strict({
  prompt: text,
  system: text.optional(),
  appendSystem: text.optional(),
  model: text.optional(),
  effort: effort.optional(),
  tools: z.array(text).optional(),
  mode: mode.optional(),
  maxTurns: count.optional(),
  output: z.unknown().optional(),
  agentType: text.optional(),
  verify: inner.optional(),
  attempts: count.optional(),
  budget: budgetSchema.optional(),
  compact: compactSchema.optional(),
})

const shOptions = strict({
  command: text,
  cwd: text.optional(),
  env: z.record(text, text).optional(),
  ok: z.union([z.array(z.int()), z.literal("any")]).optional(),
  timeoutMs: count.optional(),
})

/** One step without its id: one kind, or `each` or `until` around one. */
const kinds = {
  agent: z.union([text, agentOptions]).optional(),
  sh: z.union([text, shOptions]).optional(),
  tool: strict({ name: text, input: z.unknown().optional() }).optional(),
  each: z.union([list, strict({ items: list, ...fanOut })]).optional(),
  parallel: z.record(text, inner).optional(),
  siblings: z.enum(["finish", "abort"]).optional(),
  pipeline: strict({ items: list, stages: z.array(inner).min(1), ...fanOut }).optional(),
  until: inner.optional(),
  max: count.optional(),
  holds: text.optional(),
  write: strict({ path: text, text: text }).optional(),
  value: z.unknown().optional(),
  use: z.union([text, strict({ recipe: text, params: z.record(text, z.unknown()).optional() })]).optional(),
}
const declaration: z.ZodType<Declaration> = strict(kinds) as never

const step = strict({
  id: text,
  title: text.optional(),
  onFail: z.enum(["stop", "continue"]).optional(),
  when: text.optional(),
  budget: budgetSchema.optional(),
  ...kinds,
})

const agentDefinition = strict({
  name: text,
  description: text,
  prompt: text,
  tools: z.array(text).optional(),
  model: text.optional(),
  effort: effort.optional(),
  maxTurns: z.int().min(1).optional(),
  mode: mode.optional(),
  compact: compactSchema.optional(),
})

/** The whole file. */
export const recipeFile = strict({
  ...headShape,
  description: text.default(""),
  params: z.record(text, z.unknown()).optional(),
  agents: z.array(agentDefinition).optional(),
  steps: z.array(step).min(1),
  output: z.unknown().optional(),
})

/** A file's data once it fits. */
export type RecipeFile = z.output<typeof recipeFile>
type AgentOptions = Omit<z.output<typeof agentOptions>, "verify"> & { verify?: Declaration | undefined }
/** What `each` and `pipeline` have in common. */
export type FanOut = { items: unknown[] | string; key?: string | undefined; concurrency?: Count; allowFailures?: Count }
type Count = number | string | undefined

/** The data of one step without its id. */
export interface Declaration {
  agent?: string | AgentOptions | undefined
  sh?: string | z.output<typeof shOptions> | undefined
  tool?: { name: string; input?: unknown } | undefined
  each?: string | unknown[] | FanOut | undefined
  parallel?: Record<string, Declaration> | undefined
  siblings?: "finish" | "abort" | undefined
  pipeline?: (FanOut & { stages: Declaration[] }) | undefined
  until?: Declaration | undefined
  max?: Count
  holds?: string | undefined
  write?: { path: string; text: string } | undefined
  value?: unknown
  use?: string | { recipe: string; params?: Record<string, unknown> | undefined } | undefined
}

/** The schema that editors use for recipes in YAML. */
export function recipeFileSchema(): JsonSchema {
  return z.toJSONSchema(recipeFile, { io: "input", unrepresentable: "any" })
}
