import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { type FetchedPack, fetchPack, type Installing, installLocked, keepPack } from "../../../core/pack/install.ts"
import { parseSource } from "../../../core/pack/source.ts"
import { readContent } from "../../../core/session/content.ts"
import { after, folder } from "../../harness.ts"
import { commit, createRegistry, packArchive, type Registry, writeFiles } from "./sources.ts"

let registry: Registry
beforeAll(async () => {
  registry = await createRegistry()
  return () => registry.close()
})

const MANIFEST = "name: small\nversion: 1.0.0\napiVersion: 1\n"
const SOUS = { sous: { apiVersion: 1 } }

/** A place to install into, with nothing of this machine's configuration. */
function place(env: Record<string, string> = {}): Installing & { told: string[] } {
  const home = folder()
  const told: string[] = []
  return {
    data: join(home, "data"),
    base: home,
    home,
    env: { PATH: process.env["PATH"], HOME: home, npm_config_registry: registry.url, ...env },
    signal: new AbortController().signal,
    told,
    tell: (line) => told.push(line),
  }
}

async function fetchFrom(source: string, installing = place()): Promise<FetchedPack> {
  return await fetchPack(
    parseSource(source, { base: installing.base, home: installing.home, writtenFrom: installing.base }),
    installing,
  )
}

/** Takes a pack in, and installs it again where it never was. */
async function fetchTwice(source: string, installing = place()) {
  const fetched = await fetchFrom(source, installing)
  const elsewhere = { ...place(), base: installing.base }
  expect(await installLocked(fetched.name, fetched.entry, elsewhere)).toBe(true)
  expect(await installLocked(fetched.name, fetched.entry, elsewhere)).toBe(false)
  expect((await readContent(fetched.entry.tree, elsewhere.data))?.hash).toBe(fetched.tree.hash)
  return fetched
}

describe("fetchPack() from a registry", () => {
  it("takes the newest version in the range, pinned by its archive and integrity", async () => {
    registry.publish("small", "1.0.0", {}, SOUS)
    registry.publish("small", "1.2.0", { "a.txt": "a" }, SOUS)
    registry.publish("small", "2.0.0", {}, SOUS)
    const { entry, name } = await fetchTwice("npm:small@^1")
    expect({ name, version: entry.version, source: entry.source }).toEqual({
      name: "small",
      version: "1.2.0",
      source: "npm:small@^1",
    })
    expect(entry.resolved).toBe(`${registry.url}small/-/1.2.0.tgz`)
    expect(entry.integrity).toMatch(/^sha512-/)
  })

  it("keeps a range for a package that was named without one, and takes scoped ones", async () => {
    registry.publish("@team/one", "1.4.2", {}, SOUS)
    expect((await fetchTwice("@team/one")).entry.source).toBe("npm:@team/one@^1.4.2")
  })

  it("locks a strong sum where the registry knows a weak one only, which has to be right", async () => {
    registry.publish("old-leaf", "1.0.0", { "index.js": "" }, { isOld: true })
    registry.publish("old", "1.0.0", {}, { ...SOUS, isOld: true, dependencies: { "old-leaf": "1" } })
    const { entry } = await fetchTwice("old")
    expect(entry.integrity).toMatch(/^sha512-/)
    expect(entry.dependencies?.["node_modules/old-leaf"]?.integrity).toMatch(/^sha512-/)
  })

  it("names what it cannot find", async () => {
    const fault = await fetchFrom("npm:nowhere").catch((error) => error)
    expect(fault).toMatchObject({ code: "PACK_FETCH_FAILED" })
    expect(fault.message).toContain('"npm:nowhere": there is no such package')
  })

  it("runs no script of the pack or of what it depends on", async () => {
    const installing = place()
    const marker = join(installing.base, "ran")
    const scripts = {
      preinstall: `touch ${marker}`,
      install: `touch ${marker}`,
      postinstall: `touch ${marker}`,
      prepare: `touch ${marker}`,
    }
    registry.publish("dep-scripts", "1.0.0", { "index.js": "" }, { scripts })
    registry.publish("scripts", "1.0.0", {}, { ...SOUS, scripts, dependencies: { "dep-scripts": "1" } })
    const { entry } = await fetchFrom("scripts", installing)
    expect(Object.keys(entry.dependencies ?? {})).toEqual(["node_modules/dep-scripts"])
    expect(existsSync(marker)).toBe(false)
  })

  it("reads the person's .npmrc, and none of the project", async () => {
    const installing = place({ npm_config_registry: "" })
    writeFileSync(join(installing.home!, ".npmrc"), `; mine\nregistry = "\${REGISTRY}"\n`)
    writeFileSync(join(installing.base, "project.npmrc"), "registry=http://127.0.0.1:1/\n")
    registry.publish("mine", "1.0.0", {}, SOUS)
    const env = { ...installing.env, REGISTRY: registry.url }
    expect((await fetchFrom("mine", { ...installing, env })).entry.version).toBe("1.0.0")
  })
})

