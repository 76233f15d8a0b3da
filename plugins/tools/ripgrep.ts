/**
 * Arguments → the lines that ripgrep prints, one by one.
 *
 * Invariant: no configuration of the machine or the project changes what is found, and no line is held longer than its
 * reader wants it.
 */
import { existsSync } from "node:fs"
import { isAbsolute, relative } from "node:path"
import { type ProcessResult, runProcess, type ToolContext } from "sous"
import { linkAbort } from "./abort.ts"
import { swapped } from "./file.ts"
import { withFolder } from "./held.ts"
import { Refused } from "./refusal.ts"

export interface RipgrepRequest {
  args: readonly string[]
  /** Real, absolute. */
  cwd: string
  timeoutMs: number
  /** Ends each record: "\n", or "\0" after file names. */
  separator: "\n" | "\0"
  /** Takes one record without its end; false: enough, end the search. */
  take(record: string): boolean
}

/** How a search ended. `complaint` is what ripgrep wrote to stderr, shortened. */
export interface RipgrepEnd {
  timedOut: boolean
  complaint: string
}

/** Runs a search. Refuses when there is no ripgrep, or when it found fault with the arguments. Throws when aborted. */
export async function runRipgrep(request: RipgrepRequest, context: ToolContext): Promise<RipgrepEnd> {
  const enough = linkAbort(context.signal)
  try {
    const run = (file: string) => search(file, request, context, enough.controller)
    const found = await locate()
    let result = found === undefined ? undefined : await run(found)
    if (result === undefined || result.error !== undefined) result = await run("rg")
    context.signal.throwIfAborted()
    return judge(result)
  } finally {
    enough.unlink()
  }
}

/** A path for the model: short inside the working directory, absolute elsewhere. */
export function displayPath(path: string, cwd: string): string {
  const inside = relative(cwd, path)
  return inside.startsWith("..") || isAbsolute(inside) ? path : inside
}

/** The binary that came as a package. */
async function locate(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep")
    return existsSync(rgPath) ? rgPath : undefined
  } catch {
    return undefined
  }
}

async function search(file: string, request: RipgrepRequest, context: ToolContext, enough: AbortController) {
  const result = await withFolder(request.cwd, (at) => searchIn(at("."), file, { request, context, enough }))
  if (result === undefined) throw swapped(request.cwd)
  return result
}

async function searchIn(
  cwd: string,
  file: string,
  { request, context, enough }: { request: RipgrepRequest; context: ToolContext; enough: AbortController },
) {
  const { RIPGREP_CONFIG_PATH: _, ...env } = context.env
  const records = createRecords(request)
  return await runProcess(
    { file, args: ["--no-config", "--color=never", ...request.args] },
    {
      cwd,
      env,
      signal: enough.signal,
      timeoutMs: request.timeoutMs,
      killGraceMs: 200,
      keepBytes: 2000,
      onChunk: (chunk, stream) => {
        if (stream === "stdout" && !enough.signal.aborted && !records.add(chunk)) enough.abort()
      },
    },
  )
}

/** A record longer than this is handed over in pieces: nothing that is shown is as long. */
const RECORD_CHARS = 2 ** 16

function createRecords({ separator, take }: RipgrepRequest) {
  const decoder = new TextDecoder()
  let rest = ""
  return {
    /** False: the reader has enough. */
    add: (chunk: Buffer): boolean => {
      const records = (rest + decoder.decode(chunk, { stream: true })).split(separator)
      rest = records.pop()!
      if (rest.length > RECORD_CHARS) {
        records.push(rest)
        rest = ""
      }
      return records.every(take)
    },
  }
}

/** Exit codes of rg(1): 0 found, 1 found nothing, 2 an error, perhaps beside matches. */
function judge(result: ProcessResult): RipgrepEnd {
  if (result.error !== undefined) {
    const reason = "the package @vscode/ripgrep brings none for this machine, and PATH has no rg"
    throw new Refused(`Cannot search: there is no ripgrep (${reason}). Use a shell command (grep, find) instead`)
  }
  const complaint = result.stderr.toString().trim()
  const isFault = result.code === 2 && result.stdoutBytes === 0
  if (isFault) throw new Refused(`ripgrep cannot do this search: ${complaint}`)
  return { timedOut: result.timedOut, complaint }
}
