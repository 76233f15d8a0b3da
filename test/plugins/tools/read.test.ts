import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { readTool } from "../../../plugins/tools/read.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

const path = (name: string) => join(context.cwd, name)
const put = (name: string, content: string | Uint8Array) => writeFileSync(path(name), content)
const read = (file_path: string, more: object = {}) => runTool(readTool, { file_path, ...more }, context)

describe("Read of text", () => {
  test("numbers lines, and takes absolute and relative paths", async () => {
    put("a.txt", "one\n\nthree\n")
    expect((await read("a.txt")).text).toBe("1\tone\n2\t\n3\tthree\n")
    expect((await read(path("a.txt"))).text).toBe("1\tone\n2\t\n3\tthree\n")
  })

  test("shows a last line without an end", async () => {
    put("a.txt", "one\ntwo")
    const { text, data } = await read("a.txt")
    expect(text).toBe("1\tone\n2\ttwo\n")
    expect(data).toMatchObject({ first: 1, last: 2, lines: 2 })
  })

  test("pages with offset and limit and says how to go on", async () => {
    put("a.txt", Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join(""))
    const { text } = await read("a.txt", { offset: 4, limit: 2 })
    expect(text).toBe("4\tline 4\n5\tline 5\n\n(lines 4 to 5 of 10; read on with offset 6)")
  })

  test("ends a page after 2,000 lines", async () => {
    put("a.txt", "x\n".repeat(2001))
    const { text, data } = await read("a.txt")
    expect(data).toMatchObject({ first: 1, last: 2000, lines: 2001 })
    expect(text).toContain("(lines 1 to 2000 of 2001; read on with offset 2001)")
  })

  test("ends a page before it grows beyond 60,000 characters", async () => {
    put("a.txt", `${"y".repeat(1000)}\n`.repeat(100))
    const { text, data } = await read("a.txt")
    expect(data.last).toBe(59)
    expect(text.length).toBeLessThan(61_000)
  })

  test("cuts long lines, between characters, and tells how long they are", async () => {
    put("a.txt", `${"x".repeat(1999)}😀${"y".repeat(3000)}\nnext\n`)
    const [line, next] = (await read("a.txt")).text.split("\n")
    expect(line).toBe(`1\t${"x".repeat(1999)} … (cut: the line has 5,001 characters)`)
    expect(next).toBe("2\tnext")
  })

  test("leaves out carriage returns and byte order marks, and decodes UTF-16", async () => {
    put("crlf.txt", "\ufeffone\r\ntwo\r\n")
    put("utf16.txt", Buffer.from("\ufeffgrün\r\nzwei\r\n", "utf16le"))
    expect((await read("crlf.txt")).text).toBe("1\tone\n2\ttwo\n")
    expect((await read("utf16.txt")).text).toBe("1\tgrün\n2\tzwei\n")
  })

  test("says that a file is empty, and that an offset is past the end", async () => {
    put("empty.txt", "")
    put("a.txt", "one\n")
    expect((await read("empty.txt")).text).toBe("(the file is empty)")
    expect((await read("a.txt", { offset: 5 })).text).toBe("(offset 5 is past the end: the file has 1 line)")
  })

  test("reads one page of a file of 80 MB without holding it", async () => {
    put("large.txt", Buffer.alloc(80_000_000, `${"z".repeat(99)}\n`))
    const before = process.memoryUsage().rss
    const { text, data } = await read("large.txt", { limit: 1 })
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20)
    expect(text).toContain("(lines 1 to 1; read on with offset 2)")
    expect(data.lines).toBeUndefined()
  })

  test("holds little of a file that is one long line", async () => {
    put("one-line.json", Buffer.alloc(30_000_000, "z"))
    const { text } = await read("one-line.json")
    expect(text).toMatch(/^1\tz{2000} … \(cut: the line has 30,000,000 characters\)\n$/)
  })
})

describe("Read refuses", () => {
  const refused = async (name: string) => {
    const { text, isError } = await read(name)
    expect(isError).toBe(true)
    return text
  }

  test("what is missing, and names the nearest file", async () => {
    put("readme.md", "x")
    expect(await refused("raedme.md")).toContain(`did you mean "${path("readme.md")}"?`)
    expect(await refused("nothing-like-it")).toContain("look for it with Glob")
    expect(await refused("no-folder/a.txt")).toContain("nor does its folder")
  })

  test("a folder", async () => {
    mkdirSync(path("folder"))
    expect(await refused("folder")).toContain("list it with Glob")
  })

  test("binary content", async () => {
    put("a.bin", Buffer.from([1, 2, 0, 3]))
    expect(await refused("a.bin")).toContain("is not text")
  })

  test("a pipe, without waiting for its writer", async () => {
    execFileSync("mkfifo", [path("pipe")])
    expect(await refused("pipe")).toContain("device, pipe or socket")
  })

  test("devices and what the kernel makes up, also through a link", async () => {
    symlinkSync("/dev/zero", path("zero"))
    for (const name of ["/dev/zero", "/dev/stdin", "/proc/self/environ", "zero"]) {
      expect(await refused(name)).toContain("belongs to the system")
    }
  })

  test("a path that is no path", async () => {
    expect(await refused("a\0b")).toContain("the path is not valid")
  })

  test("a folder that is a file", async () => {
    put("a.txt", "x")
    expect(await refused("a.txt/b")).toContain("a part of the path is a file")
  })
})

