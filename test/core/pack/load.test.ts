import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { boundPlugin } from "../../../core/pack/bound.ts"
import { fetchPack, keepPack } from "../../../core/pack/install.ts"
import { faultFor, type OpenedPacks, openPacks } from "../../../core/pack/load.ts"
import { changeLock, inOrder, readLock } from "../../../core/pack/lock.ts"
import type { LockEntry } from "../../../core/pack/lock-shape.ts"
import { parseSource } from "../../../core/pack/source.ts"
import type { Plugin } from "../../../core/plugin.ts"
import { contentFolder } from "../../../core/session/content.ts"
import type { SettingsSource } from "../../../core/settings/merge.ts"
import { folder } from "../../harness.ts"
import { type Files, writeFiles } from "./sources.ts"

const GUARD = {
  "sous.pack.yaml": [
    "name: guard\nversion: 1.0.0\napiVersion: 1\nplugins: [guard.ts]\nrecipes: [recipes/a.yaml]\nhooks: hooks.json",
    "permissions: { deny: ['Bash(rm *)'], allow: ['Bash(ls)'] }\ncapabilities: { tools: [Look], exec: [git], env: [HOME] }",
    "adds: { hooks: [PreToolUse], models: [tiny] }\n",
  ].join("\n"),
  "guard.ts": "export default { name: 'guard' }\n",
  "recipes/a.yaml": "name: a\n",
  "check.sh": "exit 0\n",
  "hooks.json": '{ "hooks": { "PreToolUse": [{ "matcher": "Bash", "command": "bash ${SOUS_PACK_ROOT}/check.sh" }] } }',
}
const TOOL = {
  "sous.pack.yaml":
    "name: tool\nversion: 1.0.0\napiVersion: 1\nplugins: [tool.ts]\ncapabilities: { tools: [Look] }\nadds: { models: [tiny] }\nrecipes: [recipes/a.yaml]\n",
  "tool.ts": "export default { name: 'tool' }\n",
  "recipes/a.yaml": "name: a\n",
}

/** A project with one pack added. */
async function project(files: Files = GUARD, { dataName = "data" } = {}) {
  const root = folder()
  const data = join(root, dataName)
  writeFiles(join(root, "pack"), files)
  const fetching = { data, base: root, home: root, env: {}, signal: new AbortController().signal, tell: () => {} }
  const source = parseSource("./pack", { base: root, home: root, writtenFrom: root })
  const fetched = await fetchPack(source, fetching)
  const { name, entry } = fetched
  await keepPack(fetched, entry, data)
  const lock = join(root, "sous.lock")
  await changeLock(lock, (packs) => void packs.set(name, entry))
  const open = (options: { strict?: boolean; value?: string } = {}): Promise<OpenedPacks> => {
    const pack = { name, value: options.value ?? entry.source, base: root, origin: { scope: "project" as const } }
    return openPacks([pack], {
      folders: { managed: "/", claude: { managed: "/" }, root },
      data,
      sources: [],
      ...options,
    })
  }
  const faultOf = async () =>
    await open().then(
      (packs) => packs.faults[0]?.fault,
      (error) => error,
    )
  const tamper = (change: (entry: any) => void) => {
    const value = JSON.parse(readFileSync(lock, "utf8"))
    change(value.packs[name])
    writeFileSync(lock, JSON.stringify(value))
  }
  return { root, data, lock, entry, name, copy: contentFolder(entry.tree, data), open, faultOf, tamper }
}

