import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { resolvePath, resolveTargets } from "../../../core/permission/path.ts"
import { type Folders, makeProject } from "./fixture.ts"

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
  await symlink("loop-b", join(folders.project, "loop-a"))
  await symlink("loop-a", join(folders.project, "loop-b"))
  await symlink("../outside/not-yet.txt", join(folders.project, "dangling"))
  await mkdir(join(folders.outside, "deep"))
  await symlink("../outside/deep", join(folders.project, "deep-link"))
  await writeFile(join(folders.outside, "x"), "")
})
afterAll(() => folders.remove())

describe("resolvePath()", () => {
  it("follows links, and says what a folder is", async () => {
    const { project, outside } = folders
    expect(await resolvePath("inner/a.ts", project)).toEqual({
      lexical: join(project, "inner/a.ts"),
      real: join(project, "src/a.ts"),
      file: true,
    })
    expect(await resolvePath("out", project)).toMatchObject({ real: outside, directory: true })
  })

  it("resolves what does not exist yet through its nearest real parent", async () => {
    const { project, outside } = folders
    expect((await resolvePath("src/new/deep.ts", project))?.real).toBe(join(project, "src/new/deep.ts"))
    expect((await resolvePath("out/new/deep.ts", project))?.real).toBe(join(outside, "new/deep.ts"))
    expect((await resolvePath("dangling", project))?.real).toBe(join(outside, "not-yet.txt"))
  })

  it("names both places when a link stands in front of two dots", async () => {
    const { project, outside } = folders
    expect(await resolvePath("deep-link/../x", project)).toEqual({
      lexical: join(project, "x"),
      real: join(project, "x"),
      others: [join(outside, "x")],
    })
  })

  it("gives up on loops, NUL bytes and endless paths", async () => {
    for (const path of ["loop-a", "a\0b", "x".repeat(10_000), "a/".repeat(500)]) {
      expect(await resolvePath(path, folders.project)).toBeUndefined()
    }
  })
})

describe("resolveTargets()", () => {
  it("looks up paths of tools by what they wrote, and those of commands by where they lie", async () => {
    const { project, outside, home } = folders
    const text = "cd src && cat a.ts ../out/o.txt ~/notes/n.md > log.txt"
    const targets = [
      { kind: "path", access: "read", path: "inner" },
      { kind: "command", text },
    ] as const
    const paths = await resolveTargets(targets, project, { home })
    expect(paths.get("inner")?.real).toBe(join(project, "src"))
    expect(paths.get(join(project, "src/a.ts"))?.real).toBe(join(project, "src/a.ts"))
    expect(paths.get(join(project, "out/o.txt"))?.real).toBe(join(outside, "o.txt"))
    expect(paths.get(join(project, "src/log.txt"))).toBeDefined()
    expect(paths.get(join(home, "notes/n.md"))).toBeDefined()
  })

  it("does not look at the disk for calls without paths", async () => {
    expect((await resolveTargets([{ kind: "url", url: "https://example.com" }], folders.project)).size).toBe(0)
  })
})
