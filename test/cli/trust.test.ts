/**
 * `sous trust` from outside: what it lists, what it asks, what it keeps, and that no agent gets anywhere with it.
 */

import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { projectFolder } from "../../core/session/store.ts"
import { type Place, useCommand } from "./command.ts"
import { hasTmux, openTerminal, type Terminal } from "./tmux.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const store = () => join(projectFolder(join(place.home, ".local/state/sous"), place.project), "trust.json")
const record = () => JSON.parse(readFileSync(store(), "utf8"))
const trust = (...args: string[]) => place.run(["trust", ...args])
const status = async () => JSON.parse((await trust("status", "--json")).stdout)

const SETTINGS = `{
  "model": "script:turns.yaml",
  "permissions": { "allow": ["Bash(make *)"], "deny": ["Bash(rm *)"], "rules": ["deny WebFetch", "allow Read"] },
  "env": { "TOKEN": "hidden-value" },
  "plugins": ["./tools/extra.ts"],
  "hooks": { "PreToolUse": [{ "matcher": "Bash", "command": "bash ./hooks/guard.sh --all" }] }
}
`

/** A project that brings one of each. */
function fill(): void {
  place.put("project/.sous/settings.json", SETTINGS)
  place.put("project/.sous/plugins/guard.ts", 'import "../../lib/part.ts"\nexport default { name: "guard" }\n')
  place.put("project/.sous/recipes/mine.yaml", "name: mine\ndescription: d\nsteps:\n  - id: make\n    sh: echo made\n")
  place.put("project/lib/part.ts", "export {}\n")
  place.put("project/tools/extra.ts", 'export default { name: "extra" }\n')
  place.put("project/hooks/guard.sh", "exit 0\n")
  place.put("project/turns.yaml", "turns:\n  - text: hello\n")
}