describe("openPacks()", () => {
  it("brings plugins, hooks, rules and recipes from the copy, each by its pack", async () => {
    const { open, copy } = await project()
    const { plugins, hooks, rules, recipes, faults } = await open()
    expect(plugins).toEqual([
      expect.objectContaining({
        loadFrom: join(copy, "guard.ts"),
        pack: "guard",
        isolation: "process",
        required: true,
      }),
    ])
    expect(plugins[0]?.capabilities).toEqual({ tools: ["Look"], exec: ["git"], env: ["HOME"] })
    expect(hooks).toEqual([
      expect.objectContaining({
        event: "PreToolUse",
        dialect: "native",
        origin: { scope: "plugin", by: "guard" },
        form: { type: "command", command: `bash ${copy}/check.sh` },
        env: expect.objectContaining({ SOUS_PACK_ROOT: copy, CLAUDE_PLUGIN_ROOT: copy }),
      }),
    ])
    expect(Object.keys(hooks[0]?.expects?.files ?? {})).toEqual([join(copy, "check.sh")])
    expect(rules.map(({ behavior, text, scope, by }) => [behavior, text, scope, by])).toEqual([
      ["deny", "Bash(rm *)", "plugin", "guard"],
      ["allow", "Bash(ls)", "plugin", "guard"],
    ])
    expect(recipes).toEqual([{ name: "guard/a", pack: "guard", file: join(copy, "recipes/a.yaml") }])
    expect(faults).toEqual([])
  })

  it("leaves its folder to the environment where a shell would take the path apart", async () => {
    const { open, copy } = await project(GUARD, { dataName: "my data" })
    const [hook] = (await open()).hooks
    expect(hook?.form).toMatchObject({ command: "bash ${SOUS_PACK_ROOT}/check.sh" })
    expect(hook?.env?.SOUS_PACK_ROOT).toBe(copy)
  })

  it("takes nothing from where the pack came from, once it is added", async () => {
    const { root, open, copy } = await project()
    rmSync(join(root, "pack"), { recursive: true })
    writeFiles(join(root, "pack"), { "guard.ts": "throw 1" })
    expect((await open()).plugins[0]?.loadFrom).toBe(join(copy, "guard.ts"))
  })

  it.each(Object.keys(GUARD))("does not load a pack with one byte changed in %s, and names the file", async (file) => {
    const { copy, faultOf } = await project()
    const path = join(copy, file)
    const bytes = readFileSync(path)
    bytes[bytes.length - 1]! ^= 1
    chmodSync(path, 0o600)
    writeFileSync(path, bytes)
    const fault = await faultOf()
    expect(fault.code).toBe("PACK_CHANGED")
    expect(fault.message).toContain(file)
    expect(fault.mend).toContain("sous packs install")
  })

  it.each<[string, (copy: string) => void]>([
    ["new.ts", (copy) => writeFileSync(join(copy, "new.ts"), "")],
    ["guard.ts", (copy) => chmodSync(join(copy, "guard.ts"), 0o700)],
    ["check.sh", (copy) => rmSync(join(copy, "check.sh"))],
  ])("does not load a copy in which %s is new, gone or executable", async (file, change) => {
    const { copy, faultOf } = await project()
    chmodSync(copy, 0o700)
    change(copy)
    const fault = await faultOf()
    expect([fault.code, fault.message]).toEqual(["PACK_CHANGED", expect.stringContaining(file)])
  })

  it("stops the start for a pack that guards something, and reports one that does not", async () => {
    const guard = await project(GUARD)
    rmSync(guard.copy, { recursive: true })
    await expect(guard.open()).rejects.toMatchObject({
      code: "PACK_MISSING",
      mend: expect.stringContaining("sous packs install"),
    })
    const tool = await project(TOOL)
    rmSync(tool.copy, { recursive: true })
    const opened = await tool.open()
    expect(opened.plugins).toEqual([
      expect.objectContaining({ pack: "tool", fault: expect.objectContaining({ code: "PACK_MISSING" }) }),
    ])
    expect(faultFor(opened, { recipe: "tool/a", models: [] })?.code).toBe("PACK_MISSING")
    expect(faultFor(opened, { models: ["tiny:1"] })?.code).toBe("PACK_MISSING")
    expect(faultFor(opened, { recipe: "other/a", models: ["script:x", undefined] })).toBeUndefined()
    await expect(tool.open({ strict: true })).rejects.toMatchObject({ code: "PACK_MISSING" })
  })

  it("lets no pack of another scope lift a guard by taking its name", async () => {
    const [ours, theirs] = [
      await project(GUARD),
      await project({ "sous.pack.yaml": "name: guard\nversion: 2.0.0\napiVersion: 1\n" }),
    ]
    const source = { scope: "user" as const, values: { packs: { guard: "./pack" } }, base: ours.root }
    const open = (user: string, sources: SettingsSource[]) =>
      openPacks([{ name: "guard", value: "./pack", base: theirs.root, origin: { scope: "project" } }], {
        folders: { managed: "/", claude: { managed: "/" }, root: theirs.root, user },
        data: theirs.data,
        sources,
      })
    await expect(open(ours.root, [source])).rejects.toMatchObject({ code: "PACK_GUARD_BEATEN" })
    expect((await open(theirs.root, [source])).faults).toEqual([])
    expect((await open(ours.root, [])).faults).toEqual([])
  })

  it("refuses a pack that is not locked, or locked from elsewhere", async () => {
    const { lock, open } = await project(TOOL)
    await expect(open({ value: "./other" })).rejects.toMatchObject({ code: "PACK_SOURCE_DIFFERS" })
    rmSync(lock)
    await expect(open()).rejects.toMatchObject({ code: "PACK_NOT_LOCKED" })
  })

  const FIELDS: [string, (entry: any) => void][] = [
    [
      "version",
      (entry) => {
        entry.version = "1.0.1"
      },
    ],
    [
      "source",
      (entry) => {
        entry.source = "./elsewhere"
      },
    ],
    [
      "resolved",
      (entry) => {
        entry.resolved = "file:./elsewhere"
      },
    ],
    [
      "integrity",
      (entry) => {
        entry.integrity = `sha512-${"A".repeat(86)}==`
      },
    ],
    [
      "tree",
      (entry) => {
        entry.tree = "0".repeat(64)
      },
    ],
    [
      "apiVersion",
      (entry) => {
        entry.apiVersion = 2
      },
    ],
    ["capabilities, more", (entry) => void entry.capabilities.exec.push("curl")],
    [
      "capabilities, less",
      (entry) => {
        entry.capabilities = {}
      },
    ],
    [
      "plugins",
      (entry) => {
        entry.plugins = []
      },
    ],
    ["recipes", (entry) => void entry.recipes.push("check.sh")],
    [
      "hooks",
      (entry) => {
        entry.hooks[0].does = "true"
      },
    ],
    [
      "permissions, a deny rule gone",
      (entry) => {
        entry.permissions.deny = ["Bash(x)"]
      },
    ],
    ["permissions, an allow rule more", (entry) => void entry.permissions.allow.push("Bash")],
    [
      "permissions gone",
      (entry) => {
        delete entry.permissions
      },
    ],
    [
      "adds",
      (entry) => {
        entry.adds.judges = true
      },
    ],
    [
      "unused",
      (entry) => {
        entry.unused = { agents: ["a"] }
      },
    ],
    [
      "dialect",
      (entry) => {
        entry.dialect = "claude-code"
      },
    ],
    [
      "modules",
      (entry) => {
        entry.modules = { "node_modules/a": "a@1.0.0" }
      },
    ],
    [
      "dependencies",
      (entry) => {
        entry.dependencies = {
          "node_modules/a": { version: "1.0.0", resolved: "https://x/a.tgz", integrity: `sha512-${"A".repeat(86)}==` },
        }
      },
    ],
    [
      "inProcess",
      (entry) => {
        entry.inProcess = true
      },
    ],
  ]

  it("is refused with any field of its lock changed: every field is in this list", async () => {
    const { entry } = await project()
    const known = new Set(FIELDS.map(([field]) => field.split(/[, ]/)[0]))
    expect(Object.keys(entry).filter((key) => !known.has(key))).toEqual([])
  })

  it.each(FIELDS)("is refused with another %s in the lock", async (_, change) => {
    const { faultOf, tamper } = await project()
    tamper(change)
    expect((await faultOf())?.code).toMatch(
      /^PACK_(?:LOCK_DISAGREES|NOT_INSTALLED|MISSING|SOURCE_DIFFERS|LOCK_INVALID)$/,
    )
  })

  it("is refused with an isolation that nobody agreed to here", async () => {
    const { faultOf, tamper } = await project()
    tamper((entry) => {
      entry.inProcess = true
    })
    expect((await faultOf()).code).toBe("PACK_NOT_INSTALLED")
  })

  it("names the field about which lock and content disagree", async () => {
    const { faultOf, tamper } = await project()
    tamper((entry) => entry.capabilities.exec.push("curl"))
    expect(await faultOf()).toMatchObject({ code: "PACK_LOCK_DISAGREES", details: { key: "capabilities" } })
  })
})

