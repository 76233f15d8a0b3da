/**
 * One line of `sous explain --batch` → the line that answers it: the decision, or what is wrong with the line.
 *
 * Invariant: one answer for each line, under the line's own id, whatever the line holds.
 */
import { resolve } from "node:path"
import { isSousError, nearestName, SousError } from "../error.ts"
import { decide } from "../permission/decide.ts"
import type { Decision } from "../permission/decision.ts"
import { createCall, createForeignCall } from "../permission/explain.ts"
import { resolveCall } from "../permission/path.ts"
import type { Tool } from "../tool.ts"
import { fitInput } from "./explain-input.ts"
import { readFields, type SituationMaker } from "./explain-situation.ts"

/** Where lines are decided. */
export interface LineOptions {
  tools: ReadonlyMap<string, Tool>
  situations: SituationMaker
  /** Absolute: what a line stands in that names no folder. */
  cwd: string
}

/** An answer, ready to be printed. */
export interface LineAnswer {
  text: string
  ok: boolean
}

/** Decides about one line. Never rejects. */
export async function explainLine(text: string, options: LineOptions): Promise<LineAnswer> {
  let id: unknown = null
  try {
    const line = parseLine(text)
    id = line["id"] ?? null
    checkKeys(line)
    const answer = await answerLine(line, options)
    return { text: `{"id":${JSON.stringify(id)},${answer}`, ok: true }
  } catch (error) {
    return { text: JSON.stringify({ id, error: faultOf(error) }), ok: false }
  }
}

/** A decision as the batch prints it; `rule` is null where none decided. */
export function answerOf(decision: Decision): Record<string, unknown> {
  const { behavior, source, reason, mend, rule, target, trace } = decision
  return {
    behavior,
    source,
    reason,
    ...(mend === undefined ? {} : { mend }),
    rule: rule ?? null,
    ...(target ? { target } : {}),
    trace,
  }
}

/** What a machine is told of a fault. */
export function faultOf(error: unknown): { code: string; message: string; mend: string } {
  if (isSousError(error)) return { code: error.code, message: error.message, mend: error.mend }
  const mend = "give the call as its tool takes it"
  const { code, message } = new SousError("CLI_LINE_INVALID", { problem: String(error), mend })
  return { code, message, mend }
}

async function answerLine(line: Record<string, unknown>, options: LineOptions): Promise<string> {
  const { tool: name, input, settings, mode, headless } = line
  if (typeof name !== "string" || name === "") {
    throw new SousError("CLI_LINE_INVALID", { problem: "it names no tool", mend: 'give "tool": the name of the tool' })
  }
  const own = readFolder(line, "cwd")
  const situation = await options.situations.make({
    settings,
    mode,
    cwd: own === undefined ? options.cwd : resolve(options.cwd, own),
    home: readFolder(line, "home"),
    headless: headless === true,
  })
  const { cwd: folder, home } = situation.facts
  const call = await readCall(name, input, { ...options, cwd: folder })
  const paths = await resolveCall(call, folder, { home, disk: situation.disk })
  const decision = decide(call, situation.rules, { ...situation.facts, paths })
  // Without its opening brace, so that the id can stand before it.
  return JSON.stringify(answerOf(decision)).slice(1)
}

async function readCall(name: string, input: unknown, { tools, cwd }: Pick<LineOptions, "tools" | "cwd">) {
  const tool = tools.get(name)
  return tool
    ? await createCall(tool, await fitInput(tool, input ?? {}), cwd)
    : createForeignCall(name, readFields(input, "input"))
}

function parseLine(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const mend = 'write one JSON object a line: { "id", "tool", "input" }'
    throw new SousError("CLI_LINE_INVALID", { problem: `it is no JSON (${(error as Error).message})`, mend })
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  const mend = 'write one JSON object a line: { "id", "tool", "input" }'
  throw new SousError("CLI_LINE_INVALID", { problem: "it is no object", mend })
}

const KEYS = ["id", "tool", "input", "settings", "mode", "cwd", "home", "headless"]

/** A line may carry notes of its own; what looks like one of our keys, misspelt, is refused. */
function checkKeys(line: Record<string, unknown>): void {
  for (const key of Object.keys(line)) {
    const near = KEYS.includes(key) ? undefined : nearestName(key, KEYS)
    if (near !== undefined && !(near in line)) {
      throw new SousError("CLI_LINE_INVALID", { problem: `its key "${key}" is unknown`, mend: `write "${near}"` })
    }
  }
}

function readFolder(line: Record<string, unknown>, key: "cwd" | "home"): string | undefined {
  const value = line[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value
  throw new SousError("CLI_LINE_INVALID", {
    problem: `"${key}" is no path`,
    mend: `give "${key}" as the path of a folder`,
  })
}
