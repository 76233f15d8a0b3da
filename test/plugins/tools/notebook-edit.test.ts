import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { notebookEditTool } from "../../../plugins/tools/notebook-edit.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

/** As Jupyter writes it, with a number that JSON.stringify would write in another way. */
const NOTEBOOK = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "title",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"scale": 1.0},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "2"
     ]
    }
   ],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

const file = () => join(context.cwd, "a.ipynb")
const text = () => readFileSync(file(), "utf8")
const cells = () => JSON.parse(text()).cells
const edit = (more: object) => runTool(notebookEditTool, { notebook_path: "a.ipynb", new_source: "", ...more }, context)

async function putRead(content = NOTEBOOK): Promise<void> {
  writeFileSync(file(), content)
  await runTool(readTool, { file_path: "a.ipynb" }, context)
}

describe("NotebookEdit", () => {
  test("replaces the source of a cell and drops what the old one put out; the rest keeps its bytes", async () => {
    await putRead()
    expect((await edit({ cell_id: "sum", new_source: "x = 1\nx + 2" })).isError).toBe(false)
    expect(cells()[1]).toMatchObject({ id: "sum", source: ["x = 1\n", "x + 2"], outputs: [], execution_count: null })
    expect(text()).toContain('"metadata": {"scale": 1.0}')
    expect(text().slice(0, text().indexOf('"execution_count"'))).toBe(
      NOTEBOOK.slice(0, NOTEBOOK.indexOf('"execution_count"')),
    )
  })

  test("turns a code cell into a markdown cell, without what only code has", async () => {
    await putRead()
    await edit({ cell_id: "sum", new_source: "text", cell_type: "markdown" })
    expect(cells()[1]).toEqual({ cell_type: "markdown", id: "sum", metadata: { scale: 1.0 }, source: ["text"] })
  })

  test("inserts after a cell, and at the start, with ids of its own", async () => {
    await putRead()
    await edit({ edit_mode: "insert", cell_type: "code", cell_id: "title", new_source: "second" })
    await edit({ edit_mode: "insert", cell_type: "markdown", new_source: "first" })
    expect(cells().map((cell: { source: string[] }) => cell.source.join(""))).toEqual([
      "first",
      "# Title",
      "second",
      "1 + 1",
    ])
    expect(new Set(cells().map((cell: { id: string }) => cell.id)).size).toBe(4)
    expect(cells()[2]).toMatchObject({ outputs: [], execution_count: null, metadata: {} })
  })

  test("deletes a cell", async () => {
    await putRead()
    const { data } = await edit({ edit_mode: "delete", cell_id: "title" })
    expect(data).toMatchObject({ cell: "title", mode: "delete" })
    expect(cells()).toHaveLength(1)
    expect(cells()[0].id).toBe("sum")
  })

  test("names cells without ids by their number", async () => {
    await putRead(NOTEBOOK.replace(/^ +"id".*\n/gm, "").replace('"nbformat_minor": 5', '"nbformat_minor": 4'))
    await edit({ cell_id: "cell-1", new_source: "new" })
    await edit({ edit_mode: "insert", cell_type: "markdown", cell_id: "cell-1", new_source: "last" })
    expect(cells()[1].source).toEqual(["new"])
    expect(cells()[2]).toEqual({ cell_type: "markdown", metadata: {}, source: ["last"] })
  })

  test("refuses what it cannot do, and changes nothing", async () => {
    writeFileSync(file(), NOTEBOOK)
    expect((await edit({ cell_id: "sum" })).text).toContain("has not been read yet")
    await putRead()
    expect((await edit({ cell_id: "som" })).text).toBe('There is no cell "som": write "sum"')
    expect((await edit({})).text).toContain("cell_id is missing")
    expect((await edit({ edit_mode: "insert" })).text).toContain("cell_type is missing")
    expect((await edit({ notebook_path: "a.txt", cell_id: "x" })).text).toContain("is no notebook")
    expect(text()).toBe(NOTEBOOK)
    await putRead("{ torn")
    expect((await edit({ cell_id: "sum" })).text).toContain("is not valid JSON")
  })
})