describe("sous trust", () => {
  it("says that there is nothing to trust", async () => {
    expect(await trust()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Nothing to trust: ".*project" brings/),
    })
    rmSync(join(place.project, ".git"), { recursive: true })
    expect((await trust()).stdout).toBe("Nothing to trust: this folder belongs to no project\n")
    expect(await trust("--follow", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("TRUST_PROJECT_MISSING"),
    })
  })

  it("lists all that would be added, refuses without a terminal, and keeps nothing", async () => {
    fill()
    const { code, stdout, stderr } = await trust()
    expect(code).toBe(2)
    expect(stderr).toContain("TRUST_NOT_ASKED")
    expect(stdout).toBe(`${place.project}: not trusted

Code that would run in this process
  plugin  .sous/plugins/guard.ts
  recipe  .sous/recipes/mine.yaml
  plugin  ./tools/extra.ts   .sous/settings.json:5

Commands that would be started
  PreToolUse(Bash) hook  bash ./hooks/guard.sh --all   .sous/settings.json:6

What agents would be allowed
  allow rule  Bash(make *)   .sous/settings.json:3
  rule, in order  allow Read   .sous/settings.json:3

Variables that would be set (values not shown)
  variable  TOKEN   .sous/settings.json:4

Other settings
  model  script:turns.yaml   .sous/settings.json:2

Files that count
  .sous/settings.json
  hooks/guard.sh
  lib/part.ts
  tools/extra.ts
`)
    expect(existsSync(store())).toBe(false)
    const json = JSON.parse((await trust("--json")).stdout)
    expect(json).toMatchObject({ state: "untrusted", isTrusted: false })
    expect(json.adds).toContainEqual({
      group: "environment",
      what: "variable",
      text: "TOKEN",
      file: ".sous/settings.json",
      line: 4,
    })
    expect(Object.keys(json.files)).toHaveLength(6)
  })

  it("--yes trusts what lies there: it works, and one byte later it does not, and the message names the file", async () => {
    fill()
    const prompt = ["-p", "hi"]
    const before = await place.run([...prompt, "--model", "script:turns.yaml"])
    expect(before.stderr).toMatch(/Left out, since nobody has trusted this project: .*guard\.ts.*"sous trust"/s)
    expect(await trust("--yes")).toMatchObject({ code: 0, stderr: expect.stringContaining("is trusted: 6 files") })
    expect(statSync(store()).mode & 0o777).toBe(0o600)
    expect(await status()).toMatchObject({ state: "trusted", isTrusted: true, since: record().at })
    expect(await place.run(prompt)).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" })
    expect(await place.run(["run", "mine"])).toMatchObject({ code: 0, stdout: expect.stringContaining("made") })
    place.put("project/lib/part.ts", "export {};\n")
    const after = await place.run([...prompt, "--model", "script:turns.yaml"])
    expect(after.stderr).toMatch(
      /not any more what was trusted on \d{4}-\d\d-\d\d, changed "lib\/part\.ts": .*"sous trust", or --trust/s,
    )
    const recipe = await place.run(["run", "mine"])
    expect(recipe).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/changed "lib\/part\.ts"[\s\S]*RECIPE_UNKNOWN/),
    })
    expect(await status()).toMatchObject({ state: "changed", changes: [{ file: "lib/part.ts", how: "changed" }] })
    expect((await trust("status")).stdout).toMatch(/not as it was trusted, since .*\n {2}changed {2}lib\/part\.ts\n$/)
    expect(await place.run([...prompt, "--trust"])).toMatchObject({ code: 0, stdout: "hello\n" })
    expect(await trust("--yes")).toMatchObject({ code: 0 })
    expect(await trust("--yes")).toMatchObject({ code: 0, stderr: "It is trusted already\n" })
    expect(await place.run(prompt)).toMatchObject({ code: 0, stdout: "hello\n" })
  }, 30_000)

  it("loads no plugin from outside of the project, which nobody would see change; revoke works with broken settings", async () => {
    place.put("outside/x.mjs", 'export default { name: "x" }')
    place.put("project/.sous/settings.json", '{ "plugins": ["../outside/x.mjs"] }')
    const plugins = async () => (await place.run(["plugins", "--json"])).stdout
    expect(await trust("--yes")).toMatchObject({ code: 0 })
    expect(await plugins()).toContain("lies outside of the project")
    expect(await trust("--follow", "--yes")).toMatchObject({ code: 0 })
    expect(await plugins()).not.toContain("lies outside of the project")
    place.put("project/.sous/settings.json", "{")
    expect((await trust("revoke", "--json")).stdout).toBe('{"revoked":true}\n')
  })

  it("--follow trusts the path whatever lies there, shown as such; revoke takes all back", async () => {
    fill()
    expect((await trust("--follow")).code).toBe(2)
    expect(await trust("--follow", "--yes")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("whatever lies there"),
    })
    place.put("project/lib/part.ts", "export {};\n")
    expect(await place.run(["-p", "hi"])).toMatchObject({ code: 0, stdout: "hello\n" })
    expect((await trust("status")).stdout).toMatch(/: trusted whatever lies there, since /)
    expect(await status()).toMatchObject({ state: "follows", isTrusted: true })
    expect(await trust("revoke")).toMatchObject({ code: 0, stderr: expect.stringContaining("not trusted any more") })
    expect((await trust("revoke", "--json")).stdout).toBe('{"revoked":false}\n')
    expect(await status()).toMatchObject({ state: "untrusted" })
    expect(existsSync(store())).toBe(false)
  }, 20_000)

  it("trusts nothing by a store that somebody else made, says why, and makes it anew", async () => {
    fill()
    await trust("--yes")
    const good = readFileSync(store(), "utf8")
    rmSync(store())
    place.put("planted.json", good)
    symlinkSync(join(place.folder, "planted.json"), store())
    expect((await place.run(["-p", "hi", "--model", "script:turns.yaml"])).stderr).toContain("symbolic link")
    expect(await trust("--yes")).toMatchObject({ code: 0 })
    expect(readFileSync(join(place.folder, "planted.json"), "utf8")).toBe(good)
    expect(await status()).toMatchObject({ state: "trusted" })
  }, 20_000)

  it("is kept whole when two say yes at once", async () => {
    fill()
    const both = await Promise.all([trust("--yes"), trust("--yes")])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(await status()).toMatchObject({ state: "trusted" })
    expect(readdirSync(join(store(), "..")).filter((name) => name.startsWith("trust"))).toEqual(["trust.json"])
  })

  it("refuses words and flags that it does not know, and to run inside of a run", async () => {
    expect(await trust("statsu")).toMatchObject({ code: 2, stderr: expect.stringContaining("sous trust status") })
    expect(await trust("status", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("CLI_ARGUMENT_UNEXPECTED"),
    })
    const inside = await place.run(["trust", "--yes"], { more: { SOUS_SESSION_ID: "s" } })
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
  })
})