describe("Read and links", () => {
  test("follows a link", async () => {
    put("a.txt", "target\n")
    symlinkSync(path("a.txt"), path("link.txt"))
    expect((await read("link.txt")).text).toBe("1\ttarget\n")
  })

  test("opens what was judged, although the link was swapped since", async () => {
    put("a.txt", "judged\n")
    put("secret.txt", "secret\n")
    symlinkSync(path("secret.txt"), path("link.txt"))
    const judged = new Map([["link.txt", { lexical: path("link.txt"), real: path("a.txt") }]])
    const { text } = await runTool(readTool, { file_path: "link.txt" }, { ...context, judged })
    expect(text).toBe("1\tjudged\n")
  })

  test("refuses when the judged file itself or its folder has become a link", async () => {
    mkdirSync(path("open"))
    mkdirSync(path("hidden"))
    put("hidden/a.txt", "secret\n")
    symlinkSync(path("hidden/a.txt"), path("open/a.txt"))
    const judged = new Map([["open/a.txt", { lexical: path("open/a.txt"), real: path("open/a.txt") }]])
    const file = await runTool(readTool, { file_path: "open/a.txt" }, { ...context, judged })
    renameSync(path("open"), path("old"))
    symlinkSync(path("hidden"), path("open"))
    const folder = await runTool(readTool, { file_path: "open/a.txt" }, { ...context, judged })
    for (const { text, isError } of [file, folder]) {
      expect(isError).toBe(true)
      expect(text).toContain("was changed by somebody else")
    }
  })
})

describe("Read of images, documents and notebooks", () => {
  const PNG = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  )

  test("returns an image by its first bytes, whatever its name", async () => {
    put("picture.txt", PNG)
    const { output } = await read("picture.txt")
    const source = { type: "base64", media_type: "image/png", data: PNG.toString("base64") }
    expect(output.content).toEqual([{ type: "image", source }])
  })

  test.each([
    ["image/jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0])],
    ["image/gif", Buffer.from("GIF89a\0")],
    ["image/webp", Buffer.from("RIFF\0\0\0\0WEBPVP8 ")],
    ["application/pdf", Buffer.from("%PDF-1.7\n\0")],
  ])("knows %s", async (type, bytes) => {
    put("a", bytes)
    const [block] = (await read("a")).output.content as { type: string; source: { media_type: string } }[]
    expect(block?.source.media_type).toBe(type)
    expect(block?.type).toBe(type === "application/pdf" ? "document" : "image")
  })

  test("refuses what the API would refuse for its size", async () => {
    put("a.png", PNG)
    truncateSync(path("a.png"), 4_000_000)
    put("a.pdf", "%PDF-1.7\n")
    truncateSync(path("a.pdf"), 16_000_000)
    expect((await read("a.png")).text).toContain("has 4 MB, more than the 3.8 MB that can be shown")
    expect((await read("a.pdf")).text).toContain("take out the pages you need")
  })

  const notebook = (cells: object[]) => JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 })

  test("shows the cells of a notebook with ids, outputs and images", async () => {
    const outputs = [
      { output_type: "stream", name: "stdout", text: ["1\n", "2\n"] },
      { output_type: "display_data", data: { "image/png": PNG.toString("base64") }, metadata: {} },
      { output_type: "error", ename: "ValueError", evalue: "no", traceback: [] },
    ]
    const code = { id: "c1", cell_type: "code", source: ["print(1)\n", "print(2)"], outputs }
    put("a.ipynb", notebook([{ id: "m1", cell_type: "markdown", source: "# Title" }, code]))
    const { text, output } = await read("a.ipynb")
    expect(text).toBe(
      '<cell id="m1" type="markdown">\n# Title\n</cell>\n' +
        '<cell id="c1" type="code">\nprint(1)\nprint(2)\n</cell>\n<output>\n1\n2\n\nValueError: no\n</output>\n',
    )
    expect(output.content).toHaveLength(2)
  })

  test("pages a notebook by cells", async () => {
    put("a.ipynb", notebook(Array.from({ length: 5 }, (_, i) => ({ cell_type: "raw", source: `s${i}` }))))
    const { text } = await read("a.ipynb", { offset: 2, limit: 2 })
    expect(text).toContain('<cell id="cell-1" type="raw">\ns1')
    expect(text).toContain("(cells 2 to 3 of 5; read on with offset 4)")
    expect(text).not.toContain("s3")
  })

  test("shows a notebook that is no JSON as text", async () => {
    put("a.ipynb", "{ torn")
    expect((await read("a.ipynb")).text).toBe("1\t{ torn\n")
  })
})
