import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { editTool } from "../../../plugins/tools/edit.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

const path = (name: string) => join(context.cwd, name)
const content = (name: string) => readFileSync(path(name), "utf8")
const put = (name: string, text: string | Uint8Array) => writeFileSync(path(name), text)
const read = (file_path: string, more: object = {}) => runTool(readTool, { file_path, ...more }, context)

async function putRead(name: string, text: string | Uint8Array): Promise<void> {
  put(name, text)
  await read(name)
}

function edit(file_path: string, old_string: string, new_string: string, more: object = {}) {
  return runTool(editTool, { file_path, old_string, new_string, ...more }, context)
}

describe("Edit replaces", () => {
  test("exact text, and tells the line", async () => {
    await putRead("a.txt", "one\ntwo\nthree\n")
    const { text, isError, data } = await edit("a.txt", "two\nthree", "2\n3")
    expect(isError).toBe(false)
    expect(text).toBe('Edited "a.txt" at line 2')
    expect(data).toEqual({ path: path("a.txt"), replacements: 1, lines: [2] })
    expect(content("a.txt")).toBe("one\n2\n3\n")
  })

  test("text that looks like a replacement pattern, as it is", async () => {
    await putRead("a.txt", "price")
    await edit("a.txt", "price", "$& $1 $$")
    expect(content("a.txt")).toBe("$& $1 $$")
  })

  test("every occurrence with replace_all", async () => {
    await putRead("a.txt", "x\nx x\n")
    const { text } = await edit("a.txt", "x", "yy", { replace_all: true })
    expect(text).toBe('Edited "a.txt" in 3 places')
    expect(content("a.txt")).toBe("yy\nyy yy\n")
  })

  test("several times in a row, without reading again", async () => {
    await putRead("a.txt", "one two")
    await edit("a.txt", "one", "1")
    expect((await edit("a.txt", "two", "2")).isError).toBe(false)
    expect(content("a.txt")).toBe("1 2")
  })

  test("text of a file that was read only in part", async () => {
    put("a.txt", "one\ntwo\nthree\n")
    await read("a.txt", { offset: 2, limit: 1 })
    expect((await edit("a.txt", "two", "2")).isError).toBe(false)
  })

  test("without having read, for a recipe", async () => {
    put("a.txt", "one")
    const recipe = { ...context, caller: "recipe" as const }
    const input = { file_path: "a.txt", old_string: "one", new_string: "1" }
    expect((await runTool(editTool, input, recipe)).isError).toBe(false)
  })
})

describe("Edit refuses", () => {
  async function refused(old_string: string, new_string: string, more: object = {}): Promise<string> {
    const before = content("a.txt")
    const { text, isError } = await edit("a.txt", old_string, new_string, more)
    expect(isError).toBe(true)
    expect(content("a.txt")).toBe(before)
    return text
  }

  test("a file that was not read", async () => {
    put("a.txt", "one")
    expect(await refused("one", "1")).toContain('"a.txt" has not been read yet: Read it first')
  })

  test("a file that changed since, also within one tick of the clock and to the same size", async () => {
    await putRead("a.txt", "one")
    const { atime, mtime } = statSync(path("a.txt"))
    put("a.txt", "two")
    utimesSync(path("a.txt"), atime, mtime)
    expect(await refused("two", "2")).toContain("has changed on disk since it was last read: Read it again")
  })

  test("not a file that was only touched", async () => {
    await putRead("a.txt", "one")
    utimesSync(path("a.txt"), 1, 1)
    expect((await edit("a.txt", "one", "1")).isError).toBe(false)
  })

  test("text that is missing, and says where to look", async () => {
    await putRead("a.txt", "if (x) {\n\treturn 1\n}\n")
    expect(await refused("nowhere", "x")).toContain("Read the file and copy the text exactly")
    expect(await refused("if (x) {\n  return 1", "x")).toContain("Its first line stands at line 1")
    expect(await refused("1\tif (x) {", "x")).toContain("leave out the line numbers")
  })

  test("text that is not unique, and says how often it occurs", async () => {
    await putRead("a.txt", "x\ny\nx\n")
    const text = await refused("x", "z")
    expect(text).toContain('old_string occurs 2 times in "a.txt" (lines 1, 3)')
    expect(text).toContain("replace_all")
  })

  test("strings that change nothing, and an empty one", async () => {
    await putRead("a.txt", "x")
    expect(await refused("x", "x")).toContain("are the same")
    expect(await refused("", "x")).toContain("old_string is empty")
  })

  test("a read-only file", async () => {
    await putRead("a.txt", "one")
    chmodSync(path("a.txt"), 0o444)
    expect(await refused("one", "1")).toContain("is read-only")
  })

  test("what is missing, a folder, and what is too large", async () => {
    mkdirSync(path("folder"))
    put("large.txt", "x")
    truncateSync(path("large.txt"), 65_000_000)
    for (const name of ["none.txt", "folder", "large.txt"]) {
      expect((await edit(name, "a", "b")).isError).toBe(true)
    }
  })
})

