/**
 * Keeps tool results small: from whatever a tool printed to what the model gets, with the whole of it in a file.
 *
 * Invariant: nothing of a text is lost (what is cut out stands in a file that the text names), and images and documents
 * are never cut.
 */
import { randomBytes } from "node:crypto"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { ToolResultContent } from "../message.ts"
import type { ToolOutput } from "../tool.ts"

/** Characters of text that one result may hold, when its tool does not say otherwise. */
export const RESULT_LIMIT = 30_000
/** Characters of text that all results of one message may hold together. */
export const MESSAGE_LIMIT = 200_000

/** The whole of a text that was cut: an absolute path, and its length in characters. */
export interface Spilled {
  path: string
  chars: number
}

/** A tool's output in the form in which it goes to the model. */
export interface FittedResult {
  content: ToolResultContent
  isError: boolean
  data?: unknown
  /** Characters of text in the whole output. */
  chars: number
  spilled?: Spilled
}

/** Where to put what is too long. */
export interface FitOptions {
  /** Characters of text at most. */
  limit: number
  /** Absolute; made when it is needed. */
  folder: string
  /** Becomes the file's name; unique in the run where possible. */
  name: string
}

/** Brings one output under its limit. A tool's own file (`spilled`) is kept instead of writing another. */
export async function fitResult(output: ToolOutput, options: FitOptions): Promise<FittedResult> {
  const { content, isError = false, data, spilled } = typeof output === "string" ? { content: output } : output
  const chars = spilled?.chars ?? textLength(content)
  const fitted = await fitContent(content, spilled, options)
  return { ...fitted, isError, chars, ...(data === undefined ? {} : { data }) }
}

/**
 * Brings the results of one message under `limit` characters together, the longest ones first; returns the same objects
 * where nothing is to be done. A result that carries `spilled` gets no second file.
 */
export async function fitMessage<R extends { content?: ToolResultContent; spilled?: Spilled }>(
  results: readonly R[],
  limit: number,
  options: { folder: string; name: string },
): Promise<readonly R[]> {
  const lengths = results.map(({ content }) => textLength(content ?? ""))
  const share = fairShare(lengths, limit)
  if (share === undefined) return results
  return Promise.all(
    results.map(async (result, i) => {
      if (lengths[i]! <= share) return result
      const name = `${options.name}-${i + 1}`
      return {
        ...result,
        ...(await fitContent(result.content ?? "", result.spilled, { ...options, name, limit: share })),
      }
    }),
  )
}

/** The length to which the longest must be cut so that all fit; undefined when they fit as they are. */
export function fairShare(lengths: readonly number[], limit: number): number | undefined {
  let left = limit
  const ascending = [...lengths].sort((a, b) => a - b)
  for (const [i, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - i))
    if (length > share) return share
    left -= length
  }
  return undefined
}

async function fitContent(
  content: ToolResultContent,
  spilled: Spilled | undefined,
  options: FitOptions,
): Promise<{ content: ToolResultContent; spilled?: Spilled }> {
  const known = spilled ? { spilled } : {}
  if (textLength(content) <= options.limit) return { content, ...known }
  const text = textOf(content)
  const kept = spilled ?? (await spill(text, options))
  const cut = cutText(text, kept, options.limit)
  return { content: withText(content, cut), ...(typeof kept === "string" ? {} : { spilled: kept }) }
}

/** Writes a text to a file of its own. When that fails, returns why, for the model to know. */
async function spill(text: string, { folder, name }: FitOptions): Promise<Spilled | string> {
  const base = name.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return { path: await writeNew(folder, base, text), chars: text.length }
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code ?? String(cause)
  }
}

async function writeNew(folder: string, base: string, text: string): Promise<string> {
  for (let path = join(folder, `${base}.txt`); ; path = join(folder, `${base}-${randomBytes(3).toString("hex")}.txt`)) {
    try {
      await writeFile(path, text, { flag: "wx", mode: 0o600 })
      return path
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause
    }
  }
}

/** Head and tail of a text with a note between them, `limit` characters in all (the note is always whole). */
function cutText(text: string, kept: Spilled | string, limit: number): string {
  const note = noteFor(text, kept)
  const room = Math.max(0, limit - note.length)
  const head = headOf(text, Math.ceil(room / 2))
  return head + note + tailOf(text, room - head.length)
}

function noteFor(text: string, kept: Spilled | string): string {
  const whole = typeof kept === "string" ? text.length : kept.chars
  const size = `${whole.toLocaleString("en-US")} characters`
  const place =
    typeof kept === "string"
      ? `The rest could not be kept in a file (${kept}). Ask for less at a time.`
      : `All of it is in the file ${kept.path}: read that file, or search in it, for the rest.`
  return `\n\n[The middle of this output was left out; it has ${size}. ${place}]\n\n`
}

/** Up to `length` characters from the start, to the end of a line where one is near. */
function headOf(text: string, length: number): string {
  if (length === 0) return ""
  const newline = text.lastIndexOf("\n", length - 1) + 1
  const end = newline > length * 0.8 ? newline : length
  return text.slice(0, isInsidePair(text, end) ? end - 1 : end)
}

/** Up to `length` characters from the end, from the start of a line where one is near. */
function tailOf(text: string, length: number): string {
  const earliest = text.length - length
  const newline = text.indexOf("\n", earliest) + 1
  const start = newline > 0 && newline < earliest + length * 0.2 ? newline : earliest
  return text.slice(isInsidePair(text, start) ? start + 1 : start)
}

function isInsidePair(text: string, at: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[at] ?? "")
}

function textLength(content: ToolResultContent): number {
  if (typeof content === "string") return content.length
  return content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)
}

function textOf(content: ToolResultContent): string {
  if (typeof content === "string") return content
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
}

/** The content with one text, where its first text stood; every other block stays where it was. */
function withText(content: ToolResultContent, text: string): ToolResultContent {
  if (typeof content === "string") return text
  const first = content.findIndex((block) => block.type === "text")
  return content
    .filter((block, i) => block.type !== "text" || i === first)
    .map((block) => (block.type === "text" ? { ...block, text } : block))
}