describe("fetchPack() with dependencies", () => {
  it("puts them flat where it can and nested where versions differ, each locked; sous and zod are not fetched", async () => {
    registry.publish("leaf", "1.0.0", { "index.js": "module.exports = 1" })
    registry.publish("leaf", "2.0.0", { "index.js": "module.exports = 2" })
    registry.publish("middle", "1.0.0", { "index.js": "" }, { dependencies: { leaf: "^1" } })
    const needs = { leaf: "^2", middle: "*", sous: "^9", zod: "^9" }
    registry.publish("needy", "1.0.0", {}, { ...SOUS, dependencies: needs })
    const { entry, tree } = await fetchTwice("needy")
    const versions = Object.entries(entry.dependencies ?? {}).map(([at, { version }]) => [at, version])
    expect(Object.fromEntries(versions)).toEqual({
      "node_modules/leaf": "2.0.0",
      "node_modules/middle": "1.0.0",
      "node_modules/middle/node_modules/leaf": "1.0.0",
    })
    for (const { integrity } of Object.values(entry.dependencies ?? {})) expect(integrity).toMatch(/^sha512-/)
    expect(tree.files.get("node_modules/leaf/index.js")?.bytes.toString()).toContain("2")
  })

  it("fetches each version once where packages depend on one another in a circle", async () => {
    registry.publish("ring-a", "1.0.0", {}, { dependencies: { "ring-b": "1" } })
    registry.publish("ring-b", "1.0.0", {}, { dependencies: { "ring-a": "1" } })
    registry.publish("ring", "1.0.0", {}, { ...SOUS, dependencies: { "ring-a": "1" } })
    const { entry } = await fetchFrom("ring")
    expect(Object.keys(entry.dependencies ?? {})).toEqual(["node_modules/ring-a", "node_modules/ring-b"])
  })

  it.each([
    ["file:../other", "file"],
    ["git+https://example.com/a.git", "git"],
    ["https://example.com/a.tgz", "https"],
    ["../../up", "up"],
  ])("refuses %s, which is in no registry", async (range) => {
    const name = `refused-${range.replace(/\W+/g, "-")}`
    registry.publish(name, "1.0.0", {}, { ...SOUS, dependencies: { other: range } })
    await expect(fetchFrom(name)).rejects.toMatchObject({ code: "PACK_DEPENDENCY_REFUSED" })
  })

  it("refuses a dependency whose name is a path", async () => {
    registry.publish("climber", "1.0.0", {}, { ...SOUS, dependencies: { "../../../etc": "1" } })
    await expect(fetchFrom("climber")).rejects.toMatchObject({ code: "PACK_DEPENDENCY_REFUSED" })
  })
})

describe("fetchPack() from a repository", () => {
  it("pins a branch to its commit, and fetches that commit when the branch has moved", async () => {
    const repository = join(folder(), "repository")
    const first = commit(repository, { "sous.pack.yaml": MANIFEST, "a.txt": "1" })
    const fetched = await fetchFrom(`git+file://${repository}#main`)
    expect(fetched.entry.resolved).toBe(`git+file://${repository}#${first}`)
    expect(fetched.entry.integrity).toBeUndefined()
    expect(fetched.tree.files.has(".git/HEAD")).toBe(false)
    commit(repository, { "a.txt": "2" })
    const elsewhere = place()
    await installLocked("small", fetched.entry, elsewhere)
    const kept = await readContent(fetched.entry.tree, elsewhere.data)
    expect(kept?.files.get("a.txt")?.bytes.toString()).toBe("1")
  })

  it("takes tags, ranges of tags, commits and a folder of it", async () => {
    const repository = join(folder(), "repository")
    const one = commit(repository, { "packs/small/sous.pack.yaml": MANIFEST }, "v1.0.0")
    const two = commit(repository, { "packs/small/b.txt": "b" }, "v1.3.0")
    const commitOf = async (hash: string) =>
      /#([0-9a-f]+)/.exec((await fetchFrom(`git+file://${repository}#${hash}::path:packs/small`)).entry.resolved)?.[1]
    expect(await commitOf("v1.0.0")).toBe(one)
    expect(await commitOf("semver:^1")).toBe(two)
    expect(await commitOf(one)).toBe(one)
    expect(await commitOf(two.slice(0, 10))).toBe(two)
    await expect(commitOf("nowhere")).rejects.toMatchObject({ code: "PACK_FETCH_FAILED" })
    const { entry } = await fetchTwice(`git+file://${repository}#v1.0.0::path:packs/small`)
    expect(entry.resolved).toMatch(/::path:packs\/small$/)
  })

  it("runs no hook of git and no script of the repository", async () => {
    const [repository, home] = [join(folder(), "repository"), folder()]
    const marker = join(home, "ran")
    const scripts = { prepare: `touch ${marker}`, postinstall: `touch ${marker}` }
    const template = join(home, "template/hooks/post-checkout")
    writeFiles(home, { "template/hooks/post-checkout": `#!/bin/sh\ntouch ${marker}\n` })
    chmodSync(template, 0o755)
    commit(repository, { "package.json": JSON.stringify({ name: "small", version: "1.0.0", ...SOUS, scripts }) })
    await fetchFrom(`git+file://${repository}`, place({ GIT_TEMPLATE_DIR: join(home, "template") }))
    expect(existsSync(marker)).toBe(false)
  })
})

