/**
 * Packs from outside: what a person is shown and asked, what is written, and what then runs.
 */
import { once } from "node:events"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { commit, createRegistry, type Files, packArchive } from "../core/pack/sources.ts"
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

describe("sous add", () => {
  it("shows what a pack may do, in full, and keeps nothing without a yes", async () => {
    putPack("one", {
      "sous.pack.yaml": `${HEAD("one")}plugins: [a.ts]\nhooks: { Stop: [{ command: "npx checker@latest --fast" }] }\npermissions: { allow: ["Bash(npm test)"], deny: ["Bash(rm *)"] }\ncapabilities: { tools: [Look], net: [api.example.com], exec: [git], env: [HOME], write: [out] }\nagents: [a.md]\n`,
      "a.ts": "export default { name: 'a' }",
    })
    const { code, stderr } = await place.run(["add", "./packs/one"])
    expect(code).toBe(2)
    for (const line of [
      "! allows without a question: Bash(npm test)",
      "- refuses: Bash(rm *)",
      "! on Stop starts, with your rights: npx checker@latest --fast",
      "! fetches code anew at each start, which no lock holds: npx checker@latest --fast",
      "the plugin a.ts runs in a process of its own",
      "adds the tool Look",
      "runs the program git",
      "talks to the host api.example.com",
      "sees the environment variable HOME",
      "writes files in out",
      "not used yet: agents a.md",
      'mend  read what it may do, then run "sous add ./packs/one --yes"',
      "PACK_NOT_CONFIRMED",
    ])
      expect(stderr).toContain(line)
    expect(existsSync(join(place.project, "sous.lock"))).toBe(false)
    expect(existsSync(join(place.project, ".sous"))).toBe(false)
    expect(existsSync(content())).toBe(false)
  })

  it("writes settings and lock, keeps what stands there, and trusts what its person agreed to", async () => {
    place.put("project/.sous/settings.json", '{\n  // mine\n  "maxTurns": 7\n}\n')
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    await ok(["add", "./packs/one", "--yes"])
    const text = readFileSync(join(place.project, ".sous/settings.json"), "utf8")
    expect(text).toContain("// mine")
    expect(text).toContain('"one": "./packs/one"')
    expect(lock()).toMatchObject({
      lockVersion: 1,
      packs: { one: { version: "1.0.0", source: "./packs/one", resolved: "file:./packs/one" } },
    })
  })

  it("takes a pack for the person with --user, wherever it is named from", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    await ok(["add", "./packs/one", "--user", "--yes"])
    const config = join(place.home, ".config/sous")
    expect(JSON.parse(readFileSync(join(config, "settings.json"), "utf8")).packs).toEqual({
      one: join(place.project, "packs/one"),
    })
    expect(existsSync(join(config, "sous.lock"))).toBe(true)
    expect((await ok(["packs", "--json"])).stdout).toContain('"scope":"user"')
    await ok(["remove", "one", "--user"])
    expect((await ok(["packs", "--json"])).stdout).toBe("[]\n")
  })

  it.each<[string[], RegExp]>([
    [["add", "owner/repo"], /PACK_SOURCE_INVALID[\s\S]*|write "github:owner\/repo"/],
    [["add", "http://registry.example/p.tgz"], /PACK_SOURCE_UNSAFE/],
    [["add", "git://example.com/a.git"], /PACK_SOURCE_UNSAFE/],
    [["add", "git+http://example.com/a.git"], /PACK_SOURCE_UNSAFE/],
    [["add", "git+ext::sh -c true"], /PACK_SOURCE_INVALID/],
    [["add", "https://me:secret@example.com/a.tgz"], /PACK_SOURCE_UNSAFE/],
    [["add", "./nowhere"], /TREE_FILE_UNREADABLE/],
    [["add", "__proto__"], /PACK_FETCH_FAILED/],
    [["add"], /CLI_ARGUMENT_MISSING/],
    [["remove", "nowhere"], /PACK_UNKNOWN/],
    [["update", "nowhere"], /PACK_UNKNOWN/],
    [["packs", "instal"], /write "install"/],
  ])("refuses %j", async (args, says) => {
    const { code, stderr } = await place.run([...args, ...(args[0] === "add" ? ["--yes"] : [])], {
      more: { npm_config_registry: "http://127.0.0.1:1/" },
    })
    expect([code, stderr]).toEqual([2, expect.stringMatching(says)])
    expect(stderr).not.toContain("secret")
  })

  it.each(["Bash", "Read"])("refuses a pack whose tool would stand in for %s", async (name) => {
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}capabilities: { tools: [${name}] }\n` })
    expect((await place.run(["add", "./packs/one", "--yes"])).stderr).toContain("PACK_TOOL_TAKEN")
  })

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
    const { stdout } = await ok(["run", "licenses/audit"])
    expect(stdout).toContain('"packages":1')
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
    await ok(["packs", "install"])
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
      expect((await ok(script("true"))).stderr).toContain('tool "More"')
    }
  })
})

describe("sous update", () => {
  const publish = (version: string, more: string) => putPack("one", { "sous.pack.yaml": HEAD("one", version) + more })

  it("shows what is more and what is less, and asks again", async () => {
    publish("1.0.0", 'permissions: { deny: ["Bash(rm *)"] }\n')
    await ok(["add", "./packs/one", "--yes"])
    publish("1.1.0", 'hooks: { Stop: [{ command: "true" }] }\nmcpServers: { web: { command: x } }\n')
    const before = lock()
    const asked = await place.run(["update"])
    expect(asked.code).toBe(2)
    expect(asked.stderr).toMatch(
      /1\.0\.0 → 1\.1\.0[\s\S]*may do more than before[\s\S]*\+! on Stop[\s\S]*\+\. not used yet: mcpServers web[\s\S]*−- refuses: Bash\(rm \*\)[\s\S]*PACK_NOT_CONFIRMED/,
    )
    expect(lock()).toEqual(before)
    await ok(["update", "one", "--yes"])
    expect(lock().packs.one.version).toBe("1.1.0")
  })

  it("says so when a pack may do no more than before, and when nothing is new", async () => {
    publish("1.0.0", "capabilities: { net: [a.example, b.example] }\n")
    await ok(["add", "./packs/one", "--yes"])
    expect((await ok(["update"])).stdout).toBe("one 1.0.0 is up to date\n")
    publish("1.0.1", "capabilities: { net: [a.example] }\n")
    expect((await place.run(["update"])).stderr).toMatch(/no more than before[\s\S]*PACK_NOT_CONFIRMED/)
    expect((await ok(["update", "--yes"])).stderr).toMatch(
      /no more than before[\s\S]*− {2}talks to the host b\.example/,
    )
  })

  it("pins a branch anew only when it is asked, and adds no plugin that a marketplace has got", async () => {
    const repository = join(place.folder, "repository")
    const first = commit(repository, { ".claude-plugin/plugin.json": '{ "name": "one" }' })
    await ok(["add", `git+file://${repository}#main`, "--yes"])
    const plugins = [{ name: "two", source: "./two" }]
    const second = commit(repository, {
      ".claude-plugin/marketplace.json": JSON.stringify({ name: "m", plugins }),
      "two/.claude-plugin/plugin.json": '{ "name": "two" }',
    })
    await ok(["packs", "install"])
    expect(lock().packs.one.resolved).toContain(first)
    expect((await place.run(["outdated", "--json"])).stdout).toContain(second)
    await ok(["update", "--yes"])
    expect(lock().packs.one.resolved).toContain(second)
    expect([Object.keys(lock().packs), Object.keys(settings().packs)]).toEqual([["one"], ["one"]])
  })
})

