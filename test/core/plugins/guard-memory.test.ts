import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { createKit, type Plugin, type PluginEntry, SousError } from "sous"
import { describe, expect, test } from "vitest"
import { guardsFile } from "../../../core/session/guard-file.ts"
import { forgetGuards, loadGuards, type RememberedGuard, rememberGuards } from "../../../core/session/guard-memory.ts"
import { after, folder } from "../../harness.ts"

const GUARD: Plugin = { name: "guard", permissions: { deny: ["Bash(rm *)"] } }
const FAULT = new SousError("PLUGIN_EXPORT_INVALID", { from: "/plugins/guard.ts", found: "missing" })

const entry = (more: Partial<PluginEntry> = {}): PluginEntry => ({
  plugin: GUARD,
  name: "guard",
  from: "/plugins/guard.ts",
  tier: "in-process",
  ...more,
})
const broken = (more: Partial<PluginEntry> = {}) => {
  const { plugin: _, ...rest } = entry(more)
  return { ...rest, fault: FAULT }
}

async function start(state: string, plugins: (Plugin | PluginEntry)[], options: object = {}) {
  const kit = await createKit({ plugins, cwd: folder(), env: {}, home: folder(), state, ...options })
  after(() => kit.close())
  return kit.describe().plugins
}

describe("createKit()", () => {
  test("stops for a plugin that guarded when it was loaded last, and says how to mend it", async () => {
    const state = folder()
    await start(state, [entry()])
    await expect(start(state, [broken()])).rejects.toMatchObject({
      code: "PLUGIN_GUARD_MISSING",
      message: expect.stringMatching(
        /"guard" from "\/plugins\/guard\.ts", which guards \(deny Bash\(rm \*\)\): .*missing/,
      ),
      mend: expect.stringContaining('run "sous plugins forget guard"'),
    })
    expect(await start(state, [broken()], { isSurvey: true })).toMatchObject([
      { ok: false, fatal: true, guards: true, code: "PLUGIN_GUARD_MISSING" },
    ])
    await forgetGuards(state, "guard")
    expect(await start(state, [broken()])).toMatchObject([{ ok: false }])
  })

  test("knows a guard that is gone by the way in which settings name it", async () => {
    const state = folder()
    await start(state, [entry({ identity: "/project ./guard.ts" })])
    const gone = broken({ from: "./guard.ts", identity: "/project ./guard.ts" })
    await expect(start(state, [gone])).rejects.toMatchObject({ code: "PLUGIN_GUARD_MISSING" })
    const other = broken({ from: "./guard.ts", identity: "/other ./guard.ts" })
    expect(await start(state, [other])).toMatchObject([{ ok: false }])
  })

  test("forgets a guard that is loaded and guards no more, and what it guards with now is what counts", async () => {
    const state = folder()
    await start(state, [entry()])
    await start(state, [entry({ plugin: { name: "guard" } })])
    expect(await loadGuards(state)).toEqual([])
    expect(await start(state, [broken()])).toMatchObject([{ ok: false }])
  })

  test("neither reads nor writes anything without plugins that lie in files, and writes only what changed", async () => {
    const state = folder({ "plugins.json": "broken" })
    await start(state, [
      GUARD,
      entry({ tier: "shipped", from: "guard-2", name: "guard-2", plugin: { name: "guard-2" } }),
    ])
    expect(readFileSync(guardsFile(state), "utf8")).toBe("broken")
    const other = folder()
    await start(other, [entry({ plugin: { name: "guard" } })])
    expect(existsSync(guardsFile(other))).toBe(false)
    await start(other, [entry()])
    const before = statSync(guardsFile(other), { bigint: true })
    await start(other, [entry()])
    expect(statSync(guardsFile(other), { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs })
    expect(Number(before.mode) & 0o777).toBe(0o600)
  })

  test("goes on when nobody can read what is remembered, unless a plugin is missing", async () => {
    const state = folder({ "plugins.json": "broken" })
    const kit = await createKit({ plugins: [entry()], cwd: folder(), env: {}, home: folder(), state })
    after(() => kit.close())
    expect(kit.describe().plugins).toMatchObject([{ ok: true }])
    await expect(start(state, [broken()])).rejects.toMatchObject({ code: "PLUGIN_MEMORY_UNREADABLE" })
    expect(readFileSync(guardsFile(state), "utf8")).toBe("broken")
  })

  test("is not stopped by a state folder in which nothing can be remembered", async () => {
    const state = join(folder({ file: "" }), "file", "state")
    expect(await start(state, [entry()])).toMatchObject([{ ok: true }])
  })
})

describe("rememberGuards()", () => {
  const one = (name: string): Omit<RememberedGuard, "at"> => ({ file: `/p/${name}.ts`, name, guards: ["deny X"] })
  const now = Date.UTC(2026, 0, 2)

  test("loses nothing of several starts at once, and keeps when a guard was seen first", async () => {
    const state = folder()
    const names = Array.from({ length: 12 }, (_, index) => `g${index}`)
    await Promise.all(names.map((name) => rememberGuards(state, [one(name)], { known: [], now })))
    const known = await loadGuards(state)
    expect(known.map(({ name }) => name).sort()).toEqual([...names].sort())
    await rememberGuards(state, [{ ...one("g0"), guards: ["ask Y"] }], { known, now: now + 1000 })
    expect((await loadGuards(state)).find(({ name }) => name === "g0")).toEqual({
      ...one("g0"),
      guards: ["ask Y"],
      at: new Date(now).toISOString(),
    })
  })

  test("stays small", async () => {
    const state = folder()
    const long = { ...one("long"), guards: Array.from({ length: 400 }, (_, index) => `${index} ${"x".repeat(900)}`) }
    await rememberGuards(state, [long], { known: [], now })
    expect(statSync(guardsFile(state)).size).toBeLessThan(6000)
    const many = Array.from({ length: 600 }, (_, index) => one(`n${index}`))
    await rememberGuards(state, many, { known: await loadGuards(state), now })
    const known = await loadGuards(state)
    expect(known).toHaveLength(500)
    expect(known.at(-1)!.name).toBe("n599")
    const same = readFileSync(guardsFile(state), "utf8")
    await rememberGuards(state, [long], { known: [{ ...long, guards: known[0]!.guards, at: "" }], now })
    expect(readFileSync(guardsFile(state), "utf8")).not.toBe(same)
  })

  test.each([
    ["no JSON", "{"],
    ["another version", '{"version":2,"guards":[]}'],
    ["an entry that is none", '{"version":1,"guards":[{"file":1}]}'],
  ])("takes a file with %s for none of ours", async (_what, text) => {
    const state = folder({ "plugins.json": text })
    await expect(loadGuards(state)).rejects.toMatchObject({ code: "PLUGIN_MEMORY_UNREADABLE" })
    await expect(rememberGuards(state, [one("a")], { known: [], now })).rejects.toMatchObject({
      code: "PLUGIN_MEMORY_UNREADABLE",
    })
    expect(readFileSync(guardsFile(state), "utf8")).toBe(text)
  })

  test("reads no file that others may write, and no link", async () => {
    const open = folder({ "plugins.json": '{"version":1,"guards":[]}' })
    chmodSync(guardsFile(open), 0o666)
    await expect(loadGuards(open)).rejects.toMatchObject({ code: "PLUGIN_MEMORY_UNREADABLE" })
    const linked = folder()
    symlinkSync(guardsFile(open), guardsFile(linked))
    await expect(loadGuards(linked)).rejects.toMatchObject({ code: "PLUGIN_MEMORY_UNREADABLE" })
  })

  test("says that it cannot be written", async () => {
    const state = folder({ "plugins.json.lock/x": "" })
    utimesSync(`${guardsFile(state)}.lock`, 0, 0)
    await expect(rememberGuards(state, [one("a")], { known: [], now })).rejects.toMatchObject({
      code: "PLUGIN_MEMORY_UNWRITABLE",
    })
  })
})
