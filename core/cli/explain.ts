/**
 * `sous explain TOOL INPUT`: a call and this session's settings → the decision about it, for people or for machines.
 *
 * Invariant: nothing runs and nothing is asked; what is printed is the decision that a run would take.
 */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import { nearestName, SousError } from "../error.ts"
import type { Kit } from "../kit.ts"
import { modeOf } from "../settings/merge.ts"
import type { CommandLine } from "./command-line.ts"
import { fitInput, inputOfText } from "./explain-input.ts"
import { answerOf } from "./explain-line.ts"
import { formatDecision } from "./explain-text.ts"
import type { Host } from "./host.ts"
import { openSession, runOptions, withKit } from "./session.ts"

/** Returns 0 whatever the decision is; with `--batch` 1 when a line was wrong. */
export async function explain(line: CommandLine, host: Host): Promise<number> {
  const { args, values } = line
  if (values.batch) {
    checkBatch(line)
    return await (await import("./explain-batch.ts")).explainBatch(host)
  }
  if (!args[0]) {
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "tool", example: "sous explain Bash 'git push'" })
  }
  const session = await openSession(withoutMode(line), await standingIn(host, values.cwd))
  return await withKit(session, async (kit) => {
    const call = readCall(kit, args[0]!, args[1])
    const tool = kit.tool(call.tool)
    const mode = values.dangerouslySkipPermissions ? "bypassPermissions" : values.mode && modeOf(values.mode)
    const options = { ...runOptions(session), ...(mode ? { mode } : {}) }
    const input = tool ? await fitInput(tool, call.input) : call.input
    const asked = { ...call, input, headless: values.headless === true }
    const { decision, parts, known, warnings } = await kit.explain(asked, options)
    for (const warning of [...session.loaded.warnings, ...warnings]) host.tell(`! ${warning}`)
    if (!known) host.tell(`! ${describeUnknown(call.tool, kit.describe().tools)}`)
    const text = values.json
      ? JSON.stringify({ ...call, ...answerOf(decision), parts })
      : host.escape(formatDecision(decision, { ...call, parts }))
    host.print(`${text}\n`)
    return 0
  })
}

/** Each line of a batch says all of it by itself. Throws CLI_ARGUMENT_UNEXPECTED and CLI_FLAGS_CONFLICT. */
function checkBatch({ args, values }: CommandLine): void {
  if (args[0] !== undefined) {
    const mend = "leave it out: --batch reads calls from stdin"
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: args[0], mend })
  }
  const other = Object.keys(values).find((name) => name !== "batch" && name !== "json")
  if (other === undefined) return
  const flag = `--${other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new SousError("CLI_FLAGS_CONFLICT", { one: "--batch", other: flag })
}

/** The mode is only looked at: nobody has to be allowed to start in it. */
function withoutMode(line: CommandLine): CommandLine {
  const { mode: _, dangerouslySkipPermissions: __, ...values } = line.values
  return { ...line, values }
}

/** The process as a command in another folder would see it, with nobody to ask. Throws CLI_VALUE_INVALID. */
async function standingIn(host: Host, folder: string | undefined): Promise<Host> {
  const own = await host.cwd()
  const cwd = folder === undefined ? own : resolve(own, folder)
  const isFolder = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new SousError("CLI_VALUE_INVALID", { flag: "--cwd", value: folder ?? own, wanted: "a folder" })
  return { ...host, cwd: async () => cwd, openAsker: async () => undefined }
}

/** A call as it is given on a command line: the input is JSON, or the text of the tool's first text field. */
export function readCall(kit: Kit, name: string, given = "{}"): { tool: string; input: Record<string, unknown> } {
  const input = readInput(given)
  if (typeof input !== "string") return { tool: name, input }
  const tool = kit.tool(name)
  return { tool: name, input: tool ? inputOfText(tool, input) : { text: input } }
}

function readInput(text: string): Record<string, unknown> | string {
  if (!text.trimStart().startsWith("{")) return text
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    const mend = "put the JSON into single quotes"
    const wanted = `a JSON object (${(error as Error).message})`
    throw new SousError("CLI_VALUE_INVALID", { flag: "INPUT", value: text, wanted, mend })
  }
}

function describeUnknown(name: string, known: readonly string[]): string {
  const near = nearestName(name, known)
  const meant = near === undefined ? "" : ` (did you mean "${near}"?)`
  return `No tool "${name}" is here${meant}: it is judged by its name and its parameters alone`
}