describe("a frozen lock", () => {
  it("is what CI has: nothing is resolved there, and what is locked can be installed", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    await ok(["add", "./packs/one", "--yes"])
    rmSync(content(), { recursive: true })
    for (const args of [["add", "./packs/one"], ["update"]]) {
      expect((await place.run([...args, "--yes"], { more: { CI: "true" } })).stderr).toContain("PACK_FROZEN")
      expect((await place.run([...args, "--yes", "--frozen"])).stderr).toContain("PACK_FROZEN")
    }
    await ok(["packs", "install"], { more: { CI: "true" } })
    expect(readdirSync(content())).toEqual([lock().packs.one.tree])
    await ok(["update", "--yes", "--no-frozen"], { more: { CI: "true" } })
  })

  it("refuses a lock that pins nothing", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    await ok(["add", "./packs/one", "--yes"])
    const file = join(place.project, "sous.lock")
    writeFileSync(file, readFileSync(file, "utf8").replace("file:./packs/one", "git+https://example.com/x/y#main"))
    expect((await place.run(["packs", "install"])).stderr).toContain("PACK_LOCK_INVALID")
  })
})

describe("from inside a run", () => {
  it.each([["add", "./packs/one"], ["remove", "one"], ["update"], ["outdated"], ["packs", "install"]])(
    "sous %s %s is refused",
    async (...args) => {
      putPack("one", { "sous.pack.yaml": HEAD("one") })
      const { code, stderr } = await place.run(args.filter(Boolean), { more: { SOUS_SESSION_ID: "s" } })
      expect([code, stderr]).toEqual([2, expect.stringContaining("CLI_INSIDE_RUN")])
    },
  )
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
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`f${index}.txt`, `${index}`]))
    for (const [index, wait] of [150, 200, 250, 300, 350, 400].entries()) {
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
    expect([code, stderr]).toEqual([130, expect.stringContaining("nothing was changed")])
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
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(lock().packs.one.version).toBe("1.0.0")
  })
})

it("takes archives and keeps what is in one of them from leaving its folder", async () => {
  mkdirSync(join(place.project, "packs"), { recursive: true })
  writeFileSync(join(place.project, "packs/one.tgz"), packArchive({ "sous.pack.yaml": HEAD("one") }))
  await ok(["add", "packs/one.tgz", "--yes"])
  expect(lock().packs.one).toMatchObject({ source: "./packs/one.tgz", integrity: expect.stringMatching(/^sha512-/) })
})
