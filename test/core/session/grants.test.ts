import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { addGrants, grantsFile, loadGrants, removeGrants } from "../../../core/session/grants.ts"
import { withLock } from "../../../core/session/lock.ts"
import { folder } from "../../harness.ts"

const PROJECT = "/work/app"
const at = (rules: string[], now = 0) => ({ rules, now })

/** A state folder whose grants file holds this text. */
function holding(text: string): { state: string; file: string } {
  const state = folder()
  const file = grantsFile(state, PROJECT)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text, { mode: 0o600 })
  return { state, file }
}

describe("addGrants()", () => {
  it("keeps rules by project and date, readable by their owner only, one a line", async () => {
    const state = folder()
    expect(await loadGrants(state, PROJECT)).toMatchObject({ grants: [], rules: [] })
    await addGrants(state, PROJECT, at(["Bash(npm test)", "Bash(npm test)"]))
    await addGrants(state, PROJECT, at(["Bash(npm test)", 'Bash(echo "a")'], 86_400_000))
    const { file, grants, rules, fault } = await loadGrants(state, PROJECT)
    expect(fault).toBeUndefined()
    expect(grants).toEqual([
      { rule: "Bash(npm test)", at: "1970-01-01T00:00:00.000Z" },
      { rule: 'Bash(echo "a")', at: "1970-01-02T00:00:00.000Z" },
    ])
    expect(rules).toEqual([
      { text: "Bash(npm test)", behavior: "allow", scope: "local", file, line: 5, granted: grants[0]!.at },
      { text: 'Bash(echo "a")', behavior: "allow", scope: "local", file, line: 6, granted: grants[1]!.at },
    ])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
    expect((await loadGrants(state, "/work/other")).grants).toEqual([])
  })

  it("loses none of what many grant and revoke at once", async () => {
    const state = folder()
    await addGrants(state, PROJECT, at(["Bash(old)"]))
    const rules = Array.from({ length: 25 }, (_, i) => `Bash(make ${i})`)
    await Promise.all([
      ...rules.map((rule) => addGrants(state, PROJECT, at([rule]))),
      removeGrants(state, PROJECT, ["Bash(old)"]),
    ])
    const { file, grants } = await loadGrants(state, PROJECT)
    expect(grants.map(({ rule }) => rule).sort()).toEqual([...rules].sort())
    expect(readdirSync(dirname(file))).toEqual(["grants.json"])
  })

  it("gives any text back as it was", async () => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(text, { maxLength: 4 }), async (rules) => {
        const state = folder()
        await addGrants(state, PROJECT, at(rules))
        const loaded = await loadGrants(state, PROJECT)
        expect(loaded.grants.map(({ rule }) => rule)).toEqual(rules)
      }),
      { numRuns: 50 },
    )
  })

  it("refuses to write over what it cannot read", async () => {
    const { state, file } = holding("{ broken")
    await expect(addGrants(state, PROJECT, at(["Bash(x)"]))).rejects.toMatchObject({
      code: "PERMISSION_GRANTS_UNREADABLE",
    })
    expect(readFileSync(file, "utf8")).toBe("{ broken")
  })

  it("says which file cannot be written", async () => {
    const state = folder({ projects: "a file where a folder should be" })
    await expect(addGrants(state, PROJECT, at(["Bash(x)"]))).rejects.toMatchObject({
      code: "SESSION_FOLDER_UNWRITABLE",
    })
    const { state: taken, file } = holding("")
    rmSync(file)
    mkdirSync(`${file}.lock`)
    mkdirSync(`${file}.lock/x`)
    utimesSync(`${file}.lock`, 0, 0)
    await expect(addGrants(taken, PROJECT, at(["Bash(x)"]))).rejects.toMatchObject({
      code: "PERMISSION_GRANTS_UNWRITABLE",
    })
  })
})

describe("loadGrants()", () => {
  const good = `{ "version": 1, "project": "${PROJECT}", "grants": [{ "rule": "Bash(x)", "at": "2026-01-31T00:00:00Z" }] }`

  it("reads what a person has laid out otherwise", async () => {
    const { state } = holding(good)
    expect((await loadGrants(state, PROJECT)).rules).toMatchObject([{ text: "Bash(x)", line: 1 }])
  })

  it.each([
    ["", "no JSON object"],
    ["[]", "its version is undefined"],
    ["null", "no JSON object"],
    [good.replace('"version": 1', '"version": 2'), "its version is 2, this program reads 1"],
    [good.replace(PROJECT, "/work/else"), 'it belongs to "/work/else"'],
    [good.replace('"Bash(x)"', "7"), "a grant has no rule or date"],
    [good.replace("2026-01-31T00:00:00Z", "soon"), "a grant has no rule or date"],
    [good.replace("[{", "{").replace("}]", "}"), "a grant has no rule or date"],
    ["x".repeat(2 ** 20 + 1), "it is too long"],
  ])("grants nothing by a file that is broken or foreign: %.60j", async (text, reason) => {
    const { state } = holding(text)
    const { grants, rules, fault } = await loadGrants(state, PROJECT)
    expect([grants, rules]).toEqual([[], []])
    expect(fault).toMatchObject({
      code: "PERMISSION_GRANTS_UNREADABLE",
      details: { reason: expect.stringContaining(reason) },
    })
  })

  it("grants nothing by a file that others may write, by a link, by a folder", async () => {
    const open = holding(good)
    chmodSync(open.file, 0o666)
    expect((await loadGrants(open.state, PROJECT)).fault?.message).toContain("others may write it")
    const linked = folder({ elsewhere: good })
    mkdirSync(dirname(grantsFile(linked, PROJECT)), { recursive: true })
    symlinkSync(join(linked, "elsewhere"), grantsFile(linked, PROJECT))
    expect((await loadGrants(linked, PROJECT)).fault?.message).toContain("it is a symbolic link")
    const state = folder()
    mkdirSync(grantsFile(state, PROJECT), { recursive: true })
    expect((await loadGrants(state, PROJECT)).fault?.message).toContain("it is no file")
  })

  it("does not wait for a pipe that nobody writes to", async () => {
    const state = folder()
    mkdirSync(dirname(grantsFile(state, PROJECT)), { recursive: true })
    execFileSync("mkfifo", [grantsFile(state, PROJECT)])
    expect((await loadGrants(state, PROJECT)).fault?.message).toContain("it is no file")
  })
})

describe("withLock()", () => {
  it("breaks a lock that a dead process left, once, and gives it back when the work fails", async () => {
    const file = join(folder(), "f")
    writeFileSync(`${file}.lock`, "")
    utimesSync(`${file}.lock`, 0, 0)
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    }
    await Promise.all(Array.from({ length: 8 }, () => withLock(file, work)))
    expect(most).toBe(1)
    await expect(withLock(file, () => Promise.reject(new Error("no")))).rejects.toThrow("no")
    expect(existsSync(`${file}.lock`)).toBe(false)
  })
})
