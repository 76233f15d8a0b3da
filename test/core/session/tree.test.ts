import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { readTree } from "../../../core/session/tree.ts"
import { folder } from "../../harness.ts"

/** A folder with these files, written in their order. */
function holding(files: Record<string, string>): string {
  const root = folder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const FILES = { "b.ts": "b", "a/c.ts": "c", "a/b.ts": "", "a.ts": "a" }

describe("readTree()", () => {
  it("gives the same hash for the same files, whatever the order, the place and the dates", async () => {
    const one = await readTree(holding(FILES))
    const other = holding(Object.fromEntries(Object.entries(FILES).reverse()))
    utimesSync(join(other, "a.ts"), 1, 1)
    chmodSync(join(other, "a.ts"), 0o600)
    expect((await readTree(other)).hash).toBe(one.hash)
    expect([...one.files.keys()]).toEqual(["a.ts", "a/b.ts", "a/c.ts", "b.ts"])
    expect(one.files.get("a.ts")).toEqual({
      bytes: Buffer.from("a"),
      executable: false,
      sha256: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    })
  })

  it.each([
    ["a byte", (root: string) => writeFileSync(join(root, "a.ts"), "A")],
    ["a name", (root: string) => execFileSync("mv", [join(root, "a.ts"), join(root, "d.ts")])],
    ["a file more", (root: string) => writeFileSync(join(root, "e.ts"), "")],
    ["that it can be executed", (root: string) => chmodSync(join(root, "a.ts"), 0o755)],
    ["a link more", (root: string) => symlinkSync("a.ts", join(root, "e.ts"))],
  ])("gives another hash for %s", async (_, change) => {
    const root = holding(FILES)
    const before = await readTree(root)
    change(root)
    expect((await readTree(root)).hash).not.toBe(before.hash)
  })

  it("reads what a filter lets it, and asks about folders as well", async () => {
    const asked: string[] = []
    const tree = await readTree(holding(FILES), (path) => asked.push(path) > 0 && path !== "a/")
    expect([...tree.files.keys()]).toEqual(["a.ts", "b.ts"])
    expect(asked.sort()).toEqual(["a.ts", "a/", "b.ts"])
  })

  it("reads named files alone, leaves out what is not there, and reads no path that leads upwards", async () => {
    const root = holding(FILES)
    const tree = await readTree(join(root, "a"), ["b.ts", "gone.ts", "b.ts/below", "../b.ts", "./c.ts", "/etc/passwd"])
    expect([...tree.files.keys()]).toEqual(["b.ts", "c.ts"])
    expect([...(await readTree(root, ["a"])).files.keys()]).toEqual(["a/b.ts", "a/c.ts"])
  })

  it("counts a link as what it leads to inside, also in the middle of a named path", async () => {
    const root = holding({ "store/pack/index.js": "1", "store/other.js": "2" })
    symlinkSync("store", join(root, "linked"))
    symlinkSync("../store/pack/index.js", join(root, "store/entry.js"))
    symlinkSync("..", join(root, "store/up"))
    const tree = await readTree(root, ["linked/pack/index.js"])
    expect([...tree.files.keys()]).toEqual(["store/pack/index.js"])
    expect([...tree.links]).toEqual([["linked", "store"]])
    const whole = await readTree(root)
    expect([...whole.files.keys()]).toEqual(["store/other.js", "store/pack/index.js"])
    expect([...whole.links]).toEqual([
      ["linked", "store"],
      ["store/entry.js", "store/pack/index.js"],
      ["store/up", ""],
    ])
  })

  it("refuses links that lead out of the root, or nowhere", async () => {
    const root = holding({ "in/a.ts": "", "secret.ts": "" })
    symlinkSync("../secret.ts", join(root, "in/b.ts"))
    const refusal = { code: "TREE_LINK_OUTSIDE", details: { file: join(root, "in/b.ts") } }
    await expect(readTree(join(root, "in"))).rejects.toMatchObject(refusal)
    await expect(readTree(join(root, "in"), ["b.ts"])).rejects.toMatchObject(refusal)
    symlinkSync("nothing", join(root, "c.ts"))
    await expect(readTree(root, (path) => path === "c.ts")).rejects.toMatchObject({ code: "TREE_FILE_UNREADABLE" })
    expect((await readTree(root, ["c.ts"])).files.size).toBe(0)
  })

  it("refuses pipes and devices at once, and a root that is not there", async () => {
    const root = holding(FILES)
    execFileSync("mkfifo", [join(root, "pipe.ts")])
    const refusal = { code: "TREE_FILE_UNREADABLE", details: { file: join(root, "pipe.ts") } }
    await expect(readTree(root)).rejects.toMatchObject(refusal)
    await expect(readTree(root, ["pipe.ts"])).rejects.toMatchObject(refusal)
    await expect(readTree("/dev", ["zero"])).rejects.toMatchObject({ code: "TREE_FILE_UNREADABLE" })
    await expect(readTree(join(root, "gone"))).rejects.toMatchObject({ code: "TREE_FILE_UNREADABLE" })
  })

  it("refuses more files, folders or bytes than there may be, without reading them", async () => {
    const root = holding(FILES)
    await expect(readTree(root, undefined, { files: 3 })).rejects.toMatchObject({ code: "TREE_TOO_LARGE" })
    await expect(readTree(root, undefined, { bytes: 2 })).rejects.toMatchObject({ code: "TREE_TOO_LARGE" })
    expect((await readTree(root, undefined, { files: 4, bytes: 3 })).files.size).toBe(4)
    writeFileSync(join(root, "huge.ts"), "")
    truncateSync(join(root, "huge.ts"), 2 ** 40)
    await expect(readTree(root)).rejects.toMatchObject({ code: "TREE_TOO_LARGE" })
  })

  it("reads files that say they are empty and are not", async () => {
    const tree = await readTree("/proc/self", ["cmdline"])
    expect(tree.files.get("cmdline")?.bytes.toString()).toContain("node")
  })
})
