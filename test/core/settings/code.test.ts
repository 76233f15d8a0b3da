import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { loadModule } from "../../../core/recipe/load.ts"
import { loadCode } from "../../../core/settings/code.ts"
import { useSettingsPlace } from "./place.ts"

const place = useSettingsPlace({ load: (file) => loadModule(file, { modules: {} }) })
const { put, load } = place

/** Code that leaves a mark when it runs. */
const marking = (settings: string) => `
import { appendFileSync } from "node:fs"
appendFileSync(${JSON.stringify(join(place.folder, "ran"))}, "x")
const settings: Record<string, unknown> = ${settings}
export default settings
`

const PROJECT = "project/.sous/settings.ts"
const USER = "home/.config/sous/settings.ts"

test("loadSettings() runs the person's and the organisation's settings without asking", async () => {
  const user = put(USER, marking(`{ model: "user", effort: "low" }`))
  put("etc/settings.ts", marking(`{ permissions: { deny: ["WebFetch"] } }`))
  const { settings, files } = await load()
  expect(settings).toMatchObject({ model: "user", effort: "low" })
  expect(settings.origins.get("model")).toEqual({ scope: "user", file: user })
  expect(settings.permissions.rules).toMatchObject([{ text: "WebFetch", scope: "managed" }])
  expect(files.map(({ scope }) => scope)).toEqual(["managed", "user"])
})

test("loadSettings() never runs a project's settings that nobody trusted, and names them", async () => {
  const project = put(PROJECT, marking(`{ model: "evil" }`))
  const local = put("project/.sous/settings.local.ts", marking(`{ model: "evil" }`))
  const { settings, warnings, files } = await load()
  expect(existsSync(join(place.folder, "ran"))).toBe(false)
  expect(settings.model).toBeUndefined()
  expect(files).toEqual([])
  expect(warnings).toEqual([expect.stringContaining(`all of "${local}"; all of "${project}"`)])
})

test("loadSettings() runs a trusted project's settings once, hooks and all", async () => {
  put(PROJECT, marking(`{ model: "theirs", hooks: { Stop: [{ command: "x" }] }, permissions: { allow: ["Read"] } }`))
  put("project/.sous/settings.local.ts", marking(`{ effort: "high" }`))
  put(USER, marking(`{ model: "user" }`))
  const { settings, hooks } = await load({ trust: true })
  expect(settings).toMatchObject({ model: "theirs", effort: "high" })
  expect(settings.permissions.rules).toMatchObject([{ text: "Read", scope: "project" }])
  expect(hooks.sources).toMatchObject([
    { event: "Stop", origin: { scope: "project", file: join(place.folder, PROJECT) } },
  ])
  expect(readFileSync(join(place.folder, "ran"), "utf8")).toBe("xxx")
})

test.each([
  ["throws", `throw new Error("no luck")`, "no luck"],
  ["exports nothing", `export const settings = {}`, "its default export is undefined, not an object with settings"],
  ["exports null", `export default null`, "its default export is null, not an object with settings"],
  ["exports a function", `export default () => ({})`, "its default export is function, not an object with settings"],
  ["does not compile", `export default {`, "Cannot compile"],
  ["imports what is not there", `import "./none.ts"\nexport default {}`, "there is no module"],
])("loadSettings() stops at code that %s, and names the file", async (_, text, reason) => {
  const file = put(USER, text)
  await expect(load()).rejects.toMatchObject({
    code: "SETTINGS_CODE_FAILED",
    message: expect.stringContaining(`Cannot load settings "${file}": `),
    details: { file, reason: expect.stringContaining(reason) },
  })
})

test("loadSettings() names a trusted project's own files, not their copies", async () => {
  const file = put(PROJECT, `export default {`)
  await expect(load({ trust: true })).rejects.toMatchObject({
    code: "SETTINGS_CODE_FAILED",
    details: { file, reason: expect.stringContaining(`Cannot compile "${file}"`) },
  })
})

test("loadSettings() checks code by the schema of all settings", async () => {
  const file = put(USER, `export default { modle: "x" }`)
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_KEY_UNKNOWN", details: { file, key: "modle" } })
})

test("loadSettings() refuses code where nothing loads it", async () => {
  put(USER, `export default {}`)
  await expect(load({ load: undefined })).rejects.toMatchObject({ code: "SETTINGS_CODE_FAILED" })
})

test("loadCode() waits no longer than it may", async () => {
  const never = () => new Promise<never>(() => {})
  await expect(loadCode("/s.ts", { load: never, budgetMs: 20 })).rejects.toMatchObject({
    code: "SETTINGS_CODE_TIMEOUT",
    message: 'Cannot load settings "/s.ts": loading took longer than 0.02 s',
  })
})

test("loadCode() reads the copy of what was trusted, and names the file", async () => {
  const load = async (file: string) => ({ default: { model: file } })
  expect(await loadCode("/p/s.ts", { load, copy: "/copy/s.ts" })).toEqual({ model: "/copy/s.ts" })
  const fail = async (file: string) => Promise.reject(new Error(file))
  await expect(loadCode("/p/s.ts", { load: fail, copy: "/copy/s.ts" })).rejects.toMatchObject({
    details: { file: "/p/s.ts", reason: "/p/s.ts" },
  })
})
