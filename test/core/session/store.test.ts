import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createFolder, createRunFolder, projectFolder, stateFolderFor } from "../../../core/session/store.ts"

let room: string
beforeAll(async () => {
  room = await mkdtemp(join(tmpdir(), "sous-store-"))
})
afterAll(() => rm(room, { recursive: true, force: true }))

describe("stateFolderFor()", () => {
  it("goes by XDG_STATE_HOME, then by the home", () => {
    expect(stateFolderFor({ XDG_STATE_HOME: "/state" }, "/home/u")).toBe("/state/sous")
    expect(stateFolderFor({}, "/home/u")).toBe("/home/u/.local/state/sous")
  })

  it("ignores a relative XDG_STATE_HOME", () => {
    expect(stateFolderFor({ XDG_STATE_HOME: "state" }, "/home/u")).toBe("/home/u/.local/state/sous")
    expect(stateFolderFor({ XDG_STATE_HOME: "" }, "/home/u")).toBe("/home/u/.local/state/sous")
  })

  it("has one for each user in the temporary folder where there is no home", () => {
    for (const home of [undefined, ""]) {
      expect(stateFolderFor({}, home)).toBe(join(tmpdir(), `sous-${process.getuid?.() ?? "user"}`))
    }
  })
})

describe("createFolder()", () => {
  it("makes what is missing, leaves what is there, and says why it cannot", async () => {
    const deep = join(room, "a/b/c")
    await Promise.all([createFolder(deep), createFolder(deep)])
    await createFolder(deep)
    expect((await stat(deep)).mode & 0o777).toBe(0o700)
    await writeFile(join(room, "file"), "")
    await expect(createFolder(join(room, "file/x"))).rejects.toMatchObject({ code: "SESSION_FOLDER_UNWRITABLE" })
    await expect(createFolder(join(room, "file"))).rejects.toMatchObject({ code: "SESSION_FOLDER_UNWRITABLE" })
  })

  it.runIf(process.platform === "linux")("comes to its end below /proc", async () => {
    await expect(createFolder("/proc/sous/projects")).rejects.toMatchObject({ code: "SESSION_FOLDER_UNWRITABLE" })
  })
})

describe("projectFolder()", () => {
  it("tells apart projects of one name, and reads as the name", () => {
    const one = projectFolder("/s", "/home/u/shop")
    expect(one).toMatch(/^\/s\/projects\/shop-[0-9a-f]{12}$/)
    expect(projectFolder("/s", "/srv/shop")).not.toBe(one)
    expect(projectFolder("/s", "/home/u/shop")).toBe(one)
  })

  it.each([
    ["/", "root-"],
    ["/home/u/my shop: v2", "my-shop-v2-"],
    ["/home/u/données", "données-"],
    [`/${"x".repeat(300)}`, `${"x".repeat(40)}-`],
  ])("makes a folder name of %j", (cwd, start) => {
    expect(projectFolder("/s", cwd).slice("/s/projects/".length, -12)).toBe(start)
  })
})

describe("createRunFolder()", () => {
  it("makes folders that only their owner can open", async () => {
    const state = join(room, "deep", "state", "sous")
    const { id, folder } = await createRunFolder(state, "/home/u/shop", Date.UTC(2026, 0, 31, 23, 59, 59, 123))
    expect(id).toMatch(/^20260131-235959123-[0-9a-f]{6}$/)
    expect(folder).toBe(join(projectFolder(state, "/home/u/shop"), "runs", id))
    for (const part of [state, join(state, "projects"), folder]) {
      expect((await stat(part)).mode & 0o777).toBe(0o700)
    }
  })

  it("gives ids that sort by time and are unique", async () => {
    const state = join(room, "ids")
    const now = Date.UTC(2026, 0, 1)
    const times = [0, 0, 0, 1, 999, 1_000, 86_400_000, 86_400_000 * 365]
    const runs = await Promise.all(times.map((ms) => createRunFolder(state, "/p", now + ms)))
    const ids = runs.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect([...ids].sort().map((id) => id.slice(0, 18))).toEqual(ids.map((id) => id.slice(0, 18)))
    expect((await readdir(join(projectFolder(state, "/p"), "runs"))).sort()).toEqual([...ids].sort())
  })

  it("says which folder it cannot make", async () => {
    const file = join(room, "file")
    await writeFile(file, "")
    await expect(createRunFolder(join(file, "sous"), "/p", 0)).rejects.toMatchObject({
      code: "SESSION_FOLDER_UNWRITABLE",
      details: { folder: join(file, "sous"), reason: "ENOTDIR" },
    })
  })

  it("refuses a folder that others laid out where everybody may write", async () => {
    const shared = join(room, "shared")
    await mkdir(shared)
    await chmod(shared, 0o1777)
    await mkdir(join(room, "trap"), { mode: 0o700 })
    await symlink(join(room, "trap"), join(shared, "link"))
    await mkdir(join(shared, "open"))
    await chmod(join(shared, "open"), 0o755)
    for (const name of ["link", "open"]) {
      await expect(createRunFolder(join(shared, name), "/p", 0)).rejects.toMatchObject({
        code: "SESSION_FOLDER_UNSAFE",
      })
    }
    expect(await readdir(join(room, "trap"))).toEqual([])
    await createRunFolder(join(shared, "ours"), "/p", 0)
  })
})
