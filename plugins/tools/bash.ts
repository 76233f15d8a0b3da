/**
 * Bash: a command line → its output and exit code, or a handle to it in the background.
 *
 * Invariant: a call ends with everything it started, in bounded memory; only the working directory outlives it, and
 * that never leaves the folders the agent works in.
 */
import { constants } from "node:os"
import { defineTool, type ProcessResult, runProcess, type ToolContext, z } from "sous"
import { linkAbort } from "./abort.ts"
import { startInBackground } from "./background.ts"
import { isSuccess } from "./exit.ts"
import { findFolder, folderRecord, followFolder, recordFolder } from "./folder.ts"
import { answering } from "./refusal.ts"
import { type Collector, createCollector } from "./run-file.ts"
import { MAX_OUTPUT_BYTES, shellEnvironment } from "./shell.ts"

const DEFAULT_TIMEOUT_MS = 120_000
/** For a model; a recipe may wait as long as it says. */
const MAX_TIMEOUT_MS = 600_000
/** How much of each stream hooks and recipes get, bytes. */
const DATA_BYTES = { model: 30_000, recipe: 1_000_000 }

const input = z.strictObject({
  command: z.string().min(1),
  timeout: z.int().min(1).optional().describe("ms; default 120000, at most 600000"),
  description: z.string().optional().describe("What it does, in 5 to 10 words"),
  run_in_background: z.boolean().optional().describe("For servers and watchers: returns an id at once"),
})
type Input = z.output<typeof input>

/** Runs shell commands. */
export const bashTool = defineTool({
  name: "Bash",
  description:
    "Run a command in bash: a new process each time; only the working directory is kept. No input, no terminal. What it leaves running is ended with it; use run_in_background instead of &. For files prefer Read, Edit, Write, Glob, Grep.",
  input,
  role: "shell",
  readOnly: false,
  concurrencySafe: false,
  targets: ({ command }) => [{ kind: "command", text: command }],
  execute: answering(async (input: Input, context) => {
    const { cwd, notes } = findFolder(context)
    if (input.run_in_background) return await startInBackground({ ...input, cwd }, context)
    const collector = createCollector(context)
    let result: ProcessResult
    let shown: Awaited<ReturnType<Collector["finish"]>>
    try {
      result = await run(input, collector, { ...context, cwd })
    } finally {
      shown = await collector.finish()
    }
    notes.push(...describeEnd(result, input, context), ...(await followFolder(context, cwd)))
    const body = shown.text.trimEnd() || (notes.length === 0 ? "(no output)" : "")
    const isFailure = result.aborted || !isSuccess(input.command, result.code, result.stderrBytes > 0)
    return {
      content: [body, ...notes.map((note) => `[${note}]`)].filter((part) => part !== "").join("\n"),
      isError: isFailure,
      data: dataOf(result),
      ...(shown.spilled === undefined ? {} : { spilled: shown.spilled }),
    }
  }),
})

async function run(input: Input, collector: Collector, context: ToolContext): Promise<ProcessResult> {
  const enough = linkAbort(context.signal)
  const report = createReporter(collector, context)
  try {
    return await runProcess(recordFolder(input.command), {
      cwd: context.cwd,
      env: shellEnvironment(context, folderRecord(context)),
      signal: enough.controller.signal,
      timeoutMs: timeoutOf(input, context),
      keepBytes: DATA_BYTES[context.caller],
      onChunk: async (chunk, stream) => {
        await collector.add(chunk, stream)
        if (collector.bytes > MAX_OUTPUT_BYTES) enough.controller.abort()
        report()
      },
    })
  } finally {
    enough.unlink()
  }
}

function timeoutOf({ timeout = DEFAULT_TIMEOUT_MS }: Input, context: ToolContext): number {
  return context.caller === "recipe" ? timeout : Math.min(timeout, MAX_TIMEOUT_MS)
}

/** Shows people the last line of a long call, once a second at most. */
function createReporter(collector: Collector, context: ToolContext): () => void {
  let last = performance.now()
  return () => {
    if (performance.now() - last < 1000) return
    last = performance.now()
    context.progress(collector.lastLine())
  }
}

function describeEnd(result: ProcessResult, input: Input, context: ToolContext): string[] {
  if (result.error !== undefined) return [result.error]
  if (result.timedOut) {
    const seconds = timeoutOf(input, context) / 1000
    return [`ended after ${seconds} s, with all it had started: raise timeout, or use run_in_background`]
  }
  if (context.signal.aborted) return ["interrupted: the run was stopped while this command ran"]
  if (result.aborted) return [`ended: it had printed more than ${MAX_OUTPUT_BYTES / 2 ** 30} GiB`]
  const notes = []
  if (result.code !== 0) notes.push(result.code === null ? `ended by ${result.signal}` : `exit code ${result.code}`)
  if (result.leftover) notes.push("what it left running was ended: use run_in_background for what is to go on")
  return notes
}

/** What hooks and `sh` steps get. A signal's code is 128 and its number, as shells have it. */
function dataOf(result: ProcessResult) {
  const { signal, timedOut, aborted: interrupted, durationMs, error } = result
  return {
    stdout: textOf(result.stdout, result.stdoutBytes),
    stderr: error ?? textOf(result.stderr, result.stderrBytes),
    code: result.code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
    timedOut,
    interrupted,
    durationMs,
    ...(signal === null ? {} : { signal }),
  }
}

function textOf(kept: Buffer, bytes: number): string {
  // As a stream: a character that the cut split is left out.
  const text = new TextDecoder().decode(kept, { stream: kept.length < bytes })
  return kept.length < bytes ? `${text}\n[cut: ${bytes.toLocaleString("en-US")} bytes in all]` : text
}
