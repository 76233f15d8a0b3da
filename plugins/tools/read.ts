/**
 * Read: a file → numbered lines, an image, a document or the cells of a notebook.
 *
 * Invariant: what a model has been shown is noted, so that Edit and Write can refuse to change what it has not seen.
 *
 * Trail: 5 of 6, from hook.ts, next session/transcript.ts.
 */
import { defineTool, type ToolContext, type ToolOutput, z } from "sous"
import { type OpenFile, readWhole, stampOf, withFile } from "./file.ts"
import { keepContent } from "./known-content.ts"
import { noteRead } from "./ledger.ts"
import { mediaTypeOf, readMedia } from "./media.ts"
import { parseNotebook, renderNotebook } from "./notebook.ts"
import { readPage } from "./page.ts"
import { answering } from "./refusal.ts"

const NOTEBOOK_BYTES = 50_000_000

const input = z.strictObject({
  file_path: z.string().min(1).describe("Absolute, or relative to the working directory"),
  offset: z.int().min(1).optional().describe("First line, from 1 (notebook: cell)"),
  limit: z.int().min(1).optional().describe("How many; default 2000"),
})
type Input = z.output<typeof input>

/** Reads one file. */
export const readTool = defineTool({
  name: "Read",
  description:
    "Read a file: text as `number<tab>line` (at most 2,000 lines a call; page with offset and limit), PNG, JPEG, GIF, WebP and PDF as they are, notebooks as cells with ids. Not for folders: use Glob.",
  input,
  readOnly: true,
  // A page is shorter by itself; a file of the text beside it would help nobody.
  maxResultChars: 80_000,
  targets: ({ file_path }) => [{ kind: "path", access: "read", path: file_path }],
  execute: answering(async (input: Input, context) => {
    return await withFile(input.file_path, context, (file) => readFile(file, input, context))
  }),
})

async function readFile(file: OpenFile, input: Input, context: ToolContext): Promise<ToolOutput> {
  const start = Buffer.alloc(12)
  await file.read(start, 0)
  const type = mediaTypeOf(start)
  if (type !== undefined) {
    const { output, bytes } = await readMedia(file, type)
    const stamp = stampOf(file.stats, bytes)
    noteRead(context, file.real, { stamp, first: 1, last: 1, isEnd: true })
    return output
  }
  return (await readCells(file, input, context)) ?? (await readText(file, input, context))
}

async function readCells(file: OpenFile, input: Input, context: ToolContext): Promise<ToolOutput | undefined> {
  if (!file.real.endsWith(".ipynb")) return undefined
  const bytes = await readWhole(file, NOTEBOOK_BYTES)
  const notebook = parseNotebook(bytes.toString("utf8"))
  if (notebook === undefined) return undefined
  const { content, first, last } = renderNotebook(notebook, input)
  const stamp = stampOf(file.stats, bytes)
  noteRead(context, file.real, { stamp, first, last, isEnd: last >= notebook.cells.length })
  return { content, data: { path: file.real, first, last, cells: notebook.cells.length } }
}

async function readText(file: OpenFile, input: Input, context: ToolContext): Promise<ToolOutput> {
  const { offset, limit } = input
  const { text, content, ...page } = await readPage(file, { offset, limit, signal: context.signal })
  noteRead(context, file.real, page)
  if (content !== undefined) keepContent(page.stamp, content)
  const { first, last, lines } = page
  return { content: text, data: { path: file.real, first, last, ...(lines === undefined ? {} : { lines }) } }
}
