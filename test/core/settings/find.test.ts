import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { firstFile } from "../../../core/settings/explorer.ts"
import { findSettingsFile } from "../../../core/settings/find.ts"

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-find-")))
})

afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

test("findSettingsFile() takes the first ending, and says what it does not read", async () => {
  const yaml = put("settings.yaml", "model: x\n")
  const code = put("settings.ts", "")
  const jsonc = put("settings.jsonc", "{}")
  put("settings.local.json", "{}")
  const { found, warnings } = await findSettingsFile(folder, "settings")
  expect(found).toEqual({ file: yaml, text: "model: x\n" })
  expect(warnings).toEqual([
    `"${code}" is not read: "settings.yaml" beside it is`,
    `"${jsonc}" is not read: only .json, .yaml, .yml, .ts are`,
  ])
})

test("findSettingsFile() finds nothing where there is no folder, and in a file", async () => {
  expect(await findSettingsFile(join(folder, "none"), "settings")).toEqual({ warnings: [] })
  expect(await findSettingsFile(put("file", ""), "settings")).toEqual({ warnings: [] })
})

test.each([
  ["a folder", () => mkdirSync(join(folder, "settings.json")), "it is a folder"],
  ["a pipe", () => execFileSync("mkfifo", [join(folder, "settings.json")]), "it is a pipe, not a file"],
  ["a device", () => symlinkSync("/dev/zero", join(folder, "settings.json")), "it is a device, not a file"],
  ["a link that leads nowhere", () => symlinkSync("nowhere", join(folder, "settings.json")), "ENOENT"],
])("findSettingsFile() never passes over %s", async (_, make, reason) => {
  make()
  put("settings.yaml", "model: weaker\n")
  await expect(findSettingsFile(folder, "settings")).rejects.toMatchObject({
    code: "SETTINGS_FILE_UNREADABLE",
    details: { file: join(folder, "settings.json"), reason },
  })
})

test.runIf(process.getuid?.() !== 0)("findSettingsFile() never passes over a file that it may not read", async () => {
  chmodSync(put("settings.json", "{}"), 0)
  put("settings.yaml", "model: weaker\n")
  await expect(findSettingsFile(folder, "settings")).rejects.toMatchObject({ details: { reason: "EACCES" } })
})

test("findSettingsFile() takes a file without text for the file, and no weaker one", async () => {
  const file = put("settings.json", "")
  put("settings.yaml", "model: weaker\n")
  expect((await findSettingsFile(folder, "settings")).found).toEqual({ file, text: "" })
})

test("firstFile() runs and loads nothing of what configures the library itself", async () => {
  const ran = join(folder, "ran")
  const evil = `require("node:fs").writeFileSync(${JSON.stringify(ran)}, "")\nmodule.exports = {}\n`
  for (const name of ["config.js", "config.cjs", "config.ts", "config.mjs", "sousrc.js", "sousrc.ts"])
    put(`.config/${name}`, name.endsWith("mjs") ? evil.replace("require", "await import").replace(/mod.*/, "") : evil)
  for (const name of ["sous.config.js", "sous.config.ts", ".sousrc.js", "settings.js", "other.js"]) put(name, evil)
  put("package.json", JSON.stringify({ cosmiconfig: { searchPlaces: ["other.js"] }, sous: { $import: "./other.js" } }))
  const file = put("settings.json", `{ "$import": ["./other.js", "./settings.js"] }`)
  const before = process.cwd()
  process.chdir(folder)
  try {
    expect(await firstFile(folder, ["settings.json", "settings.yaml"])).toBe(file)
    expect(await firstFile(folder, ["package.json"])).toBeUndefined()
    expect(existsSync(ran)).toBe(false)
    // The control: what the package offers to everybody does run it, and fails at what it finds.
    const { cosmiconfig } = await import("cosmiconfig")
    await expect(cosmiconfig("sous").search(folder)).rejects.toThrow()
    expect(existsSync(ran)).toBe(true)
  } finally {
    process.chdir(before)
  }
})

test("firstFile() looks into the one folder", async () => {
  put("settings.json", "{}")
  put("below/note.txt", "")
  expect(await firstFile(join(folder, "below"), ["settings.json"])).toBeUndefined()
})
