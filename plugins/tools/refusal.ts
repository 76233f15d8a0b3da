/**
 * What stops a tool → a result for the model, in a sentence that says what to try next.
 *
 * Invariant: a fault of the disk is told in words, never as a stack; what is nobody's expected fault is thrown on.
 */
import type { ToolContext, ToolOutput } from "sous"

/** Stops a tool; its message is the result. */
export class Refused extends Error {}

/** Turns what `execute` throws on purpose, and faults of the file system, into results. */
export function answering<Input>(execute: (input: Input, context: ToolContext) => Promise<ToolOutput>) {
  return async (input: Input, context: ToolContext): Promise<ToolOutput> => {
    try {
      context.signal.throwIfAborted()
      return await execute(input, context)
    } catch (error) {
      const sentence = error instanceof Refused ? error.message : describeFault(error)
      if (sentence === undefined) throw error
      return { content: clipQuoted(sentence), isError: true }
    }
  }
}

/** Characters of a quoted path, address or text that a sentence shows. */
const MAX_QUOTED = 300
/** Characters of a whole sentence: what it quotes may hold quotes itself. */
const MAX_SENTENCE = 10_000

/** The sentence with each long text between quotes cut. */
export function clipQuoted(sentence: string): string {
  const quoted = sentence.replace(/"([^"]*)"/g, (all, text: string) => {
    return text.length > MAX_QUOTED ? `"${clip(text, MAX_QUOTED)}"` : all
  })
  return quoted.length > MAX_SENTENCE ? `${clip(quoted, MAX_SENTENCE / 2)}${quoted.slice(-MAX_QUOTED)}` : quoted
}

function clip(text: string, most: number): string {
  return `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`
}

/** Errors of open(2), rename(2) and their like, in words. */
const FAULTS: Readonly<Record<string, string>> = {
  EACCES: "the file system does not permit it",
  EPERM: "the file system does not permit it",
  EROFS: "it lies on a read-only file system",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "its links lead in a circle, or were changed while it was opened",
  ENOTDIR: "a part of the path is a file, not a folder",
  EISDIR: "it is a folder",
  EEXIST: "something of that name stands in its way",
  ENOENT: "a part of the path does not exist",
  EMFILE: "too many files are open; try again",
  EIO: "the disk cannot be read",
  ERR_INVALID_ARG_VALUE: "the path is not valid",
}

function describeFault(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException
  const words = code === undefined ? undefined : FAULTS[code]
  if (words === undefined) return undefined
  return path === undefined ? `Not done: ${words}` : `Not done for "${path}": ${words}`
}