describe("a hook of a trusted project", () => {
  const TURNS =
    "turns:\n  - tool: { Bash: { command: touch first } }\n  - tool: { Bash: { command: touch second } }\n  - text: done\n"
  const GUARD = { command: "node hooks/guard.mjs" }

  /** Runs two calls, between which a hook of the person's own changes a file. */
  async function runSwapping(hooks: object, swap: string) {
    place.put("project/.hooks.json", JSON.stringify({ hooks: { PreToolUse: [hooks] } }))
    place.put("project/hooks/guard.mjs", 'import "./part.mjs"\n')
    place.put("project/hooks/part.mjs", "export {}\n")
    place.put("project/turns.yaml", TURNS)
    const command = `cd "$SOUS_PROJECT_DIR" && ${swap}`
    place.put("home/.config/sous/.hooks.json", JSON.stringify({ hooks: { PostToolUse: [{ command }] } }))
    expect((await trust("--yes")).code).toBe(0)
    const more = { IS_SANDBOX: "1" }
    const ended = await place.run(["-p", "hi", "-A", "--json", "--model", "script:turns.yaml"], { more })
    expect(existsSync(join(place.project, "first"))).toBe(true)
    return { ...ended, isMade: existsSync(join(place.project, "second")) }
  }

  it.each(["guard", "part"])(
    "that was changed since does not run, blocks as a failed gate, and names %s",
    async (name) => {
      const { isMade, stdout } = await runSwapping(GUARD, `echo 'process.exit(0)' > hooks/${name}.mjs`)
      expect(isMade).toBe(false)
      expect(stdout).toContain(`\\"hooks/${name}.mjs\\" is not as it was trusted`)
    },
  )

  it("lets the event go on with a warning where it speaks the other protocol", async () => {
    const nested = { hooks: [{ type: "command", ...GUARD }] }
    const { isMade, stdout } = await runSwapping(nested, "echo 'process.exit(2)' > hooks/guard.mjs")
    expect(isMade).toBe(true)
    expect(stdout).toContain('\\"hooks/guard.mjs\\" is not as it was trusted')
  })

  it("runs on while its files are as they were", async () => {
    expect((await runSwapping(GUARD, "echo x > hooks/other.mjs")).isMade).toBe(true)
  })
})

describe("settings that are code", () => {
  it("run once they are trusted and not before, from what was hashed, and sous trust never runs them", async () => {
    place.put(
      "project/.sous/settings.ts",
      `import { appendFileSync } from "node:fs"
appendFileSync(${JSON.stringify(join(place.folder, "ran"))}, "x")
export default { model: "script:turns.yaml", plugins: ["./tools/extra.ts"] }
`,
    )
    place.put("project/tools/extra.ts", 'export default { name: "extra" }\n')
    place.put("project/turns.yaml", "turns:\n  - text: hello\n")
    const ran = () => existsSync(join(place.folder, "ran"))
    await place.run(["-p", "hi", "--model", "script:turns.yaml"])
    const { stdout } = await trust("--yes")
    expect(stdout).toContain("  settings  .sous/settings.ts\n")
    await trust("status")
    await trust()
    expect(ran()).toBe(false)
    expect(await place.run(["-p", "hi"])).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" })
    expect(ran()).toBe(true)
    rmSync(join(place.folder, "ran"))
    place.put("project/tools/extra.ts", 'export default { name: "other" }\n')
    const after = await place.run(["-p", "hi", "--model", "script:turns.yaml"])
    expect(after.stderr).toContain('changed "tools/extra.ts"')
    expect(ran()).toBe(false)
  }, 20_000)
})

describe("what a person sets by a command", () => {
  it("counts where there was nothing to trust, stays trusted, and gives no trust to anything else", async () => {
    place.put("project/turns.yaml", "turns:\n  - text: hello\n")
    await place.run(["init"])
    expect(await place.run(["config", "set", "model", "script:turns.yaml", "--scope", "project"])).toMatchObject({
      code: 0,
      stderr: "",
    })
    expect(await status()).toMatchObject({ state: "trusted" })
    expect(await place.run(["-p", "hi"])).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" })
    place.put("project/.sous/plugins/late.ts", 'export default { name: "late" }\n')
    const after = await place.run(["config", "set", "maxTurns", "3", "--scope", "local"])
    expect(after.stderr).toContain("It does not count")
    expect((await status()).changes.map(({ file }: { file: string }) => file)).toContain(".sous/plugins/late.ts")
  }, 20_000)
})

