/**
 * The shipped packs: what they say about themselves holds, and their own offline tests pass.
 */
import { existsSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { runProcess } from "sous"
import { expect, test } from "vitest"
import { readPack } from "../../core/pack/content.ts"
import { readTree } from "../../core/session/tree.ts"
import { folder } from "../harness.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const names = readdirSync(`${root}/recipes/packs`)

test.each(names)("%s has a manifest that its files bear out, and a page", async (name) => {
  const { manifest } = await readPack(await readTree(`${root}/recipes/packs/${name}`), name)
  expect(manifest.name).toBe(name)
  expect(manifest.plugins.length).toBeGreaterThan(0)
  expect(existsSync(`${root}/recipes/packs/${name}/README.md`)).toBe(true)
})

test("every shipped pack has an offline test, and they pass", async () => {
  const all = readdirSync(`${root}/recipes/packs`, { recursive: true }).map(String)
  const tests = all.filter((file) => file.endsWith(".test.ts")).map((file) => `recipes/packs/${file}`)
  expect(names.filter((name) => !tests.some((file) => file.startsWith(`recipes/packs/${name}/`)))).toEqual([])
  const { PATH = "" } = process.env
  const args = ["--conditions=sous-source", "--import", "tsx", "--test", ...tests]
  const { code, stdout, stderr } = await runProcess(
    { file: process.execPath, args },
    { cwd: root, env: { PATH, HOME: folder() }, signal: new AbortController().signal, timeoutMs: 60_000 },
  )
  expect(code, `${stdout}${stderr}`).toBe(0)
}, 90_000)
