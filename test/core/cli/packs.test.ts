/**
 * The commands about packs: what a person is shown and asked, and what is written after a yes.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { after } from "../../harness.ts"
import { commit, createRegistry, type Files, packArchive } from "../pack/sources.ts"
import { type CommandEnd, type CommandPlace, commandPlace } from "./place.ts"

let place: CommandPlace
beforeEach(() => {
  place = commandPlace()
})

const HEAD = (name: string, version = "1.0.0") => `name: ${name}\nversion: ${version}\napiVersion: 1\n`

function putPack(name: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) place.put(`packs/${name}/${path}`, text)
}

async function ok(args: string[], options?: Parameters<CommandPlace["run"]>[1]): Promise<CommandEnd> {
  const ended = await place.run(args, options)
  expect(ended.code, `sous ${args.join(" ")}\n${ended.stdout}${ended.stderr}`).toBe(0)
  return ended
}

const settings = () => place.read(".sous/settings.json")
const lock = () => place.read("sous.lock")
const content = () => join(place.home, ".local/share/sous/content")

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
    place.put(".sous/settings.json", '{\n  // mine\n  "maxTurns": 7\n}\n')
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

  it("lets no line break in a command pass for a line of its own", async () => {
    const command = JSON.stringify("true\n  - refuses: everything")
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}hooks: { Stop: [{ command: ${command} }] }\n` })
    const { stderr } = await place.run(["add", "./packs/one"])
    expect(stderr).toContain("starts, with your rights: true\\n  - refuses: everything")
  })

  it("leaves settings that are code to their person, and says what to write", async () => {
    place.put(".sous/settings.ts", "export default {}\n")
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    const { stderr } = await ok(["add", "./packs/one", "--yes"])
    expect(stderr).toContain('settings.ts: packs: { "one": "./packs/one" }')
    expect(lock().packs.one.source).toBe("./packs/one")
    expect(existsSync(join(place.project, ".sous/settings.json"))).toBe(false)
  })

  it("asks a person, and takes a yes for what was shown", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    const no = await place.run(["add", "./packs/one"], { answer: false })
    expect([no.code, no.asked]).toEqual([1, ["Add one 1.0.0?"]])
    expect(existsSync(join(place.project, "sous.lock"))).toBe(false)
    await ok(["add", "./packs/one"], { answer: true })
    expect(lock().packs.one.version).toBe("1.0.0")
  })

  it("keeps a trusted project trusted, and trusts none for it that was not", async () => {
    const status = async () => JSON.parse((await ok(["trust", "status", "--json"])).stdout).state
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    putPack("two", { "sous.pack.yaml": HEAD("two") })
    await ok(["add", "./packs/one", "--yes"])
    expect(await status()).toBe("trusted")
    await ok(["add", "./packs/two", "--yes"])
    await ok(["remove", "one"])
    expect(await status()).toBe("trusted")
    place.put("packs/two/more.txt", "what is loaded is the copy")
    await ok(["update", "--yes"])
    expect(await status()).toBe("trusted")
    place.put(".sous/plugins/own.ts", "export default { name: 'own' }\n")
    expect(await status()).toBe("changed")
    const { stderr } = await ok(["add", "./packs/one", "--yes"])
    expect(stderr).toContain('run "sous trust"')
    expect(await status()).toBe("changed")
  })

  it("lists what local settings name as well, with what keeps it from loading", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    await ok(["add", "./packs/one", "--yes"])
    place.put(".sous/settings.local.yaml", "packs: { two: ./packs/two }\n")
    const listed = JSON.parse((await ok(["packs", "--json"])).stdout)
    expect(listed.map(({ name, scope, fault }: any) => [name, scope, fault?.code])).toEqual([
      ["two", "local", "PACK_NOT_LOCKED"],
      ["one", "project", undefined],
    ])
  })

  it("says where there is no place for a pack", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one") })
    rmSync(join(place.project, ".git"), { recursive: true })
    const { code, stderr } = await place.run(["add", "./packs/one", "--yes"])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/sous init[\s\S]*PACK_PLACE_MISSING/)])
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
    [["add", "owner/repo"], /write "github:owner\/repo"[\s\S]*PACK_SOURCE_INVALID/],
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
      env: { npm_config_registry: "http://127.0.0.1:1/" },
    })
    expect([code, stderr]).toEqual([2, expect.stringMatching(says)])
    expect(stderr).not.toContain("secret")
  })

  it.each(["Bash", "Read"])("refuses a pack whose tool would stand in for %s", async (name) => {
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}capabilities: { tools: [${name}] }\n` })
    expect((await place.run(["add", "./packs/one", "--yes"])).stderr).toContain("PACK_TOOL_TAKEN")
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

  it("names the files that are different, also where nothing else is", async () => {
    putPack("one", { "sous.pack.yaml": HEAD("one"), "a.txt": "1", "b.txt": "1" })
    await ok(["add", "./packs/one", "--yes"])
    putPack("one", { "a.txt": "2" })
    expect((await ok(["update", "--yes"])).stderr).toMatch(/no more than before[\s\S]*Changed: a\.txt\n/)
  })

  it("stands out when a registry serves other bytes under the same version", async () => {
    const registry = await createRegistry()
    after(() => registry.close())
    const env = { npm_config_registry: registry.url }
    registry.publish("one", "1.0.0", {}, { sous: { apiVersion: 1 } })
    await ok(["add", "one", "--yes"], { env })
    registry.publish("one", "1.0.0", { "a.txt": "" }, { sous: { apiVersion: 1 } })
    const { code, stderr } = await place.run(["update"], { env })
    expect([code, stderr]).toEqual([2, expect.stringMatching(/may do more[\s\S]*is not what it was: other bytes/)])
    rmSync(content(), { recursive: true })
    expect((await place.run(["packs", "install"], { env })).stderr).toContain("PACK_FETCH_FAILED")
  })

  it("pins a branch anew only when it is asked, and adds no plugin that a marketplace has got", async () => {
    const repository = join(place.home, "repository")
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
    putPack("one", { "sous.pack.yaml": `${HEAD("one")}permissions: { deny: ["Bash(rm *)"] }\n` })
    await ok(["add", "./packs/one", "--yes"])
    rmSync(content(), { recursive: true })
    for (const args of [["add", "./packs/one"], ["update"]]) {
      expect((await place.run([...args, "--yes"], { env: { CI: "true" } })).stderr).toContain("PACK_FROZEN")
      expect((await place.run([...args, "--yes", "--frozen"])).stderr).toContain("PACK_FROZEN")
    }
    const { stderr } = await ok(["packs", "install"], { env: { CI: "true" } })
    expect(stderr).toContain("- refuses: Bash(rm *)")
    expect(readdirSync(content())).toEqual([lock().packs.one.tree])
    await ok(["update", "--yes", "--no-frozen"], { env: { CI: "true" } })
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
      const { code, stderr } = await place.run(args.filter(Boolean), { env: { SOUS_SESSION_ID: "s" } })
      expect([code, stderr]).toEqual([2, expect.stringContaining("CLI_INSIDE_RUN")])
    },
  )
})

it("takes archives and keeps what is in one of them from leaving its folder", async () => {
  mkdirSync(join(place.project, "packs"), { recursive: true })
  writeFileSync(join(place.project, "packs/one.tgz"), packArchive({ "sous.pack.yaml": HEAD("one") }))
  await ok(["add", "packs/one.tgz", "--yes"])
  expect(lock().packs.one).toMatchObject({ source: "./packs/one.tgz", integrity: expect.stringMatching(/^sha512-/) })
})
