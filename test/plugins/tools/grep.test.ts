import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { grepTool } from "../../../plugins/tools/grep.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

const ripgrep = vi.hoisted(() => ({ isMissing: false }))
vi.mock("@vscode/ripgrep", async (original) => {
  const { rgPath } = await original<typeof import("@vscode/ripgrep")>()
  return {
    get rgPath() {
      return ripgrep.isMissing ? "/nowhere/rg" : rgPath
    },
  }
})

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => {
  ripgrep.isMissing = false
  return context.release()
})

function put(name: string, content: string): void {
  const path = join(context.cwd, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
const grep = (pattern: string, more: object = {}) => runTool(grepTool, { pattern, ...more }, context)
const content = (pattern: string, more: object = {}) => grep(pattern, { output_mode: "content", ...more })

describe("Grep", () => {
  test("lists the files that match, by path", async () => {
    put("b.ts", "needle")
    put("a/c.ts", "needle needle")
    put("d.ts", "hay")
    expect((await grep("need.e")).text).toBe("a/c.ts\nb.ts")
  })

  test("shows lines with numbers and context", async () => {
    put("a.ts", "one\ntwo\nthree\nfour\nfive\n")
    expect((await content("three")).text).toBe("a.ts:3:three")
    expect((await content("three", { "-n": false })).text).toBe("a.ts:three")
    expect((await content("three", { "-A": 1, "-B": 1 })).text).toBe("a.ts-2-two\na.ts:3:three\na.ts-4-four")
    expect((await content("one|five", { "-C": 1 })).text).toBe("a.ts:1:one\na.ts-2-two\n--\na.ts-4-four\na.ts:5:five")
  })

  test("counts matching lines", async () => {
    put("a.ts", "x\nx\n")
    put("b.ts", "x\n")
    expect((await grep("x", { output_mode: "count" })).text).toBe("a.ts:2\nb.ts:1")
  })

  test("narrows by glob, type and path, and ignores case", async () => {
    put("a.ts", "Needle")
    put("b.js", "Needle")
    put("src/c.ts", "Needle")
    expect((await grep("needle")).text).toBe("No matches.")
    expect((await grep("needle", { "-i": true, glob: "*.ts" })).text).toBe("a.ts\nsrc/c.ts")
    expect((await grep("Needle", { type: "js" })).text).toBe("b.js")
    expect((await grep("Needle", { path: "src" })).text).toBe("src/c.ts")
    expect((await content("Needle", { path: join(context.cwd, "b.js") })).text).toBe("b.js:1:Needle")
  })

  test("lets a pattern span lines", async () => {
    put("a.ts", "begin\nend\n")
    expect((await grep("begin.end")).text).toBe("No matches.")
    expect((await content("begin.end", { multiline: true })).text).toBe("a.ts:1:begin\na.ts:2:end")
  })

  test("pages with head_limit and offset", async () => {
    put("a.ts", Array.from({ length: 300 }, (_, i) => `x${i}\n`).join(""))
    const first = await content("x")
    expect(first.text).toContain("(results 1 to 250, more follow: narrow the search, or go on with offset 250)")
    expect(first.data).toMatchObject({ results: 250, truncated: true })
    expect((await content("x", { offset: 298 })).text).toBe("a.ts:299:x298\na.ts:300:x299")
    expect((await content("x", { head_limit: 1 })).text).toContain("a.ts:1:x0\n\n(results 1 to 1")
    expect((await content("x", { head_limit: 0 })).data).toMatchObject({ results: 300, truncated: false })
    expect((await content("x", { offset: 500 })).text).toContain("past the last of 300 results")
  })

  test("bounds what it returns: long lines, and everything together", async () => {
    put("long.ts", `${"x".repeat(100_000)}\n`.repeat(100))
    const { text } = await content("x", { head_limit: 0 })
    expect(text.length).toBeLessThan(30_000)
    expect(text).toContain("more follow")
    for (const line of text.split("\n")) expect(line.length).toBeLessThan(700)
  })

  test("ends a search whose page is full long before it has read everything", async () => {
    put("large.txt", "match\n".repeat(5_000_000))
    const started = performance.now()
    expect((await content("match", { head_limit: 1 })).data.results).toBe(1)
    expect(performance.now() - started).toBeLessThan(1500)
  })

  test("respects .gitignore, finds hidden files, leaves .git out", async () => {
    mkdirSync(join(context.cwd, ".git"))
    put(".git/config", "needle")
    put(".gitignore", "dist\n")
    put("dist/a.ts", "needle")
    put(".github/b.yml", "needle")
    expect((await grep("needle")).text).toBe(".github/b.yml")
  })

  test("takes a pattern that looks like an option", async () => {
    put("a.ts", "--files\n")
    expect((await grep("--files")).text).toBe("a.ts")
  })

  test("tells what ripgrep found wrong with the pattern or the type", async () => {
    expect((await grep("(")).text).toMatch(/^ripgrep cannot do this search: .*regex parse error/s)
    expect((await grep("x", { type: "klingon" })).text).toContain("unrecognized file type: klingon")
  })

  test("reads no configuration of ripgrep", async () => {
    put("a.ts", "needle")
    put("rc", "--glob=!*.ts\n")
    const env = { ...context.env, RIPGREP_CONFIG_PATH: join(context.cwd, "rc") }
    const { text } = await runTool(grepTool, { pattern: "need" }, { ...context, env })
    expect(text).toBe("a.ts")
  })

  test("searches what was judged, and no device", async () => {
    put("open/a.ts", "needle")
    put("hidden/b.ts", "needle")
    symlinkSync(join(context.cwd, "hidden"), join(context.cwd, "link"))
    const judged = new Map([["link", { lexical: join(context.cwd, "link"), real: join(context.cwd, "open") }]])
    const { text } = await runTool(grepTool, { pattern: "needle", path: "link" }, { ...context, judged })
    expect(text).toBe("link/a.ts")
    expect((await grep("x", { path: "/dev/zero" })).text).toContain("belongs to the system")
    expect((await grep("x", { path: "gone" })).text).toContain("does not exist")
  })

  test("ends in the middle when the run is aborted", async () => {
    put("large.txt", "x".repeat(50_000_000))
    const controller = new AbortController()
    const search = runTool(grepTool, { pattern: "(a|b|x){30}y" }, { ...context, signal: controller.signal })
    setImmediate(() => controller.abort(new Error("stopped")))
    await expect(search).rejects.toThrow("stopped")
  })
})

describe("Grep without the packaged ripgrep", () => {
  test("takes the one on PATH", async () => {
    ripgrep.isMissing = true
    put("bin/rg", "#!/bin/sh\nprintf 'found.ts\\0'\n")
    chmodSync(join(context.cwd, "bin/rg"), 0o755)
    const env = { PATH: `${join(context.cwd, "bin")}:/bin:/usr/bin` }
    const { text } = await runTool(grepTool, { pattern: "x" }, { ...context, env })
    expect(text).toBe("found.ts")
  })

  test("says so when there is none", async () => {
    ripgrep.isMissing = true
    const { text, isError } = await runTool(grepTool, { pattern: "x" }, { ...context, env: { PATH: "/nowhere" } })
    expect(isError).toBe(true)
    expect(text).toContain("there is no ripgrep")
    expect(text).toContain("Use a shell command")
  })
})
