import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { keepContent, readContent } from "../../../core/session/content.ts"
import { readTree } from "../../../core/session/tree.ts"
import { folder } from "../../harness.ts"

/** A tree with a script, links and an empty folder that a link leads to. */
async function treeWithAll() {
  const root = folder()
  mkdirSync(join(root, "lib/empty"), { recursive: true })
  writeFileSync(join(root, "lib/a.js"), "export default 1")
  writeFileSync(join(root, "run.sh"), "#!/bin/sh\n", { mode: 0o755 })
  symlinkSync("lib/a.js", join(root, "a.js"))
  symlinkSync("lib", join(root, "library"))
  symlinkSync("lib/empty", join(root, "nothing"))
  return await readTree(root)
}

function putInstead(place: string, put: () => void): void {
  rmSync(place, { recursive: true })
  put()
}

describe("keepContent()", () => {
  it("keeps a copy under the hash, whose files cannot be written, and gives it back", async () => {
    const [tree, data] = [await treeWithAll(), join(folder(), "data")]
    const place = await keepContent(tree, data)
    expect(place).toBe(join(data, "content", tree.hash))
    expect(readFileSync(join(place, "library/a.js"), "utf8")).toBe("export default 1")
    expect(statSync(join(place, "lib/a.js")).mode & 0o777).toBe(0o400)
    expect(statSync(join(place, "run.sh")).mode & 0o777).toBe(0o500)
    expect(statSync(data).mode & 0o777).toBe(0o700)
    expect(await readContent(tree.hash, data)).toEqual(tree)
  })

  it.each([
    ["a flipped byte", (place: string) => writeFileSync(join(place, "lib/a.js"), "export default 2")],
    ["a file more", (place: string) => writeFileSync(join(place, "lib/b.js"), "")],
    ["a file less", (place: string) => rmSync(join(place, "run.sh"))],
    ["a file in its place", (place: string) => putInstead(place, () => writeFileSync(place, ""))],
    ["a link in its place", (place: string) => putInstead(place, () => symlinkSync("/etc", place))],
  ])("makes it anew where it finds %s", async (_, change) => {
    const [tree, data] = [await treeWithAll(), folder()]
    const place = await keepContent(tree, data)
    chmodSync(join(place, "lib/a.js"), 0o600)
    change(place)
    expect(await readContent(tree.hash, data)).toBeUndefined()
    expect(await keepContent(tree, data)).toBe(place)
    expect(await readContent(tree.hash, data)).toEqual(tree)
    expect(readdirSync(join(data, "content"))).toEqual([tree.hash])
  })

  it("keeps one copy when many keep it at once", async () => {
    const [tree, data] = [await treeWithAll(), folder()]
    const places = await Promise.all(Array.from({ length: 8 }, () => keepContent(tree, data)))
    expect(new Set(places).size).toBe(1)
    expect(await readContent(tree.hash, data)).toEqual(tree)
    expect(readdirSync(join(data, "content"))).toEqual([tree.hash])
  })

  it("says when it cannot be kept", async () => {
    const tree = await treeWithAll()
    await expect(keepContent(tree, "/proc/none")).rejects.toMatchObject({ code: "SESSION_FOLDER_UNWRITABLE" })
  })
})

describe("readContent()", () => {
  it("gives nothing for a hash that it does not have", async () => {
    expect(await readContent("0".repeat(64), folder())).toBeUndefined()
  })
})
