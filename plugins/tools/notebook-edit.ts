/**
 * NotebookEdit: one cell of a Jupyter notebook → replaced, inserted or deleted.
 *
 * Invariant: only the text of that cell changes in the file; the rest of the JSON keeps its bytes.
 */
import { defineTool, suggest, type ToolContext, z } from "sous"
import { readWhole, replaceFile, stampOf, withFile } from "./file.ts"
import { checkRead, noteEdited } from "./ledger.ts"
import { type Cell, cellId, type Notebook, parseNotebook } from "./notebook.ts"
import { answering, Refused } from "./refusal.ts"

const NOTEBOOK_BYTES = 50_000_000

const input = z.strictObject({
  notebook_path: z.string().min(1),
  cell_id: z.string().optional().describe("As Read shows it; insert: goes after it (none: at the start)"),
  new_source: z.string(),
  cell_type: z.enum(["code", "markdown"]).optional().describe("Required for insert"),
  edit_mode: z.enum(["replace", "insert", "delete"]).optional().describe("Default replace"),
})
type Input = z.output<typeof input>

/** Changes one cell. */
export const notebookEditTool = defineTool({
  name: "NotebookEdit",
  description: "Replace, insert or delete one cell of a Jupyter notebook that you have Read.",
  input,
  ruleName: "Edit",
  targets: ({ notebook_path }) => [{ kind: "path", access: "write", path: notebook_path }],
  execute: answering(async (input: Input, context) => {
    const path = input.notebook_path
    const { file, text, notebook } = await openNotebook(path, context)
    const changes = changesOf(notebook, input)
    const edited = Buffer.from(await applyChanges(text, changes))
    const stats = await replaceFile({ path, real: file.real, before: file.stats }, edited)
    noteEdited(context, file.real, stampOf(stats, edited))
    const mode = input.edit_mode ?? "replace"
    const cell = changes.cell
    return { content: `Cell "${cell}" of "${path}": ${mode} done`, data: { path: file.real, cell, mode } }
  }),
})

async function openNotebook(path: string, context: ToolContext) {
  if (!path.endsWith(".ipynb")) throw new Refused(`"${path}" is no notebook (.ipynb): change it with Edit`)
  return await withFile(path, context, async (file) => {
    const bytes = await readWhole(file, NOTEBOOK_BYTES)
    checkRead(context, { path, real: file.real, stamp: stampOf(file.stats, bytes) })
    const text = bytes.toString("utf8")
    const notebook = parseNotebook(text)
    if (notebook === undefined) throw new Refused(`"${path}" is not valid JSON of nbformat 4: mend it with Edit`)
    return { file, text, notebook }
  })
}

/** What to set (undefined: remove) where in the JSON, in order; `cell` is the id of the cell that it is about. */
interface Changes {
  cell: string
  set: { path: (string | number)[]; value: unknown; insert?: true }[]
}

function changesOf(notebook: Notebook, input: Input): Changes {
  if (input.edit_mode === "insert") return insertion(notebook, input)
  if (input.cell_id === undefined) throw new Refused("cell_id is missing: name the cell, as Read shows it")
  const index = indexOfCell(notebook, input.cell_id)
  if (input.edit_mode === "delete") return { cell: input.cell_id, set: [{ path: ["cells", index], value: undefined }] }
  return { cell: input.cell_id, set: replacement(notebook.cells[index]!, index, input) }
}

function insertion(notebook: Notebook, input: Input): Changes {
  if (input.cell_type === undefined) throw new Refused("cell_type is missing: an insert needs code or markdown")
  const index = input.cell_id === undefined ? 0 : indexOfCell(notebook, input.cell_id) + 1
  const hasIds = (notebook.nbformat_minor ?? 0) >= 5
  const cell: Record<string, unknown> & Pick<Cell, "cell_type"> = {
    ...(hasIds ? { id: globalThis.crypto.randomUUID().slice(0, 8) } : {}),
    cell_type: input.cell_type,
    metadata: {},
    source: splitLines(input.new_source),
    ...(input.cell_type === "code" ? { outputs: [], execution_count: null } : {}),
  }
  return { cell: cellId(cell as unknown as Cell, index), set: [{ path: ["cells", index], value: cell, insert: true }] }
}

/** A code cell loses what its old source had put out. */
function replacement(cell: Cell, index: number, input: Input): Changes["set"] {
  const type = input.cell_type ?? cell.cell_type
  const set: Changes["set"] = [{ path: ["cells", index, "source"], value: splitLines(input.new_source) }]
  if (type !== cell.cell_type) set.push({ path: ["cells", index, "cell_type"], value: type })
  const run = type === "code" ? { outputs: [], execution_count: null } : {}
  for (const key of ["outputs", "execution_count"] as const) {
    const value = (run as Record<string, unknown>)[key]
    if (value !== undefined || key in cell) set.push({ path: ["cells", index, key], value })
  }
  return set
}

function indexOfCell(notebook: Notebook, id: string): number {
  const ids = notebook.cells.map(cellId)
  const index = ids.indexOf(id)
  if (index === -1) throw new Refused(`There is no cell "${id}": ${suggest(id, ids)}`)
  return index
}

async function applyChanges(text: string, changes: Changes): Promise<string> {
  // Loaded late: few runs edit notebooks.
  const { applyEdits, modify } = await import("jsonc-parser")
  // nbformat writes one space per level.
  const formattingOptions = { insertSpaces: true, tabSize: 1, eol: text.includes("\r\n") ? "\r\n" : "\n" }
  return changes.set.reduce((json, { path, value, insert }) => {
    return applyEdits(json, modify(json, path, value, { formattingOptions, isArrayInsertion: insert === true }))
  }, text)
}

/** As nbformat stores text: a list of lines that keep their ends. */
function splitLines(source: string): string[] {
  return source.match(/[^\n]*\n|[^\n]+$/g) ?? []
}
