import { execFileSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"
import { describe, expect, it } from "vitest"
import { treeFile, treeOf } from "../../../core/session/tree.ts"
import { hashOfPrints, loadTrust, printsOf, removeTrust, saveTrust, trustFile } from "../../../core/session/trust.ts"
import { folder } from "../../harness.ts"

const PROJECT = "/work/app"
const AT = "2026-01-02T03:04:05.000Z"
const tree = treeOf(
  new Map([
    ["a.ts", treeFile(Buffer.from("a"))],
    ["run.sh", treeFile(Buffer.from("b"), { executable: true })],
  ]),
  new Map([["link", "a.ts"]]),
)
const RECORD = { at: AT, hash: tree.hash, files: printsOf(tree) }

/** A state folder in which something lies in the place of the store. */
async function holding(change: (file: string) => void): Promise<{ state: string; file: string }> {
  const state = folder()
  await saveTrust(state, PROJECT, RECORD)
  const file = trustFile(state, PROJECT)
  change(file)
  return { state, file }
}

describe("saveTrust()", () => {
  it("keeps what was seen, readable by its owner only, and loadTrust() gives it back", async () => {
    const state = `${folder()}/new`
    expect(await loadTrust(state, PROJECT)).toEqual({ file: trustFile(state, PROJECT) })
    await saveTrust(state, PROJECT, RECORD)
    const { file, record } = await loadTrust(state, PROJECT)
    expect(record).toEqual(RECORD)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(state).mode & 0o777).toBe(0o700)
    await saveTrust(state, PROJECT, { ...RECORD, follow: true })
    expect((await loadTrust(state, PROJECT)).record).toEqual({ ...RECORD, follow: true })
    expect((await loadTrust(state, "/work/other")).record).toBeUndefined()
  })

  it("leaves one whole record when many save at once", async () => {
    const state = folder()
    const records = ["1", "2", "3", "4", "5"].map((text) => {
      const files = printsOf(treeOf(new Map([["a", treeFile(Buffer.from(text))]])))
      return { at: AT, hash: hashOfPrints(files), files }
    })
    await Promise.all(records.map((record) => saveTrust(state, PROJECT, record)))
    expect(records).toContainEqual((await loadTrust(state, PROJECT)).record)
    expect(readdirSync(dirname(trustFile(state, PROJECT)))).toEqual(["trust.json"])
  })

  it("says when it cannot be kept", async () => {
    const refused = saveTrust("/proc/none", PROJECT, RECORD)
    await expect(refused).rejects.toMatchObject({ code: "SESSION_FOLDER_UNWRITABLE" })
    const { state, file } = await holding((path) => {
      rmSync(path)
      mkdirSync(path)
    })
    await expect(saveTrust(state, PROJECT, RECORD)).rejects.toMatchObject({ code: "TRUST_STORE_UNWRITABLE" })
    expect(await removeTrust(state, PROJECT)).toBe(true)
    expect(existsSync(file)).toBe(false)
  })
})

describe("loadTrust()", () => {
  const edit = (change: (value: any) => void) => (file: string) => {
    const value = JSON.parse(readFileSync(file, "utf8"))
    change(value)
    writeFileSync(file, JSON.stringify(value))
  }
  const instead = (put: (file: string) => void) => (file: string) => {
    rmSync(file)
    put(file)
  }
  it.each([
    ["others may write it", (file: string) => chmodSync(file, 0o602)],
    ["others may write it", (file: string) => chmodSync(file, 0o660)],
    ["symbolic link", instead((file) => symlinkSync("/etc/hostname", file))],
    ["no file", instead((file) => mkdirSync(file))],
    ["no file", instead((file) => execFileSync("mkfifo", ["-m", "600", file]))],
    ["too long", (file: string) => truncateSync(file, 2 ** 30)],
    ["no JSON object", (file: string) => writeFileSync(file, "{")],
    ["no JSON object", (file: string) => writeFileSync(file, "null")],
    ["its version is 2", edit((value) => Object.assign(value, { version: 2 }))],
    ['belongs to "/work/other"', edit((value) => Object.assign(value, { project: "/work/other" }))],
    ["no date", edit((value) => delete value.at)],
    ['its "follow" is "yes"', edit((value) => Object.assign(value, { follow: "yes" }))],
    ["list of files", edit((value) => Object.assign(value, { files: ["a"] }))],
    ["list of files", edit((value) => Object.assign(value.files, { "a.ts": "other" }))],
    ["not that of its files", edit((value) => delete value.files["a.ts"])],
    ["not that of its files", edit((value) => Object.assign(value, { hash: "0".repeat(64) }))],
  ])("trusts nothing and says: %s", async (reason, change) => {
    const { state } = await holding(change)
    const { record, fault } = await loadTrust(state, PROJECT)
    expect(record).toBeUndefined()
    expect(fault).toMatchObject({ code: "TRUST_STORE_UNREADABLE", message: expect.stringContaining(reason) })
  })

  it.skipIf(process.getuid?.() !== 0)("trusts nothing that another user wrote", async () => {
    const { state } = await holding((file) => chownSync(file, 1, 1))
    expect((await loadTrust(state, PROJECT)).fault?.message).toContain("another user")
  })
})

describe("removeTrust()", () => {
  it("takes the record away, a broken one too, and says whether there was one", async () => {
    const { state } = await holding((file) => writeFileSync(file, "{"))
    expect(await removeTrust(state, PROJECT)).toBe(true)
    expect(await removeTrust(state, PROJECT)).toBe(false)
    expect(await loadTrust(state, PROJECT)).not.toHaveProperty("fault")
  })
})

describe("hashOfPrints()", () => {
  it("is the hash of the tree that they were made of", () => {
    expect(hashOfPrints(printsOf(tree))).toBe(tree.hash)
  })
})
