/**
 * Commands that run beside the conversation: started by Bash, read by BashOutput, ended by KillShell.
 *
 * Invariant: each one writes to a file, so nothing is held in memory, and none outlives the run.
 */
import { open } from "node:fs/promises"
import { StringDecoder } from "node:string_decoder"
import { type ProcessResult, runProcess, suggest, type ToolContext, type ToolOutput } from "sous"
import { Refused } from "./refusal.ts"
import { createRunFile, INLINE_CHARS, preview } from "./run-file.ts"
import { MAX_OUTPUT_BYTES, shellEnvironment } from "./shell.ts"

/** A command in the background. */
export interface Shell {
  id: string
  command: string
  /** The file that has all of its output. */
  path: string
  /** Absent while it runs. */
  result?: ProcessResult
  /** Why its output could not be kept, which ended it. */
  fault?: string
  /** Ends its process group; settles when it has ended. */
  end(): Promise<void>
  /** Output since the last call, shortened when it is long. */
  readNew(): Promise<string>
}

const SHELLS = Symbol("background shells")

/** Starts a command and returns at once, with the id by which it can be read and ended. */
export async function startInBackground(
  input: { command: string; cwd: string; timeout?: number | undefined },
  context: ToolContext,
): Promise<ToolOutput> {
  const shells = shellsOf(context)
  const id = `bash_${shells.size + 1}`
  const { handle, path } = await createRunFile(context, id)
  const controller = new AbortController()
  const end = async () => {
    controller.abort()
    await ended
  }
  const shell: Shell = { id, command: input.command, path, end, readNew: createReader(path) }
  let bytes = 0
  const running = runProcess(input.command, {
    cwd: input.cwd,
    env: shellEnvironment(context),
    signal: controller.signal,
    timeoutMs: input.timeout ?? 0,
    keepBytes: 0,
    onChunk: async (chunk) => {
      bytes += chunk.length
      await handle.write(chunk)
      if (bytes > MAX_OUTPUT_BYTES) throw new Error(`it printed more than ${MAX_OUTPUT_BYTES} bytes`)
    },
  })
  const ended = running
    .then((result) => {
      shell.result = result
    })
    .catch((error: Error) => {
      shell.fault = error.message
    })
    .finally(() => handle.close())
  shells.set(id, shell)
  context.defer(end)
  const content = `Started in the background as "${id}". BashOutput reads its output, KillShell ends it; it ends with the run at the latest.`
  return { content, data: { id, path, stdout: "", stderr: "", code: 0 } }
}

/** The command of that id. Refuses an unknown one. */
export function findShell(context: ToolContext, id: string): Shell {
  const shells = shellsOf(context)
  const shell = shells.get(id)
  if (shell === undefined) throw new Refused(`There is no background command "${id}": ${suggest(id, shells.keys())}`)
  return shell
}

/** `running`, or how it ended. */
export function stateOf({ result, fault }: Shell): string {
  if (fault !== undefined) return `ended: ${fault}`
  if (result === undefined) return "running"
  if (result.error !== undefined) return `did not start: ${result.error}`
  if (result.timedOut) return "ended: its timeout had passed"
  if (result.aborted) return "ended by KillShell"
  return result.code === null ? `ended by ${result.signal}` : `exit code ${result.code}`
}

function shellsOf(context: ToolContext): Map<string, Shell> {
  return context.state(SHELLS, () => new Map<string, Shell>())
}

/** Reads a growing file from where it stopped; never more than is shown. */
function createReader(path: string) {
  let position = 0
  // Keeps the first half of a character whose second half is not written yet.
  const decoder = new StringDecoder("utf8")
  return async (): Promise<string> => {
    const handle = await open(path, "r")
    try {
      const read = async (start: number, length: number) => {
        const buffer = Buffer.alloc(length)
        const { bytesRead } = await handle.read(buffer, 0, length, start)
        return buffer.subarray(0, bytesRead)
      }
      const { size } = await handle.stat()
      const start = position
      position = size
      if (size - start <= INLINE_CHARS) return decoder.write(await read(start, size - start))
      const head = decoder.write(await read(start, INLINE_CHARS / 2))
      decoder.end()
      const tail = decoder.write(await read(size - INLINE_CHARS / 2, INLINE_CHARS / 2))
      return preview(head, tail, size - start, path)
    } finally {
      await handle.close()
    }
  }
}
