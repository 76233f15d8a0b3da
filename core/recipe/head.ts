/**
 * The checks that every recipe passes, in whichever form it was written: its head, the ids of its steps.
 *
 * Invariant: nothing unknown is ignored; what is wrong names the recipe and the key.
 */
import { z } from "zod"
import { SousError, suggest } from "../error.ts"
import type { RecipeHead, RecipeStep } from "../step.ts"

const text = z.string().min(1)
const limit = z.number().positive()

/** Budget, as it is written in heads and steps. */
export const budgetSchema = z.strictObject({
  usd: limit.optional(),
  tokens: limit.optional(),
  turns: limit.optional(),
  minutes: limit.optional(),
})

/** How a conversation is kept within its window, as it is written in steps and agent definitions. */
export const compactSchema = z.strictObject({
  auto: z.boolean().optional(),
  strategy: text.optional(),
  threshold: z.number().min(0.1).max(1).optional(),
  keep: z.int().positive().optional(),
})

/** What the head of a recipe may hold, in YAML and in TypeScript, without its params. */
export const headShape = {
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "it is not a kebab-case word"),
  description: text,
  permissions: z
    .strictObject({ allow: z.array(text).optional(), ask: z.array(text).optional(), deny: z.array(text).optional() })
    .optional(),
  budget: budgetSchema.optional(),
  on: z
    .strictObject({ change: z.array(text).optional(), schedule: text.optional(), commit: z.boolean().optional() })
    .optional(),
  model: text.optional(),
}

const headSchema = z.strictObject({
  ...headShape,
  params: z.custom<z.ZodObject>(isObjectSchema, "it is not a zod object").optional(),
  agents: z.array(z.looseObject({ name: text, description: text, prompt: text })).optional(),
})

/** The head as it is, if it is one. Throws RECIPE_HEAD_INVALID or RECIPE_KEY_UNKNOWN. */
export function checkHead(head: RecipeHead): RecipeHead {
  const parsed = headSchema.safeParse(head)
  if (parsed.success) return head
  const recipe = typeof head?.name === "string" ? head.name : "?"
  const issue = parsed.error.issues[0]!
  if (issue.code === "unrecognized_keys") {
    const key = [...issue.path, issue.keys[0]!].join(".")
    throw new SousError("RECIPE_KEY_UNKNOWN", { recipe, key, mend: suggest(issue.keys[0]!, keysAt(issue.path)) })
  }
  const where = issue.path.length === 0 ? "its head" : `its "${issue.path.join(".")}"`
  throw new SousError("RECIPE_HEAD_INVALID", { recipe, problem: `${where} is wrong: ${issue.message}` })
}

/** The keys that a part of the head takes. */
function keysAt(path: readonly PropertyKey[]): string[] {
  let at: z.ZodType = headSchema
  for (const key of path) at = (unwrap(at) as z.ZodObject).shape[String(key)]!
  return Object.keys((unwrap(at) as z.ZodObject).shape ?? {})
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
}

/**
 * Throws STEP_ID_INVALID or STEP_ID_DUPLICATE. `reserved`: names that mean something else where results are read; `at`:
 * the place in a file.
 */
export function checkStepId(
  id: unknown,
  options: { recipe: string; taken: readonly Pick<RecipeStep, "id">[]; reserved: readonly string[]; at?: string },
): void {
  const { recipe, at } = options
  const fail = (problem: string) => new SousError("STEP_ID_INVALID", { recipe, id: String(id), problem, at })
  if (typeof id !== "string" || !/^[A-Za-z][A-Za-z0-9_]*$/.test(id)) {
    throw fail(`its id is not a letter followed by letters, digits and "_"`)
  }
  if (options.reserved.includes(id)) throw fail("that word has a meaning of its own")
  if (options.taken.some((step) => step.id === id)) throw new SousError("STEP_ID_DUPLICATE", { recipe, id, at })
}

function isObjectSchema(value: unknown): boolean {
  const def = (value as { _zod?: { def?: { type?: string } } } | null)?._zod?.def
  return def?.type === "object"
}

const stepOptions = z.strictObject({
  onFail: z.enum(["stop", "continue"]).optional(),
  when: z.custom((when) => typeof when === "function", "it is no function").optional(),
  title: z.string().optional(),
  budget: budgetSchema.optional(),
})

/** Throws RECIPE_KEY_UNKNOWN or RECIPE_HEAD_INVALID for options that no step has. */
export function checkStepOptions(recipe: string, id: string, options: object): void {
  const issue = stepOptions.safeParse(options).error?.issues[0]
  if (issue === undefined) return
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    const key = issue.keys[0]!
    const mend = suggest(key, Object.keys(stepOptions.shape))
    throw new SousError("RECIPE_KEY_UNKNOWN", { recipe, key: `${id}.${key}`, mend })
  }
  const problem = `its step "${id}": "${issue.path.join(".")}" is wrong: ${issue.message}`
  throw new SousError("RECIPE_HEAD_INVALID", { recipe, problem })
}
