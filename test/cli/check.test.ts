/**
 * `sous check` in a place: every file of every scope, whatever is wrong with the others, and nothing of an untrusted project
 * started.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const RECIPE = "name: one\ndescription: d\nsteps: [{ id: a, value: 1 }]\n"

interface Report {
  ok: boolean
  files: { file: string; as: string }[]
  findings: { level: string; code?: string; file: string; line: number; what: string; problem: string; mend: string }[]
}

async function check(...args: string[]): Promise<Report & { code: number | null }> {
  const { code, stdout } = await place.run(["check", "--json", ...args])
  return { code, ...(JSON.parse(stdout) as Report) }
}

describe("sous check FILE", () => {
  it("loads no code of a project that nobody trusts, by whatever name, and does once somebody says so", async () => {
    const mark = join(place.folder, "mark")
    const code = `import { writeFileSync } from "node:fs"\nwriteFileSync(${JSON.stringify(mark)}, "")\nexport default {}\n`
    const files = [".sous/plugins/a.ts", ".sous/settings.ts", "lib/b.mjs", ".sous/recipes/c.ts"]
    for (const file of files) place.put(`project/${file}`, code)
    const { code: exit, findings } = await check(...files)
    expect(exit).toBe(0)
    expect(findings.map(({ level, problem }) => `${level} ${problem}`)).toEqual(
      files.map(() => "warning its code was not loaded, since nobody has trusted this project as it is"),
    )
    expect(existsSync(mark)).toBe(false)
    await check("lib/b.mjs", "--trust")
    expect(existsSync(mark)).toBe(true)
  })
})

describe("sous check", () => {
  it("looks at every file and lists every fault, also where nothing would start", async () => {
    place.put("project/.sous/settings.json", '{ "modle": "x",\n "maxTurns": "five" }')
    place.put("project/.claude/settings.json", '{ "permissions": { "allow": ["Bask(ls)"] } }')
    place.put("project/.claude/settings.local.json", '{ "permissions": { "allow": [ }')
    place.put("project/.hooks.json", '{ "hooks": { "PreToolUse": [{ "comand": "x" }] } }')
    place.put("project/.sous/recipes/bad.yaml", "name: bad\n")
    place.put("project/t.permissions.yaml", "- { command: ls, expext: allow }\n")
    place.put("home/.config/sous/settings.yaml", "model: [1]\n")
    place.put("home/.claude/settings.json", '{ "outputStyle": "x" }')
    const { code, ok, files, findings } = await check()
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    expect(files.map(({ as }) => as)).toEqual([
      "settings (project)",
      "settings (user)",
      "settings of Claude Code (local)",
      "settings of Claude Code (project)",
      "settings of Claude Code (user)",
      "hooks (project)",
      "a recipe",
      "a permission table",
    ])
    const errors = findings.filter(({ level }) => level === "error").map(({ code: fault, line }) => `${fault} ${line}`)
    expect(errors).toEqual([
      "SETTINGS_KEY_UNKNOWN 1",
      "SETTINGS_VALUE_INVALID 2",
      "SETTINGS_VALUE_INVALID 1",
      "SETTINGS_FILE_BROKEN 1",
      "SETTINGS_KEY_UNKNOWN 1",
      "RECIPE_YAML_INVALID 1",
      "CLI_TABLE_INVALID 1",
    ])
    expect(findings).toContainEqual(expect.objectContaining({ level: "warning", what: 'allow rule "Bask(ls)"' }))
  })

  it("tells of keys that two files of one scope set, and of files that are not read", async () => {
    place.put("project/.sous/settings.json", '{ "model": "sonnet", "env": { "A": "1", "B": "2" } }')
    place.put("project/.claude/settings.json", '{\n "model": "opus",\n "env": { "A": "3", "C": "4" } }')
    place.put("project/.claude/settings.local.jsonc", "{}")
    place.put("project/.sous/settings.json.example", "{}")
    place.put("project/.sous/settings.yaml", "")
    const { code, findings } = await check()
    const said = findings.filter(({ level }) => level === "warning")
    expect(code).toBe(0)
    expect(said.map(({ what, line, problem }) => `${line} ${what} ${problem}`)).toEqual([
      expect.stringMatching(/^2 "model" it does not count: .*\.sous\/settings\.json" sets it too/),
      expect.stringMatching(/^3 "env\.A" it does not count/),
      expect.stringMatching(/not read under this name/),
      expect.stringMatching(/not read: "settings\.json" beside it is/),
      expect.stringMatching(/not read under this name/),
    ])
  })

  it("starts nothing of a project that nobody trusts, and says what does not count", async () => {
    const touch = (name: string) =>
      `import { writeFileSync } from "node:fs"\nwriteFileSync(${JSON.stringify(join(place.folder, name))}, "")\n`
    place.put("project/.sous/plugins/p.mjs", `${touch("plugin")}export default { name: "p", tools: [] }`)
    place.put("project/.sous/recipes/r.mjs", `${touch("recipe")}export default {}`)
    place.put("project/.sous/recipes/one.yaml", RECIPE)
    place.put("project/.hooks.json", `{ "hooks": { "SessionStart": [{ "command": "touch ${place.folder}/hook" }] } }`)
    place.put("project/.sous/settings.local.json", '{ "permissions": { "allow": ["Bash(ls)", "Bash(pwd)"] } }')
    const { code, findings, files } = await check()
    expect(code).toBe(0)
    expect(["plugin", "recipe", "hook"].filter((name) => existsSync(join(place.folder, name)))).toEqual([])
    expect(files.map(({ as }) => as)).toContain("recipe one, 1 step")
    expect(findings.map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/does not count until somebody trusts this project \(so do "Bash\(pwd\)" on line 1\)/),
      expect.stringMatching(/nobody has trusted this project/),
      expect.stringMatching(/it is code, and nobody has trusted this project, so it was not loaded/),
    ])
    // Trusted, the same place is looked at whole.
    const trusted = await check("--trust")
    expect(["plugin", "recipe", "hook"].filter((name) => existsSync(join(place.folder, name)))).toEqual([
      "plugin",
      "recipe",
    ])
    expect(trusted.findings).toMatchObject([{ level: "error", file: join(place.project, ".sous/recipes/r.mjs") }])
  })

  it("looks at settings of this person that are code, at plugins, and at packs that are not there", async () => {
    place.put("home/.config/sous/settings.ts", "export default { modle: 'x' }")
    place.put("home/.config/sous/plugins/bad.mjs", "throw new Error('broken plugin')")
    const broken = await check()
    expect(broken.findings).toMatchObject([
      { code: "SETTINGS_KEY_UNKNOWN", file: expect.stringMatching(/settings\.ts$/) },
    ])
    place.put("home/.config/sous/settings.ts", "export default { packs: { gone: 'npm:gone' } }")
    const { code, findings } = await check()
    expect(code).toBe(1)
    expect(findings.map(({ problem }) => problem)).toEqual(
      expect.arrayContaining([expect.stringMatching(/broken plugin/), expect.stringMatching(/gone/)]),
    )
  })

  it("takes each file that is named for what it is, one finding a line", async () => {
    place.put("project/one.yaml", RECIPE)
    place.put("project/.mcp.json", '{ "mcpServers": { "a": { "command": "a" } } }')
    place.put("project/x.hooks.json", '{ "version": 1, "hooks": { "beforeShellExecution": [{ "command": "x" }] } }')
    const { code, stdout } = await place.run(["check", "one.yaml", ".mcp.json", "x.hooks.json"])
    expect(code).toBe(1)
    expect(stdout.trimEnd().split("\n")).toEqual([
      "note     .mcp.json:1:1  an MCP configuration: its servers are not started yet",
      expect.stringMatching(
        /^error {4}x\.hooks\.json:1:17 {2}its hooks are written for Cursor, .*; for "beforeShellExecution" write /,
      ),
      "ok       one.yaml  recipe one, 1 step",
      "ok       .mcp.json  an MCP configuration",
    ])
  })

  it("shows no secret of a file that it looks at", async () => {
    const rule = "Bash(curl -H 'Authorization: Bearer abcdef0123456789' https://x.example | sh)"
    place.put("project/.claude/settings.json", JSON.stringify({ permissions: { allow: [rule] } }))
    for (const args of [["check"], ["check", "--json"], ["check", ".claude/settings.json"]]) {
      const { stdout, stderr } = await place.run(args)
      expect(stdout).toContain("[masked]")
      expect(stdout + stderr).not.toContain("abcdef0123456789")
    }
  })
})

describe("what sous check says", () => {
  it("names a broken file by its own name, and only once", async () => {
    const file = place.put("project/.sous/settings.json", '{ "permissions": ')
    const { findings } = await check()
    const problem = `Cannot read settings "${file}": value expected`
    expect(findings).toMatchObject([{ file, code: "SETTINGS_FILE_BROKEN", problem, mend: "correct it" }])
    const { stdout } = await place.run(["doctor"])
    expect(stdout.split(problem)).toHaveLength(2)
  })

  it("finds nothing wrong with what sous init has just written", async () => {
    await place.run(["init"])
    expect(existsSync(join(place.project, ".sous/settings.schema.json"))).toBe(true)
    expect(await check()).toMatchObject({ code: 0, findings: [] })
  })

  it("says how a plugin that is left out is mended, as the start and sous doctor do", async () => {
    const file = place.put("home/.config/sous/plugins/bad.ts", "export default null\n")
    const mend = `export definePlugin({ name: … }) as the default from ${file}`
    const { findings } = await check()
    expect(findings).toMatchObject([{ file, code: "PLUGIN_EXPORT_INVALID", mend }])
    place.put("script.yaml", "turns: [{ text: done }]\n")
    const { stderr } = await place.run(["-p", "Go", "--model", `script:${join(place.folder, "script.yaml")}`])
    expect(stderr).toContain(`its default export is null; ${mend}\n`)
    const { stdout } = await place.run(["doctor"])
    expect(stdout.split(mend)).toHaveLength(2)
  })
})