describe("Edit keeps", () => {
  test("CRLF line endings, in what stays and in what is new", async () => {
    await putRead("a.txt", "one\r\ntwo\r\nthree\r\n")
    await edit("a.txt", "one\ntwo", "1\n1.5\n2")
    expect(content("a.txt")).toBe("1\r\n1.5\r\n2\r\nthree\r\n")
    await edit("a.txt", "three", "3\n4")
    expect(content("a.txt")).toBe("1\r\n1.5\r\n2\r\n3\r\n4\r\n")
  })

  test("each line ending of a file that mixes them", async () => {
    await putRead("a.txt", "one\r\ntwo\nthree\r\n")
    await edit("a.txt", "two\nthree", "2\n3")
    expect(content("a.txt")).toBe("one\r\n2\n3\r\n")
  })

  test("a byte order mark, UTF-16, and bytes that are no UTF-8", async () => {
    await putRead("bom.txt", "\ufeffone\n")
    await putRead("utf16.txt", Buffer.from("\ufeffone\r\ntwo\r\n", "utf16le"))
    await putRead("latin1.txt", Buffer.from("caf\xe9 one\n", "latin1"))
    await edit("bom.txt", "one", "1")
    await edit("utf16.txt", "one\ntwo", "1\n2 ü")
    await edit("latin1.txt", "one", "1")
    expect(content("bom.txt")).toBe("\ufeff1\n")
    expect(readFileSync(path("utf16.txt"))).toEqual(Buffer.from("\ufeff1\r\n2 ü\r\n", "utf16le"))
    expect(readFileSync(path("latin1.txt"), "latin1")).toBe("caf\xe9 1\n")
  })

  test("the mode of the file", async () => {
    await putRead("run.sh", "one")
    chmodSync(path("run.sh"), 0o751)
    await edit("run.sh", "one", "1")
    expect(statSync(path("run.sh")).mode & 0o777).toBe(0o751)
  })

  test("a link, and changes the file that it leads to", async () => {
    mkdirSync(path("real"))
    put("real/a.txt", "one")
    symlinkSync("real/a.txt", path("link.txt"))
    await read("link.txt")
    await edit("link.txt", "one", "1")
    expect(lstatSync(path("link.txt")).isSymbolicLink()).toBe(true)
    expect(content("real/a.txt")).toBe("1")
  })

  test("nothing beside the file, and the file itself by another inode (one move, never half written)", async () => {
    await putRead("a.txt", "one")
    const before = statSync(path("a.txt")).ino
    await edit("a.txt", "one", "1")
    expect(statSync(path("a.txt")).ino).not.toBe(before)
    expect(readdirSync(context.cwd)).toEqual(["a.txt"])
  })
})
