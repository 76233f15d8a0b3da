/**
 * Packs from outside: what a person is shown and asked, what is written, and what then runs.
 */
import { once } from "node:events"
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { createRegistry, type Files } from "../core/pack/sources.ts"
import { after } from "../harness.ts"
import { type Ended, finished, type Place, type RunOptions, useCommand } from "./command.ts"
import { hasTmux, openTerminal } from "./tmux.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const shipped = fileURLToPath(new URL("../../recipes/packs", import.meta.url))
const HEAD = (name: string, version = "1.0.0") => `name: ${name}\nversion: ${version}\napiVersion: 1\n`

function putPack(name: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) place.put(`project/packs/${name}/${path}`, text)
}

async function ok(args: string[], options?: RunOptions): Promise<Ended> {
  const ended = await place.run(args, options)
  expect(ended.code, `sous ${args.join(" ")}\n${ended.stdout}${ended.stderr}`).toBe(0)
  return ended
}

const settings = () => JSON.parse(readFileSync(join(place.project, ".sous/settings.json"), "utf8"))
const lock = () => JSON.parse(readFileSync(join(place.project, "sous.lock"), "utf8"))
const content = () => join(place.home, ".local/share/sous/content")

/** Asks the model's one question of a scripted run. */
function script(command: string): string[] {
  const turns = `turns:\n  - tool: { Bash: { command: ${JSON.stringify(command)} } }\n  - text: done\n`
  return ["-p", "go", "--model", `script:${place.put("turns.yaml", turns)}`]
}

describe("a pack from a registry", () => {
  it("runs no script of a package, and installs its dependencies with it", async () => {
    const registry = await createRegistry()
    after(() => registry.close())
    const marker = join(place.folder, "ran")
    const scripts = { preinstall: `touch ${marker}`, postinstall: `touch ${marker}`, prepare: `touch ${marker}` }
    registry.publish("left", "1.0.0", { "index.js": "exports.side = 'left'" }, { scripts, main: "index.js" })
    const plugin = `import { side } from "left"\nexport default { name: "lefty", tools: [{ name: "Side", description: side, input: { type: "object" }, readOnly: true, execute: async () => side }] }\n`
    const sous = { apiVersion: 1, plugins: ["plugin.ts"], capabilities: { tools: ["Side"] } }
    registry.publish(
      "lefty",
      "1.0.0",
      { "plugin.ts": plugin },
      { sous, scripts, type: "module", dependencies: { left: "^1" } },
    )
    const more = { npm_config_registry: registry.url }
    await ok(["add", "lefty", "--yes"], { more })
    expect(existsSync(marker)).toBe(false)
    expect(settings().packs).toEqual({ lefty: "npm:lefty@^1.0.0" })
    expect(lock().packs.lefty.dependencies["node_modules/left"].integrity).toMatch(/^sha512-/)
    const turns = place.put(
      "turns.yaml",
      "turns:\n  - tool: { Side: {} }\n  - expect: { last_user_contains: left }\n    text: done\n",
    )
    const run = await ok(["-p", "go", "--model", `script:${turns}`], { more })
    expect(run.stdout).toBe("done\n")
    rmSync(content(), { recursive: true })
    expect((await place.run(["-p", "go", "--model", `script:${turns}`])).stderr).toContain("sous packs install")
    await ok(["packs", "install"], { more })
    expect((await ok(["-p", "go", "--model", `script:${turns}`])).stdout).toBe("done\n")
    registry.publish("lefty", "1.1.0", { "plugin.ts": plugin }, { sous, type: "module" })
    expect((await place.run(["outdated"], { more })).stdout).toBe("outdated  lefty 1.0.0 → 1.1.0\n")
  })
})

describe("the shipped packs", () => {
  const add = async (name: string) => {
    cpSync(join(shipped, name), join(place.project, "packs", name), { recursive: true })
    await ok(["add", `./packs/${name}`, "--yes"])
  }

  it("branch-guard refuses in a process of its own what its rules and its hook refuse, and asks before a push", async () => {
    writeFileSync(join(place.project, ".git/HEAD"), "ref: refs/heads/main\n")
    await add("branch-guard")
    const said = async (command: string) => (await place.run([...script(command), "-A", "--json"])).stdout
    expect(await said("git push --force origin topic")).toMatch(/refuses|deny/)
    const commits = await said("git -C . commit -m x")
    expect(commits).toContain("git switch -c NAME")
    writeFileSync(join(place.project, ".git/HEAD"), "ref: refs/heads/topic\n")
    expect(await said("git -C . commit -m x")).not.toContain("git switch -c NAME")
  })

  it("licenses runs its recipe with its own tool", async () => {
    await add("licenses")
    place.put("project/node_modules/a/package.json", '{"name":"a","version":"1.0.0","license":"MIT"}')
    const model = ["--model", `script:${place.put("turns.yaml", "turns: []\n")}`]
    const { stdout } = await ok(["run", "licenses/audit", ...model])
    expect(JSON.parse(stdout)).toEqual({ packages: 1, problems: [], notes: [] })
    const { code, stderr } = await place.run(["run", "licenses/adit"])
    expect([code, stderr]).toEqual([2, expect.stringContaining('write "licenses/audit"')])
  })
})

