/**
 * A `*.permissions.yaml` table → groups of cases, each with its place in the file.
 *
 * Invariant: a key or value that no table has is refused with its line; a case that nobody reads is no case.
 */
import { z } from "zod"
import { isSousError, SousError, suggest } from "../error.ts"
import { DECISION_SOURCES } from "../permission/decision.ts"
import { suggestKey } from "../settings/check.ts"
import { parseDocument, type SettingsDocument } from "../settings/document.ts"
import { SETTINGS_SCOPES } from "../settings/merge.ts"
import { MODE_NAMES, settingsSchema } from "../settings/schema.ts"

const text = z.string().min(1)
const tableCase = z
  .strictObject({
    tool: text.optional(),
    command: z.string().optional(),
    path: z.string().optional(),
    url: z.string().optional(),
    input: z.record(z.string(), z.unknown()).optional(),
    expect: z.enum(["allow", "ask", "deny", "not-allow"]),
    source: z.enum(DECISION_SOURCES).optional(),
    because: text,
  })
  .refine(({ command, path, url, input }) => {
    const given = [command, path, url].filter((one) => one !== undefined).length
    return given === 1 || (given === 0 && input !== undefined)
  }, "give exactly one of command, path, url and input")
const tableGroup = z.strictObject({
  about: text.optional(),
  settings: settingsSchema.optional(),
  scopes: z.partialRecord(z.enum(SETTINGS_SCOPES), settingsSchema).optional(),
  flags: z.array(text).optional(),
  mode: z.enum(MODE_NAMES).optional(),
  headless: z.boolean().optional(),
  tools: z.array(text).optional(),
  cwd: text.optional(),
  cases: z.array(tableCase).min(1),
})

/** One call with the decision that it has to get. */
export interface TableCase extends z.output<typeof tableCase> {
  /** Counts from 1. */
  line: number
}

/** Calls that are decided under the same rules. */
export interface TableGroup extends Omit<z.output<typeof tableGroup>, "cases"> {
  cases: readonly TableCase[]
  /** Where a key of the group stands. */
  at: SettingsDocument["at"]
}

/** Reads a table. Throws CLI_TABLE_INVALID. */
export async function readTable(file: string, source: string): Promise<TableGroup[]> {
  const document = await parseTable(file, source)
  if (!Array.isArray(document.value) || document.value.length === 0) {
    const problem = "it is no list of cases"
    throw new SousError("CLI_TABLE_INVALID", { file, problem, mend: "begin each case with a dash" })
  }
  return document.value.map((entry: unknown, index) => {
    const isGroup = typeof entry === "object" && entry !== null && "cases" in entry
    const path = [index]
    if (isGroup) return placed(check(tableGroup, entry, { file, document, path, keys: GROUP_KEYS }), document, path)
    const one = check(tableCase, entry, { file, document, path, keys: CASE_KEYS })
    return { cases: [{ ...one, line: lineOf(document, path) }], at: () => undefined }
  })
}

async function parseTable(file: string, source: string): Promise<SettingsDocument> {
  try {
    return await parseDocument(file, source)
  } catch (error) {
    if (!isSousError(error)) throw error
    const {
      problem = error.message,
      line,
      column,
    } = error.details as { problem?: string; line: number; column: number }
    throw new SousError("CLI_TABLE_INVALID", { file, problem, line, column, mend: "correct the YAML" })
  }
}

function placed(group: z.output<typeof tableGroup>, document: SettingsDocument, path: readonly number[]): TableGroup {
  const cases = group.cases.map((one, i) => ({ ...one, line: lineOf(document, [...path, "cases", i]) }))
  return { ...group, cases, at: (inner) => document.at([...path, ...inner]) }
}

function lineOf(document: SettingsDocument, path: readonly (string | number)[]): number {
  return document.at(path)?.line ?? 1
}

function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: { file: string; document: SettingsDocument; path: readonly number[]; keys: readonly string[] },
): z.output<S> {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const { file, document, path, keys } = where
  const { issues } = checked.error
  // A misspelt key also leaves the right one missing.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!
  const inner = issue.path as (string | number)[]
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!
    const place = document.at([...path, ...inner, key])
    const mend = suggestFor(key, inner, keys)
    throw new SousError("CLI_TABLE_INVALID", { file, problem: `the key "${key}" is unknown`, mend, ...place })
  }
  const problem = `${inner.join(".") || "the case"}: ${issue.message}`
  const place = document.at([...path, ...inner])
  throw new SousError("CLI_TABLE_INVALID", { file, problem, mend: "correct it, or take it out", ...place })
}

/** Names the key that was meant, of a case, a group, or of settings in one. */
function suggestFor(key: string, [first, ...more]: readonly (string | number)[], keys: readonly string[]): string {
  if (first === "settings") return suggestKey(more.join("."), key)
  if (first === "scopes" && more.length > 0) return suggestKey(more.slice(1).join("."), key)
  if (first === "scopes") return suggest(key, SETTINGS_SCOPES)
  return suggest(key, first === "cases" ? CASE_KEYS : keys)
}

const CASE_KEYS = Object.keys(tableCase.shape)
const GROUP_KEYS = Object.keys(tableGroup.shape)
