/**
 * The shipped recipes' own offline tests, on Node's test runner, and the newcomer's tour.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { runProcess } from "sous"
import { expect, test } from "vitest"
import { folder } from "../harness.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

async function node(args: string[], env: Record<string, string> = {}) {
  const { PATH = "" } = process.env
  const signal = new AbortController().signal
  const result = await runProcess(
    { file: process.execPath, args },
    { cwd: root, env: { PATH, HOME: folder(), ...env }, signal, timeoutMs: 60_000 },
  )
  return { code: result.code, output: `${result.stdout}${result.stderr}` }
}

test("every shipped recipe has an offline test, and it passes", async () => {
  const names = readdirSync(`${root}/recipes`).flatMap(
    (file) => /^(.+?)(?<!\.test|\.permissions)\.(?:ts|yaml)$/.exec(file)?.[1] ?? [],
  )
  expect(names.length).toBeGreaterThanOrEqual(3)
  const tests = names.map((name) => `recipes/${name}.test.ts`)
  expect(tests.filter((file) => !existsSync(`${root}/${file}`))).toEqual([])
  const { code, output } = await node(["--conditions=sous-source", "--import", "tsx", "--test", ...tests])
  expect(code, output).toBe(0)
}, 90_000)

test("the tour ends with the tests passing, without a key and with an empty home", async () => {
  const home = folder()
  mkdirSync(`${home}/tmp`)
  const { code, output } = await node(["recipes/tour/tour.mjs"], { HOME: home, TMPDIR: `${home}/tmp` })
  expect(code, output).toBe(0)
  expect(output).toContain("`npm test` passes after attempt 1")
  expect(output).toContain('+  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-")')
  expect(output).toContain("export ANTHROPIC_API_KEY")
}, 60_000)
