import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, expect, test } from "vitest"
import { goneGuards } from "../../../core/cli/plugin-gone.ts"
import type { PluginEntry } from "../../../core/plugin.ts"
import { rememberGuards } from "../../../core/session/guard-memory.ts"
import type { LoadedSettings } from "../../../core/settings/load.ts"
import { folder } from "../../harness.ts"

let root: string
beforeEach(() => {
  root = realpathSync(folder())
})

const at = (path: string) => join(root, path)

async function remember(...files: string[]): Promise<void> {
  const seen = files.map((file, index) => ({ file: at(file), name: `guard-${index}`, guards: ["deny Bash(x)"] }))
  await rememberGuards(at("state"), seen, { known: [], now: 0 })
}

async function gone(trust: { isTrusted: boolean; state: string }, found: Partial<PluginEntry>[] = []) {
  const folders = { user: at("user"), project: at("link/.sous"), managed: undefined }
  const loaded = { folders, trust } as unknown as LoadedSettings
  const entries = await goneGuards(at("state"), loaded, found as PluginEntry[])
  return entries.map(({ from, scope, fault }) => [from.slice(root.length + 1), scope, fault?.code])
}

test("goneGuards() finds what lay in a plugins folder of a scope that counts, and nothing else", async () => {
  mkdirSync(at("project"))
  symlinkSync(at("project"), at("link"))
  await remember("user/plugins/a.ts", "project/.sous/plugins/b/index.ts", "other/.sous/plugins/c.ts", "user/d.ts")
  const user = ["user/plugins/a.ts", "user", "PLUGIN_FILE_GONE"]
  const project = ["project/.sous/plugins/b/index.ts", "project", "PLUGIN_FILE_GONE"]
  expect(await gone({ isTrusted: true, state: "trusted" })).toEqual([user, project])
  expect(await gone({ isTrusted: false, state: "nothing" })).toEqual([user, project])
  expect(await gone({ isTrusted: false, state: "changed" })).toEqual([user])
})

test("goneGuards() leaves out what was found, under its file, as settings name it, or under its name", async () => {
  await remember("user/plugins/a.ts", "user/plugins/b.ts")
  const trust = { isTrusted: true, state: "trusted" }
  expect(
    await gone(trust, [
      { from: at("user/plugins/a.ts"), name: "x" },
      { from: "x", name: "guard-1" },
    ]),
  ).toEqual([])
  mkdirSync(at("user/plugins"), { recursive: true })
  writeFileSync(at("user/plugins/b.ts"), "")
  const [first, second] = await goneGuards(
    at("state"),
    { folders: { user: at("user") }, trust } as unknown as LoadedSettings,
    [],
  )
  expect(first!.fault).toMatchObject({ message: `The plugin file "${at("user/plugins/a.ts")}" is gone` })
  expect(second!.fault).toMatchObject({ message: `"${at("user/plugins/b.ts")}" is no plugin any more` })
})
