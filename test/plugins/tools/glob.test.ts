import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { globTool } from "../../../plugins/tools/glob.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

let clock = 1_000_000
/** Each file is newer than the one before. */
function put(...names: string[]): void {
  for (const name of names) {
    const path = join(context.cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, "")
    utimesSync(path, clock, clock++)
  }
}
const glob = (pattern: string, path?: string) => runTool(globTool, { pattern, ...(path ? { path } : {}) }, context)
const filesOf = async (pattern: string, path?: string) => (await glob(pattern, path)).text.split("\n")

describe("Glob", () => {
  test("lists matching files, newest first", async () => {
    put("old.ts", "src/new.ts", "src/deep/newest.ts", "other.js")
    expect(await filesOf("**/*.ts")).toEqual(["src/deep/newest.ts", "src/new.ts", "old.ts"])
  })

  test("takes braces, sub-folders and, without a slash, any depth", async () => {
    put("a.ts", "src/b.tsx", "src/deep/c.ts")
    expect(await filesOf("src/*.{ts,tsx}")).toEqual(["src/b.tsx"])
    expect(await filesOf("./src/*.tsx")).toEqual(["src/b.tsx"])
    expect(await filesOf("c.ts")).toEqual(["src/deep/c.ts"])
    expect(await filesOf("src/")).toEqual(["src/deep/c.ts", "src/b.tsx"])
  })

  test("includes hidden and ignored files, but no .git or node_modules unless they are named", async () => {
    put(".gitignore", ".env", "dist/a.js", "node_modules/m/a.js", ".git/hooks/a.js")
    writeFileSync(join(context.cwd, ".gitignore"), "dist\n.env\n")
    expect(await filesOf("**/*.js")).toEqual(["dist/a.js"])
    expect(await filesOf(".env")).toEqual([".env"])
    expect(await filesOf("node_modules/**/*.js")).toEqual(["node_modules/m/a.js"])
  })

  test("starts in the folder that an absolute pattern or path names, and asks for that folder", async () => {
    put("a.ts", "src/b.ts", "src/deep/c.ts")
    const pattern = join(context.cwd, "src/*.ts")
    expect(await filesOf(pattern)).toEqual(["src/b.ts"])
    expect(await filesOf("*.ts", "src/deep")).toEqual(["src/deep/c.ts"])
    const target = (input: object) => globTool.targets?.(input as never, { cwd: context.cwd })
    const path = join(context.cwd, "src")
    expect(target({ pattern })).toEqual([{ kind: "path", access: "read", path }])
    expect(target({ pattern: "../*.ts", path: "src" })).toEqual([{ kind: "path", access: "read", path: "." }])
    expect(target({ pattern: "/*" })).toEqual([{ kind: "path", access: "read", path: "/" }])
  })

  test("refuses to leave its folder behind a wildcard", async () => {
    put("src/a.ts")
    expect((await glob("*/../../*")).text).toContain("write the folder into path")
  })

  test("shows at most 100 files and says how many there are", async () => {
    put(...Array.from({ length: 103 }, (_, i) => `f${i}.txt`))
    const { text, data } = await glob("*.txt")
    expect(text.split("\n")).toHaveLength(101)
    expect(text).toContain("(the newest 100 of 103 files; narrow the pattern or the path)")
    expect(text.startsWith("f102.txt\n")).toBe(true)
    expect(data).toMatchObject({ total: 103, truncated: false })
    expect((data as { files: string[] }).files).toHaveLength(103)
  })

  test("says when nothing matches, and refuses a folder that is none", async () => {
    put("a.txt")
    expect((await glob("*.none")).text).toBe("No files match.")
    expect((await glob("*", "a.txt")).text).toContain("is a file")
    expect((await glob("*", "none")).text).toContain("does not exist")
    expect((await glob("{")).isError).toBe(true)
  })
})