describe("fetchPack() from a folder or an archive", () => {
  it("takes a folder without its history and its packages, and resolves these anew", async () => {
    const installing = place()
    registry.publish("leaf", "2.0.0", { "index.js": "" })
    writeFiles(installing.base, {
      "mine/package.json": JSON.stringify({ name: "mine", version: "1.0.0", ...SOUS, dependencies: { leaf: "2" } }),
      "mine/node_modules/leaf/index.js": "old",
      "mine/node_modules/other/index.js": "",
      "mine/.git/config": "",
    })
    const { entry, tree } = await fetchTwice("./mine", installing)
    expect(entry).toMatchObject({ source: "./mine", resolved: "file:./mine" })
    expect([...tree.files.keys()]).toEqual([
      "node_modules/leaf/index.js",
      "node_modules/leaf/package.json",
      "package.json",
    ])
  })

  it("takes an archive with its integrity, and refuses it with other bytes", async () => {
    const installing = place()
    writeFileSync(join(installing.base, "small.tgz"), packArchive({ "sous.pack.yaml": MANIFEST }))
    const { entry } = await fetchTwice("small.tgz", installing)
    expect(entry).toMatchObject({
      source: "./small.tgz",
      resolved: "file:./small.tgz",
      integrity: expect.stringMatching(/^sha512-/),
    })
    writeFileSync(join(installing.base, "small.tgz"), packArchive({ "sous.pack.yaml": MANIFEST, "b.txt": "b" }))
    const fault = await installLocked("small", entry, { ...place(), base: installing.base }).catch((error) => error)
    expect(fault).toMatchObject({ code: "PACK_FETCH_FAILED" })
    expect(fault.message).toContain("integrity")
  })

  it("writes nothing outside of its folder, whatever the archive says", async () => {
    const installing = place()
    const target = folder({ "package/sous.pack.yaml": MANIFEST })
    writeFileSync(join(target, "evil"), "x")
    execFileSync(
      "tar",
      [
        "-czPf",
        join(installing.base, "evil.tgz"),
        "--transform",
        "s,^evil,package/../../../../evil,",
        "package",
        "evil",
      ],
      { cwd: target },
    )
    await fetchFrom("./evil.tgz", installing).catch(() => {})
    const evil = readdirSync(installing.base, { recursive: true }).filter((name) => String(name).endsWith("evil"))
    expect(evil).toEqual([])
  })
})

describe("installLocked()", () => {
  it("refuses a folder that is no longer what was locked", async () => {
    const installing = place()
    writeFiles(installing.base, { "mine/sous.pack.yaml": MANIFEST })
    const { entry } = await fetchFrom("./mine", installing)
    writeFiles(installing.base, { "mine/more.txt": "" })
    await expect(installLocked("small", entry, { ...place(), base: installing.base })).rejects.toMatchObject({
      code: "PACK_CONTENT_DIFFERS",
    })
  })

  it("refuses a dependency with other bytes", async () => {
    registry.publish("turning", "1.0.0", { "index.js": "1" })
    registry.publish("turner", "1.0.0", {}, { ...SOUS, dependencies: { turning: "1" } })
    const { entry } = await fetchFrom("turner")
    registry.publish("turning", "1.0.0", { "index.js": "2" })
    await expect(installLocked("turner", entry, place())).rejects.toMatchObject({ code: "PACK_FETCH_FAILED" })
  })

  it("makes a copy anew that somebody changed", async () => {
    const installing = place()
    writeFiles(installing.base, { "mine/sous.pack.yaml": MANIFEST })
    const fetched = await fetchFrom("./mine", installing)
    const copy = await keepPack(fetched, fetched.entry, installing.data)
    rmSync(join(copy, "sous.pack.yaml"), { force: true })
    writeFileSync(join(copy, "sous.pack.yaml"), `${MANIFEST}# more\n`)
    expect(await installLocked("small", fetched.entry, installing)).toBe(true)
    expect(readFileSync(join(copy, "sous.pack.yaml"), "utf8")).toBe(MANIFEST)
  })
})

describe("an interruption", () => {
  it("ends the fetching at once and leaves nothing behind", async () => {
    const slow = await createRegistry()
    after(() => slow.close())
    slow.publish("slow", "1.0.0", {}, SOUS)
    slow.stall()
    const stop = new AbortController()
    const installing = { ...place({ npm_config_registry: slow.url }), signal: stop.signal }
    const fetching = fetchFrom("slow", installing)
    await expect.poll(() => slow.asked.length).toBe(1)
    stop.abort("SIGTERM")
    await expect(fetching).rejects.toBe("SIGTERM")
    expect(readdirSync(join(installing.data, "staging"))).toEqual([])
  })
})
