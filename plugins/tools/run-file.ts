/**
 * Output that is too long for the conversation → a file in the run's folder, and a preview of it.
 *
 * Invariant: what is held in memory does not grow with the output; only the owner can read the file.
 */
import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { join } from "node:path"
import type { ProcessStream, ToolContext } from "sous"
import { headOf, tailOf } from "./text.ts"

/** Characters that go to the model whole; of longer output, the characters of its start and its end. */
export const INLINE_CHARS = 28_000
const HEAD_CHARS = 6000
const TAIL_CHARS = 10_000

/** Takes output as it arrives, in the order of its arrival. */
export interface Collector {
  add(chunk: Buffer, stream: ProcessStream): Promise<void>
  /** What the model is shown, and the file when that is not all. */
  finish(): Promise<{ text: string; spilled?: { path: string; chars: number } }>
  /** Bytes so far. */
  readonly bytes: number
  /** The last line so far, for people who watch. */
  lastLine(): string
}

/** Makes a file of that name, or of one like it, in the run's folder. */
export async function createRunFile(context: ToolContext, name: string): Promise<{ handle: FileHandle; path: string }> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const base = `${name}-${context.toolUseId}`.replace(/[^\w.-]+/g, "_").slice(0, 100)
  for (let number = 1; ; number++) {
    const path = join(context.runFolder, `${base}${number === 1 ? "" : `-${number}`}.txt`)
    try {
      return { handle: await open(path, flags, 0o600), path }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    }
  }
}

/** Collects the output of a command. */
export function createCollector(context: ToolContext): Collector {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  const waiting: Buffer[] = []
  let file: { handle: FileHandle; path: string } | undefined
  let start = ""
  let end = ""
  let chars = 0
  let isBinary = false

  const keep = (text: string) => {
    chars += text.length
    if (start.length < INLINE_CHARS) start += text.slice(0, INLINE_CHARS - start.length)
    end = (end + text).slice(-TAIL_CHARS)
  }
  const spill = async () => {
    file = await createRunFile(context, "output")
    for (const chunk of waiting.splice(0)) await file.handle.write(chunk)
  }
  const collector = {
    bytes: 0,
    add: async (chunk: Buffer, stream: ProcessStream) => {
      collector.bytes += chunk.length
      isBinary ||= chunk.includes(0)
      keep(decoders[stream].decode(chunk, { stream: true }))
      writing = writing.then(() => store(chunk))
      await writing
    },
    lastLine: () => headOf(end.trimEnd().split("\n").at(-1) ?? "", 200),
    finish: async () => {
      keep(decoders.stdout.decode() + decoders.stderr.decode())
      if (isBinary && file === undefined) await spill()
      await file?.handle.close()
      if (file === undefined) return { text: start }
      const { path } = file
      return {
        text: isBinary ? binaryNote(collector.bytes, path) : preview(start, end, chars, path),
        spilled: { path, chars },
      }
    },
  }
  // One write after the other: both streams arrive at once.
  let writing = Promise.resolve()
  const store = async (chunk: Buffer) => {
    if (file === undefined) waiting.push(chunk)
    else await file.handle.write(chunk)
    if (file === undefined && chars > INLINE_CHARS) await spill()
  }
  return collector
}

/** Head and tail of a text, and where the rest is. */
export function preview(start: string, end: string, chars: number, path: string): string {
  const head = headOf(start, HEAD_CHARS)
  const tail = tailOf(end, TAIL_CHARS)
  const left = (chars - head.length - tail.length).toLocaleString("en-US")
  return `${head}\n\n[… ${left} characters left out; the whole output is in ${path}: Read it or Grep it …]\n\n${tail}`
}

function binaryNote(bytes: number, path: string): string {
  return `[binary output, ${bytes.toLocaleString("en-US")} bytes, kept in ${path}]`
}
