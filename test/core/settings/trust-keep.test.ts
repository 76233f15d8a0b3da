import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { printsOf, saveTrust } from "../../../core/session/trust.ts"
import { loadSettings } from "../../../core/settings/load.ts"
import { keepTrust } from "../../../core/settings/trust-keep.ts"
import { readSubject } from "../../../core/settings/trust-settle.ts"
import { folder } from "../../harness.ts"

const SETTINGS = ".sous/settings.json"

function setUp(files: Record<string, string>) {
  const root = realpathSync(folder())
  mkdirSync(join(root, ".git"))
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const [path, text] of Object.entries(files)) put(path, text)
  const base = folder()
  const place = { cwd: root, env: {}, home: join(base, "home"), state: join(base, "state"), data: join(base, "data") }
  const options = { ...place, managed: join(base, "managed"), managedClaude: join(base, "managed-claude") }
  const look = async () => (await loadSettings({ ...options, load: async () => ({ default: {} }) })).trust
  const say = async () => {
    const { question } = await look()
    const { tree } = await readSubject(question, root)
    await saveTrust(options.state, root, { at: "2026-01-02T03:04:05.000Z", hash: tree.hash, files: printsOf(tree) })
  }
  const keep = (paths: string[], work: () => void) =>
    keepTrust({ ...options, files: paths.map((path) => join(root, path)) }, async () => work())
  return { root, put, look, say, keep }
}

describe("keepTrust()", () => {
  it("keeps a trusted project trusted over the change of a file that was meant", async () => {
    const { put, look, say, keep } = setUp({ [SETTINGS]: '{"model":"a"}', ".sous/plugins/a.ts": "" })
    await say()
    await keep([SETTINGS], () => put(SETTINGS, '{"model":"b"}'))
    expect(await look()).toMatchObject({ state: "trusted" })
  })

  it("leaves untrusted what else changed meanwhile, came or went", async () => {
    const { root, put, look, say, keep } = setUp({
      [SETTINGS]: '{"model":"a"}',
      ".sous/plugins/a.ts": "",
      ".sous/plugins/b.ts": "",
    })
    await say()
    await keep([SETTINGS], () => {
      put(SETTINGS, '{"plugins":["./named.ts"]}')
      put("named.ts", "")
      put(".sous/plugins/a.ts", "1")
      rmSync(join(root, ".sous/plugins/b.ts"))
    })
    expect(await look()).toMatchObject({
      state: "changed",
      changes: [
        { file: ".sous/plugins/a.ts", how: "changed" },
        { file: ".sous/plugins/b.ts", how: "removed" },
        { file: "named.ts", how: "added" },
      ],
    })
  })

  it("trusts a folder that a person said yes to, and drops what nothing names any more", async () => {
    const { put, look, say, keep } = setUp({ [SETTINGS]: '{"model":"a"}' })
    await say()
    await keep([SETTINGS, "sous.lock", "packs/a"], () => {
      put(SETTINGS, '{"packs":{"a":"./packs/a"}}')
      put("packs/a/sous.pack.yaml", "name: a\n")
      put("sous.lock", "{}")
    })
    expect(await look()).toMatchObject({ state: "trusted" })
    await keep([SETTINGS], () => put(SETTINGS, '{"model":"a"}'))
    expect(await look()).toMatchObject({ state: "trusted" })
  })

  it("trusts what a person sets where there was nothing before, and no more than that", async () => {
    const { put, look, keep } = setUp({ ".claude/settings.json": '{"permissions":{"deny":["Bash"]}}' })
    await keep([SETTINGS], () => put(SETTINGS, '{"model":"b"}'))
    expect(await look()).toMatchObject({ state: "trusted" })
    const other = setUp({})
    await other.keep([SETTINGS], () => {
      other.put(SETTINGS, '{"model":"b"}')
      other.put(".sous/plugins/a.ts", "")
    })
    expect(await other.look()).toMatchObject({ state: "changed", changes: [{ file: ".sous/plugins/a.ts" }] })
  })

  it("gives no trust to a project that had none or that had changed, and runs nothing of it", async () => {
    const fresh = setUp({ [SETTINGS]: '{"model":"a"}', ".sous/settings.local.ts": "throw new Error()" })
    await fresh.keep([SETTINGS], () => fresh.put(SETTINGS, '{"model":"b"}'))
    expect(await fresh.look()).toMatchObject({ state: "untrusted" })
    await fresh.say()
    fresh.put(".sous/settings.local.ts", "throw new Error(1)")
    await fresh.keep([SETTINGS], () => fresh.put(SETTINGS, '{"model":"c"}'))
    expect((await fresh.look()).changes.map(({ file }) => file)).toEqual([SETTINGS, ".sous/settings.local.ts"])
  })

  it("does the work where settings are broken, and throws on what it throws", async () => {
    const { root, put, keep } = setUp({ [SETTINGS]: "{" })
    await keep([SETTINGS], () => put(SETTINGS, "{}"))
    expect(readFileSync(join(root, SETTINGS), "utf8")).toBe("{}")
    const failing = keep([SETTINGS], () => {
      throw new Error("not done")
    })
    await expect(failing).rejects.toThrow("not done")
    expect(existsSync(join(root, ".sous/trust.json"))).toBe(false)
  })
})