describe("readLock()", () => {
  const SUM = `sha512-${"A".repeat(86)}==`
  const GOOD = {
    version: "1.0.0",
    source: "npm:a@1",
    resolved: "https://r/a.tgz",
    integrity: SUM,
    tree: "0".repeat(64),
    apiVersion: 1,
    capabilities: {},
  }
  const read = async (entry: object, name = "a") => {
    const file = join(
      folder({ "sous.lock": JSON.stringify({ lockVersion: 1, packs: { [name]: entry } }) }),
      "sous.lock",
    )
    return await readLock(file)
  }

  it("takes what is pinned", async () => {
    expect((await read(GOOD)).size).toBe(1)
    const { integrity: _, ...git } = GOOD
    expect((await read({ ...git, resolved: `git+https://h/r#${"a".repeat(40)}` })).size).toBe(1)
  })

  const { integrity: _, ...LOOSE } = GOOD
  it.each<[string, object]>([
    ["a path that no entry has", { ...GOOD, path: "../../../tmp/evil" }],
    ["a plugin above its folder", { ...GOOD, plugins: ["../../evil.ts"] }],
    ["a recipe at an absolute place", { ...GOOD, recipes: ["/tmp/evil.ts"] }],
    ["a tree that is a path", { ...GOOD, tree: "../../evil" }],
    [
      "a package above its folder",
      { ...GOOD, dependencies: { "../../evil": { version: "1.0.0", resolved: "https://x", integrity: SUM } } },
    ],
    ...["git+file:///tmp/evil#" + "a".repeat(40), "file:///tmp/evil", "https://"].map((resolved): [string, object] => [
      `${resolved} as a package that it needs`,
      { ...GOOD, dependencies: { "node_modules/a": { version: "1.0.0", resolved, integrity: SUM } } },
    ]),
    ["a branch for a commit", { ...LOOSE, resolved: "git+https://h/x/y#main" }],
    ["a repository without anything", { ...LOOSE, resolved: "git+https://h/x/y" }],
    ["the beginning of a commit", { ...LOOSE, resolved: "git+https://h/x/y#abcdef1" }],
    ["plain http without integrity", { ...LOOSE, resolved: "http://registry.example/p.tgz", integrity: undefined }],
    ["an archive with none", { ...LOOSE, integrity: null }],
    ["a weak sum", { ...GOOD, integrity: "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=" }],
    ["a repository over http", { ...LOOSE, resolved: `git+http://h/x#${"a".repeat(40)}` }],
    ["a transport that runs a command", { ...LOOSE, resolved: `git+ext::sh#${"a".repeat(40)}` }],
  ])("refuses %s", async (_, entry) => {
    await expect(read(entry)).rejects.toMatchObject({ code: "PACK_LOCK_INVALID" })
  })

  it.each(["__proto__", "constructor", "../up", "A"])("refuses a pack with the name %j", async (name) => {
    const file = join(
      folder({ "sous.lock": `{"lockVersion":1,"packs":{${JSON.stringify(name)}:${JSON.stringify(GOOD)}}}` }),
      "sous.lock",
    )
    await expect(readLock(file)).rejects.toMatchObject({ code: "PACK_LOCK_INVALID" })
  })

  it("says how to mend a lock that was merged, or is no JSON", async () => {
    const mendOf = async (text: string) =>
      await readLock(join(folder({ "sous.lock": text }), "sous.lock")).then(
        () => undefined,
        (error) => error.mend,
      )
    expect(await mendOf('{\n<<<<<<< HEAD\n"lockVersion": 1\n')).toContain("the lines of the merge")
    expect(await mendOf("{")).toBe("restore it from version control")
  })

  it("refuses a lock of another version and a file that is none", async () => {
    for (const text of ['{"lockVersion":2,"packs":{}}', "{", "[]"]) {
      const file = join(folder({ "sous.lock": text }), "sous.lock")
      await expect(readLock(file)).rejects.toMatchObject({ code: "PACK_LOCK_INVALID" })
    }
  })

  it("is written the same whatever the order, and by many at once without a loss", async () => {
    const file = join(folder(), "sous.lock")
    const entry = inOrder(GOOD) as LockEntry
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`)
    await Promise.all(names.map((name) => changeLock(file, (packs) => void packs.set(name, entry))))
    const text = readFileSync(file, "utf8")
    expect([...(await readLock(file)).keys()]).toEqual([...names].sort())
    await changeLock(
      file,
      (packs) => void packs.set("p0", Object.fromEntries(Object.entries(entry).reverse()) as LockEntry),
    )
    expect(readFileSync(file, "utf8")).toBe(text)
    expect(existsSync(join(dirname(file), "sous.lock.lock"))).toBe(false)
  })
})

describe("boundPlugin()", () => {
  const CONTENT = {
    version: "1.0.0",
    apiVersion: 1,
    capabilities: { tools: ["A"] },
    adds: { hooks: ["PreToolUse"] },
    permissions: { deny: ["Bash(x)"] },
  }
  const tool = (name: string) => ({ name, description: "", input: {}, execute: async () => "" })
  const MORE: [string, Partial<Plugin>][] = [
    ['tool "B"', { tools: [tool("A"), tool("B")] }],
    ['hook "Stop"', { hooks: { Stop: () => undefined } }],
    ['allow rule "Bash"', { permissions: { allow: ["Bash"] } }],
    ['ask rule "Read"', { permissions: { ask: ["Read"] } }],
    ['classifier "classify"', { permissions: { classify: () => "safe" as const } }],
    ['model provider "m"', { models: [{ name: "m" }] as never }],
    ['agent "g"', { agents: [{ name: "g" }] as never }],
    ['recipe "r"', { recipes: [{ name: "r" }] as never }],
    ['context source "c"', { context: [{ name: "c", start: () => "" }] }],
    ['compaction "k"', { compaction: [{ name: "k" }] as never }],
  ]
  const bound = (plugin: Partial<Plugin>) => boundPlugin({ name: "p", ...plugin }, "pack", CONTENT)
  const context = { settings: {}, cwd: "/", env: {}, signal: new AbortController().signal, add: () => {} }

  it("passes what the manifest lists", async () => {
    const listed = { tools: [tool("A")], hooks: { PreToolUse: () => undefined }, permissions: { deny: ["Bash(x)"] } }
    await expect(bound({ setup: () => listed }).setup?.(context)).resolves.toBe(listed)
    expect(() => bound(listed)).not.toThrow()
  })

  it.each(MORE)("refuses the %s that it carries, returns or adds", async (what, more) => {
    const refused = expect.objectContaining({ code: "PACK_UNDERSTATES", message: expect.stringContaining(what) })
    expect(() => bound(more)).toThrow(refused)
    await expect(bound({ setup: () => more }).setup?.(context)).rejects.toEqual(refused)
    await expect(bound({ setup: ({ add }) => add(more) }).setup?.(context)).rejects.toEqual(refused)
  })
})