describe("an agent in a run", () => {
  it("trusts nothing by a start of its own, nor by one that has taken the mark out of its environment", async () => {
    fill()
    place.put("turns.yaml", "turns: [{ text: done }]\n")
    const model = ["--model", `script:${join(place.folder, "turns.yaml")}`]
    const starts = [
      ["-p", "hi", "--trust", ...model],
      ["plugins", "forget", "guard"],
      ["run", "x"],
      ["hooks", "test", "Stop"],
    ]
    const quoted = (args: string[]) => args.map((arg) => `'${arg}'`).join(" ")
    for (const args of starts) {
      // The shell around it still has the mark.
      const script = `env -u SOUS_SESSION_ID '${process.execPath}' '${place.file}' ${quoted(args)}; true`
      const { stderr } = spawnSync("sh", ["-c", script], {
        cwd: place.project,
        env: { ...place.env, SOUS_SESSION_ID: "x" },
        encoding: "utf8",
      })
      expect(stderr, args.join(" ")).toContain("CLI_INSIDE_RUN")
    }
  }, 20_000)

  const TRIES = [
    "sous trust --yes",
    "env -u SOUS_SESSION_ID sous trust --yes",
    "npx sous trust --yes",
    "unset SOUS_SESSION_ID; sous trust --follow --yes",
    "bash -c 'env -i PATH=$PATH HOME=$HOME sous trust --yes'",
    "echo y | script -qc 'sous trust' /dev/null",
    "sous config set permissions.defaultMode bypassPermissions",
    "env -u SOUS_SESSION_ID npx sous config set model x",
    "sous add ./evil",
    "sous permissions revoke --all",
    "sous init",
    'mkdir -p "$HOME/.local/state/sous/projects"; echo x > "$HOME/.local/state/sous/projects/trust.json"',
  ]

  it("gets nowhere through its shell, whatever it may do otherwise", async () => {
    fill()
    place.put("bin/sous", `#!/bin/sh\ntouch ${place.folder}/reached\nexec ${process.execPath} ${place.file} "$@"\n`)
    place.put("bin/npx", `#!/bin/sh\nexec "$@"\n`)
    for (const name of ["sous", "npx"]) chmodSync(join(place.folder, "bin", name), 0o755)
    // Denials in a row would end the run.
    const tries = TRIES.flatMap((command) => ["touch works", command])
    const turns = tries.map((command) => `  - tool: { Bash: { command: ${JSON.stringify(command)} } }\n`)
    place.put("project/turns.yaml", `turns:\n${turns.join("")}  - text: done\n`)
    const more = { IS_SANDBOX: "1", PATH: `${join(place.folder, "bin")}:${place.env.PATH}` }
    const before = readFileSync(join(place.project, ".sous/settings.json"), "utf8")
    const { stdout } = await place.run(["-p", "hi", "-A", "--json", "--model", "script:turns.yaml"], { more })
    expect(existsSync(join(place.project, "works"))).toBe(true)
    const denied = stdout.split("\n").filter((line) => line.includes('"source":"floor"'))
    expect(denied.length).toBeGreaterThanOrEqual(TRIES.length)
    expect(existsSync(join(place.folder, "reached"))).toBe(false)
    expect(existsSync(store())).toBe(false)
    expect(readFileSync(join(place.project, ".sous/settings.json"), "utf8")).toBe(before)
    expect(await status()).toMatchObject({ state: "untrusted" })
  }, 20_000)
})

describe.skipIf(!hasTmux)("sous trust on a terminal", () => {
  let terminal: Terminal
  afterEach(() => terminal?.close())
  const ask = async () => {
    fill()
    terminal = openTerminal(place)
    terminal.start(["trust"], { columns: 120, rows: 50 })
    return (await terminal.shown("no (Enter)")).join("\n")
  }

  it("asks after the list; Enter is a no", async () => {
    expect(await ask()).toMatch(
      /bash \.\/hooks\/guard\.sh --all[\s\S]*\? Trust ".*project" as it is\?[\s\S]*y yes {2}n no \(Enter\)/,
    )
    terminal.press("Enter")
    expect((await terminal.shown("ended with 1")).join("\n")).toContain("not trusted")
    expect(existsSync(store())).toBe(false)
  })

  it("trusts after y", async () => {
    await ask()
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(await status()).toMatchObject({ state: "trusted" })
  })

  it("says what changed while the person looked, and asks again", async () => {
    await ask()
    place.put("project/.sous/plugins/late.ts", "export default {}\n")
    terminal.press("y")
    const again = (await terminal.shown(/changed while you looked[\s\S]*no \(Enter\)/)).join("\n")
    expect(again.slice(again.indexOf("changed while you looked"))).toContain("plugin  .sous/plugins/late.ts")
    expect(existsSync(store())).toBe(false)
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(record().files).toHaveProperty([".sous/plugins/late.ts"])
  })
})
