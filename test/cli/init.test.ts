import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { parse } from "yaml"
import { schemaProblems } from "../core/settings/json-schema-check.ts"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const FILES = ["settings.json", "settings.schema.json", "recipes/hello.ts", "recipes/hello.test.ts"]
const read = (path: string) => readFileSync(join(place.project, path), "utf8")

test("sous init sets up a folder that is empty: what it writes is checked and tested green at once", async () => {
  rmSync(join(place.project, ".git"), { recursive: true })
  const { code, stdout, stderr } = await place.run(["init"])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  for (const file of FILES) expect(stdout).toContain(`wrote     .sous/${file}\n`)
  expect(stdout).toContain("\nNext\n  sous test ")
  expect(stdout).not.toContain("sous trust")
  expect(readdirSync(place.project)).toEqual([".sous"])
  const tested = await place.run(["test"])
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok {4}\.sous\/recipes\/hello\.test\.ts/) })
  expect(await place.run(["check"])).toMatchObject({ code: 0 })
  expect(await place.run(["check", ".sous/recipes/hello.ts"])).toMatchObject({ code: 0 })
})

test("sous init trusts what it wrote, so that its recipe runs by name, and nothing that was there before", async () => {
  const script = place.put("model.yaml", "turns:\n  - { text: A folder. }\n")
  expect(JSON.parse((await place.run(["init", "--json"])).stdout).trusted).toBe(true)
  const run = ["run", "hello", "--model", `script:${script}`]
  expect(await place.run(run)).toMatchObject({ code: 0, stdout: "A folder.\n" })
  place.put("project/.sous/recipes/hello.ts", `${read(".sous/recipes/hello.ts")}\n`)
  expect((await place.run(run)).code).toBe(2)
  rmSync(join(place.project, ".sous"), { recursive: true })
  place.put("project/.sous/plugins/theirs.ts", "throw new Error()")
  const { stdout } = await place.run(["init"])
  expect(stdout).toContain("sous trust ")
  expect((await place.run(run)).code).toBe(2)
})

test("sous init writes a $schema that lies in the project, accepts the settings and refuses a misspelt key", async () => {
  await place.run(["init"])
  const settings = JSON.parse(read(".sous/settings.json"))
  expect(settings.$schema).toBe("./settings.schema.json")
  const schema = JSON.parse(read(".sous/settings.schema.json"))
  expect(schemaProblems(schema, settings)).toEqual([])
  expect(schemaProblems(schema, { ...settings, permisions: {} })).not.toEqual([])
  rmSync(join(place.project, ".sous"), { recursive: true })
  await place.run(["init", "--yaml"])
  const text = read(".sous/settings.yaml")
  expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/settings\.schema\.json\n/)
  expect(schemaProblems(schema, parse(text))).toEqual([])
})

test("sous init points to the schema of the installed package where the project has one", async () => {
  place.put("project/node_modules/sous/settings.schema.json", "{}")
  await place.run(["init"])
  const { $schema } = JSON.parse(read(".sous/settings.json"))
  expect(existsSync(join(place.project, ".sous", $schema))).toBe(true)
  expect(existsSync(join(place.project, ".sous/settings.schema.json"))).toBe(false)
})

test("sous init writes over nothing, names what was there, and has nothing to do the second time", async () => {
  place.put("project/.sous/settings.yaml", "model: mine\n")
  place.put("project/.sous/recipes/hello.ts", "// mine\n")
  place.put("project/.gitignore", "dist")
  const { code, stdout } = await place.run(["init", "--json"])
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 0,
    root: place.project,
    written: [".sous/settings.schema.json", ".sous/recipes/hello.test.ts", ".gitignore"],
    kept: [".sous/settings.yaml", ".sous/recipes/hello.ts"],
  })
  expect(read(".sous/settings.yaml")).toBe("model: mine\n")
  expect(read(".sous/recipes/hello.ts")).toBe("// mine\n")
  expect(read(".gitignore")).toBe("dist\n.sous/settings.local.*\n")
  const again = JSON.parse((await place.run(["init", "--json"])).stdout)
  expect(again.written).toEqual([])
  expect(read(".gitignore")).toBe("dist\n.sous/settings.local.*\n")
})

test("sous init leaves Claude Code's files as they are, and says that they are read", async () => {
  const text = '{ "permissions": { "deny": ["WebFetch"] } }'
  place.put("project/.claude/settings.json", text)
  const { stdout } = await place.run(["init"])
  expect(stdout).toContain(".claude/settings.json, as it is")
  expect(read(".claude/settings.json")).toBe(text)
})

test("sous init sets up the project that a folder belongs to", async () => {
  mkdirSync(join(place.project, "src"))
  const child = await place.run(["init", "--json"], { node: ["--import", `data:text/javascript,process.chdir("src")`] })
  expect(JSON.parse(child.stdout).root).toBe(place.project)
})

test("sous init refuses the home folder, a folder that leads elsewhere, and one that it may not write to", async () => {
  const inHome = await place.run(["init"], { node: ["--import", `data:text/javascript,process.chdir("../home")`] })
  expect(inHome).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INIT_REFUSED") })
  mkdirSync(join(place.folder, "elsewhere"))
  symlinkSync("../elsewhere", join(place.project, ".sous"))
  expect(await place.run(["init"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("SETTINGS_WRITE_OUTSIDE"),
  })
  expect(readdirSync(join(place.folder, "elsewhere"))).toEqual([])
  rmSync(join(place.project, ".sous"))
  place.put("project/.sous", "a file")
  expect(await place.run(["init"])).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INIT_FAILED") })
})

test("sous init does not run inside of a run", async () => {
  const { code, stderr } = await place.run(["init"], { more: { SOUS_SESSION_ID: "x" } })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
  expect(existsSync(join(place.project, ".sous"))).toBe(false)
})
