/**
 * A Jupyter notebook → its cells (nbformat 4), and cells → blocks for the model.
 *
 * Invariant: what is not understood is not guessed: a file that is no notebook of version 4 is undefined here.
 */
import type { ToolResultContent } from "sous"
import { imageBlockWithin } from "./media.ts"
import { count, headOf } from "./text.ts"

export interface Notebook {
  nbformat: number
  nbformat_minor?: number
  cells: Cell[]
}
export interface Cell {
  /** Since nbformat 4.5. */
  id?: string
  cell_type: "code" | "markdown" | "raw"
  source: string | string[]
  outputs?: Output[]
}
interface Output {
  output_type: string
  text?: string | string[]
  data?: Record<string, unknown>
  ename?: string
  evalue?: string
  traceback?: string[]
}

/** Characters of one output, and of all cells together. */
const OUTPUT_CHARS = 5000
const NOTEBOOK_CHARS = 60_000

type Block = Exclude<ToolResultContent, string>[number]

/** Parses a notebook; undefined when the text is none. */
export function parseNotebook(text: string): Notebook | undefined {
  try {
    const found = JSON.parse(text) as Partial<Notebook> | null
    return found?.nbformat === 4 && Array.isArray(found.cells) ? (found as Notebook) : undefined
  } catch {
    return undefined
  }
}

/** The name by which a cell is edited: its id or, in notebooks without ids, `cell-N` (from 0). */
export function cellId(cell: Cell, index: number): string {
  return cell.id ?? `cell-${index}`
}

/** Cells `offset` (from 1) and on, as blocks; `last` is the last one shown. */
export function renderNotebook(
  notebook: Notebook,
  page: { offset?: number | undefined; limit?: number | undefined },
): { content: ToolResultContent; first: number; last: number } {
  const first = page.offset ?? 1
  const blocks: Block[] = []
  let text = ""
  let last = first - 1
  for (const [index, cell] of notebook.cells.entries()) {
    if (index + 1 < first || last - first + 1 >= (page.limit ?? Number.POSITIVE_INFINITY)) continue
    const rendered = renderCell(cell, index)
    if (last >= first && text.length + rendered.length > NOTEBOOK_CHARS) break
    text += rendered
    last = index + 1
    blocks.push(...imagesOf(cell))
  }
  text += noteOf(first, last, notebook.cells.length)
  return { content: blocks.length === 0 ? text : [{ type: "text", text }, ...blocks], first, last }
}

/** A string, or the list of lines that nbformat writes for one. */
export function joinLines(source: unknown): string {
  return Array.isArray(source) ? source.join("") : String(source ?? "")
}

function renderCell(cell: Cell, index: number): string {
  const outputs = (cell.outputs ?? []).map(renderOutput).filter((output) => output !== "")
  const result = outputs.length === 0 ? "" : `\n<output>\n${outputs.join("\n")}\n</output>`
  return `<cell id="${cellId(cell, index)}" type="${cell.cell_type}">\n${joinLines(cell.source)}\n</cell>${result}\n`
}

function renderOutput(output: Output): string {
  const error = output.ename === undefined ? "" : `${output.ename}: ${output.evalue ?? ""}`
  const text = joinLines(output.text ?? output.data?.["text/plain"]) || error
  const isCut = text.length > OUTPUT_CHARS
  return isCut ? `${headOf(text, OUTPUT_CHARS)} … (cut: the output has ${count(text.length, "character")})` : text
}

function imagesOf(cell: Cell): Block[] {
  const images = (cell.outputs ?? []).map((output) => joinLines(output.data?.["image/png"]).replace(/\s/g, ""))
  return images.flatMap((data) => (data === "" ? [] : (imageBlockWithin("image/png", data) ?? [])))
}

function noteOf(first: number, last: number, total: number): string {
  if (total === 0) return "(the notebook has no cells)"
  if (first > total) return `(offset ${first} is past the end: the notebook has ${count(total, "cell")})`
  return last >= total ? "" : `\n(cells ${first} to ${last} of ${total}; read on with offset ${last + 1})`
}