describe("a pack at work", () => {
  const MARK = (line: string) => `${HEAD("one")}hooks: { SessionStart: [{ command: '${line}' }] }\n`

  it("starts its hooks from its copy, with its folders in the environment", async () => {
    putPack("one", {
      "sous.pack.yaml": MARK('sh "${SOUS_PACK_ROOT}/mark.sh"'),
      "mark.sh": 'pwd > "$SOUS_PROJECT_DIR/ran"; echo "$SOUS_PACK_ROOT" >> ran\n',
    })
    await ok(["add", "./packs/one", "--yes"])
    rmSync(join(place.project, "packs"), { recursive: true })
    await ok(["trust", "--yes"])
    await ok(script("true"))
    const [folder, root] = readFileSync(join(place.project, "ran"), "utf8").trim().split("\n")
    expect([folder, root]).toEqual([place.project, join(content(), lock().packs.one.tree)])
  })

  it("is told of when it lies where a clone of the project cannot find it", async () => {
    place.put("outside/sous.pack.yaml", HEAD("outside"))
    putPack("inside", { "sous.pack.yaml": HEAD("inside") })
    const { stderr } = await ok(["add", "../outside", "--yes"])
    expect(stderr).toContain("who clones the project cannot fetch it from ../outside\n")
    expect((await ok(["add", "./packs/inside", "--yes"])).stderr).not.toContain("clones")
    expect((await ok(["add", "../outside", "--yes", "--user"])).stderr).not.toContain("clones")
  })

  it("has no effect in a project that nobody trusts, and stops nothing there", async () => {
    putPack("one", { "sous.pack.yaml": MARK("touch ran") })
    await ok(["add", "./packs/one", "--yes"])
    await ok(["trust", "revoke"])
    const { stderr } = await ok(script("true"))
    expect(existsSync(join(place.project, "ran"))).toBe(false)
    expect(stderr).toContain("packs")
    await ok(["trust", "--yes"])
    await ok(script("true"))
    expect(existsSync(join(place.project, "ran"))).toBe(true)
  })

  it("is not loaded when a clone brings another lock, until its person trusts that", async () => {
    putPack("one", { "sous.pack.yaml": MARK("touch ran") })
    await ok(["add", "./packs/one", "--yes"])
    const file = join(place.project, "sous.lock")
    writeFileSync(file, readFileSync(file, "utf8").replace('"version": "1.0.0"', '"version": "1.0.1"'))
    const { stderr } = await ok(script("true"))
    expect(stderr).toContain("sous.lock")
    expect(existsSync(join(place.project, "ran"))).toBe(false)
  })

  it("never beats a rule that asks or denies, whatever its hook says", async () => {
    putPack("one", {
      "sous.pack.yaml": `${HEAD("one")}hooks: { PreToolUse: [{ matcher: "*", command: 'echo allow' }] }\n`,
    })
    await ok(["add", "./packs/one", "--yes"])
    place.put(
      "home/.config/sous/settings.json",
      '{ "permissions": { "deny": ["Bash(touch denied)"], "ask": ["Bash(touch asked)"] } }',
    )
    for (const name of ["denied", "asked"]) {
      await place.run(script(`touch ${name}`))
      expect(existsSync(join(place.project, name))).toBe(false)
    }
  })

  it("that is a Claude Code plugin runs its hooks in that protocol, from CLAUDE_PLUGIN_ROOT", async () => {
    putPack("one", {
      ".claude-plugin/plugin.json": '{ "name": "one", "version": "2.0.0", "commands": "./commands" }',
      "commands/a.md": "",
      "hooks/hooks.json": JSON.stringify({
        hooks: {
          PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: '"${CLAUDE_PLUGIN_ROOT}/no.sh"' }] }],
        },
      }),
      "no.sh": '#!/bin/sh\necho "not here: $CLAUDE_PROJECT_DIR" >&2\nexit 2\n',
    })
    chmodSync(join(place.project, "packs/one/no.sh"), 0o755)
    const { stderr } = await ok(["add", "./packs/one", "--yes"])
    expect(stderr).toContain("not used yet: commands")
    const { stdout } = await place.run([...script("touch made"), "-A", "--json"])
    expect(stdout).toContain(`not here: ${place.project}`)
    expect(existsSync(join(place.project, "made"))).toBe(false)
  })

  it("with one changed byte stops the run that it guards, and says which file", async () => {
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}permissions: { deny: ["Bash(rm *)"] }\n`, "a.txt": "a" })
    await ok(["add", "./packs/one", "--yes"])
    const copy = join(content(), lock().packs.one.tree, "a.txt")
    chmodSync(copy, 0o600)
    writeFileSync(copy, "b")
    const { code, stderr } = await place.run(script("true"))
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/changed in a\.txt[\s\S]*sous packs install[\s\S]*PACK_CHANGED/),
    ])
    const { stdout: listed } = await ok(["packs", "install", "--json"])
    expect(JSON.parse(listed)).toContainEqual({ name: expect.any(String), version: expect.any(String), isNew: true })
    await ok(script("true"))
  })

  it("that understates what its plugin adds is refused, in its own process and in this one", async () => {
    putPack("one", {
      "sous.pack.yaml": `${HEAD("one")}plugins: [a.ts]\ncapabilities: { tools: [Look] }\n`,
      "a.ts": `const tool = (name) => ({ name, description: "d", input: { type: "object" }, execute: async () => "x" })\nexport default { name: "a", setup: () => ({ tools: [tool("Look"), tool("More")] }) }\n`,
    })
    for (const flags of [[], ["--in-process"]]) {
      await ok(["add", "./packs/one", "--yes", ...flags])
      const { stderr } = await place.run([...script("true"), "--strict"])
      expect(stderr).toMatch(/adds the tool "More", which the manifest does not list[\s\S]*PACK_UNDERSTATES/)
    }
  })
})

describe("several at once, and the sudden end of one", () => {
  it("loses nothing of what others add at the same time", async () => {
    const names = ["a", "b", "c", "d"]
    for (const name of names) putPack(name, { "sous.pack.yaml": HEAD(name) })
    await Promise.all(names.map((name) => ok(["add", `./packs/${name}`, "--yes"])))
    expect(Object.keys(settings().packs).sort()).toEqual(names)
    expect(Object.keys(lock().packs).sort()).toEqual(names)
  })

  it("leaves settings and lock in agreement when it is killed at any moment", async () => {
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}.txt`, `${index}`]))
    for (const [index, wait] of [120, 180, 240, 320].entries()) {
      const name = `p${index}`
      putPack(name, { "sous.pack.yaml": HEAD(name), ...files })
      const child = place.start(["add", `./packs/${name}`, "--yes"])
      const timer = setTimeout(() => child.kill("SIGKILL"), wait)
      await once(child, "close")
      clearTimeout(timer)
      const named: object = existsSync(join(place.project, ".sous/settings.json")) ? (settings().packs ?? {}) : {}
      const locked: object = existsSync(join(place.project, "sous.lock")) ? lock().packs : {}
      expect(Object.keys(locked)).toEqual(expect.arrayContaining(Object.keys(named)))
    }
    await ok(["packs"])
  }, 60_000)

  it("ends cleanly at an interruption: nothing is changed, nothing is left", async () => {
    const registry = await createRegistry()
    after(() => registry.close())
    registry.publish("slow", "1.0.0", {}, { sous: { apiVersion: 1 } })
    registry.stall()
    const child = place.start(["add", "slow", "--yes"], { more: { npm_config_registry: registry.url } })
    await expect.poll(() => registry.asked.length, { timeout: 10_000 }).toBeGreaterThan(0)
    child.kill("SIGINT")
    const { code, stderr } = await finished(child)
    expect([code, stderr]).toEqual([130, expect.stringContaining("nothing more was changed")])
    expect(readdirSync(join(place.home, ".local/share/sous/staging"))).toEqual([])
    expect(existsSync(join(place.project, "sous.lock"))).toBe(false)
  })
})

describe.skipIf(!hasTmux)("sous add on a terminal", () => {
  it("asks, and keeps the pack after y alone", async () => {
    const terminal = openTerminal(place)
    after(() => terminal.close())
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}permissions: { allow: ["Bash(npm test)"] }\n` })
    terminal.start(["add", "./packs/one"])
    const shown = await terminal.shown("y yes")
    expect(shown.join("\n")).toMatch(/! allows without a question: Bash\(npm test\)[\s\S]*Add one 1\.0\.0\?/)
    terminal.press("n")
    await terminal.shown("ended with 1")
    expect(existsSync(join(place.project, "sous.lock"))).toBe(false)
    terminal.start(["add", "./packs/one"])
    await terminal.shown("y yes")
    terminal.press("C-c")
    expect((await terminal.shown("ended with")).join("\n")).toContain("ended with 130")
    expect(existsSync(join(place.project, "sous.lock"))).toBe(false)
    terminal.start(["add", "./packs/one"])
    await terminal.shown("y yes")
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(lock().packs.one.version).toBe("1.0.0")
  })
})
