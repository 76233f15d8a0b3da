/**
 * `sous explain --batch`: JSON lines on stdin → one JSON line for each on stdout, in the same order.
 *
 * Invariant: memory does not grow with the number of lines; what comes in waits until what went out was taken.
 */
import { dirname } from "node:path"
import { StringDecoder } from "node:string_decoder"
import { SousError } from "../error.ts"
import { prepareCommands } from "../permission/command.ts"
import { explainLine, faultOf, type LineAnswer, type LineOptions } from "./explain-line.ts"
import { createSituations } from "./explain-situation.ts"
import type { Host } from "./host.ts"

/** Longer lines are answered by an error, in characters. */
const MAX_LINE_CHARS = 16_000_000

/** Returns 1 when any of the lines was wrong. */
export async function explainBatch(host: Host): Promise<number> {
  const plugins = await host.shippedPlugins()
  const tools = new Map(plugins.flatMap(({ tools: list = [] }) => list.map((tool) => [tool.name, tool] as const)))
  const situations = createSituations({ env: host.env, toolkit: dirname(host.packageFile("package.json")) })
  const options = { tools, situations, cwd: await host.cwd() }
  await prepareCommands()
  let code = 0
  for await (const lines of readLines(host.stdin)) {
    if (!host.isRead()) break
    situations.begin()
    const answers = await explainLines(lines, options)
    if (answers.some(({ ok }) => !ok)) code = 1
    await host.pour(answers.map(({ text }) => `${text}\n`).join(""))
  }
  return code
}

type Line = string | { tooLong: true }

async function explainLines(lines: readonly Line[], options: LineOptions): Promise<LineAnswer[]> {
  const answers: LineAnswer[] = []
  for (const line of lines) {
    answers.push(typeof line === "string" ? await explainLine(line, options) : TOO_LONG)
  }
  return answers
}

const TOO_LONG: LineAnswer = {
  ok: false,
  text: JSON.stringify({
    id: null,
    error: faultOf(
      new SousError("CLI_LINE_INVALID", {
        problem: `it is longer than ${MAX_LINE_CHARS} characters`,
        mend: "write one call a line",
      }),
    ),
  }),
}

/** The lines of a stream, as many together as came together; blank ones are left out. */
async function* readLines(stream: AsyncIterable<string | Buffer>): AsyncGenerator<Line[]> {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  let isSkipping = false
  for await (const chunk of stream) {
    const text = typeof chunk === "string" ? chunk : decoder.write(chunk)
    const end = text.lastIndexOf("\n")
    if (end >= 0) {
      const lines: Line[] = (rest + text.slice(0, end)).split("\n")
      if (isSkipping) lines[0] = { tooLong: true }
      yield lines.filter((line) => typeof line !== "string" || line.trim() !== "")
      isSkipping = false
      rest = ""
    }
    // A line that came in many pieces is put together once, when its end is here.
    rest += text.slice(end + 1)
    isSkipping ||= rest.length > MAX_LINE_CHARS
    if (isSkipping) rest = ""
  }
  rest += decoder.end()
  if (isSkipping) yield [{ tooLong: true }]
  else if (rest.trim() !== "") yield [rest]
}
