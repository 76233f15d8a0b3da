import { describe, expect, it } from "vitest"
import { guards, readPack } from "../../../core/pack/content.ts"
import { readManifest } from "../../../core/pack/manifest.ts"
import { type Tree, treeFile, treeOf } from "../../../core/session/tree.ts"
import type { Files } from "./sources.ts"

function tree(files: Files): Tree {
  return treeOf(new Map(Object.entries(files).map(([path, text]) => [path, treeFile(Buffer.from(text))])))
}

const HEAD = "name: one\nversion: 1.0.0\napiVersion: 1\n"
const yaml = (more: string, files: Files = {}) => tree({ "sous.pack.yaml": HEAD + more, ...files })
const inPackage = (sous: object, head: object = { name: "one", version: "1.0.0" }) =>
  tree({ "package.json": JSON.stringify({ ...head, sous }) })
const claude = (plugin: object, files: Files = {}) =>
  tree({ ".claude-plugin/plugin.json": JSON.stringify({ name: "one", ...plugin }), ...files })

const faultOf = async (pack: Tree) =>
  await readPack(pack, "x").then(
    () => undefined,
    (error) => error,
  )

describe("readManifest()", () => {
  it("reads sous.pack.yaml, and the key sous of package.json with the name and version beside it", async () => {
    const own = await readManifest(yaml("plugins: [./a.ts]\npermissions: { deny: ['Bash(rm *)'] }\n"), "x")
    expect(own).toMatchObject({
      name: "one",
      version: "1.0.0",
      plugins: ["a.ts"],
      permissions: { deny: ["Bash(rm *)"] },
    })
    const other = await readManifest(inPackage({ apiVersion: 1, capabilities: { tools: ["A"] } }), "x")
    expect(other).toMatchObject({ name: "one", file: "package.json", capabilities: { tools: ["A"] } })
  })

  it.each<[string, Tree, RegExp]>([
    ["an unknown key, naming the near one", yaml("plugin: [a.ts]\n"), /unknown key "plugin".*\nwrite "plugins"/],
    ["an unknown key deeper down", yaml("capabilities: { execs: [git] }\n"), /"capabilities.execs".*\nwrite "exec"/],
    ["a key that would mark it as first-party", yaml("firstParty: true\n"), /unknown key "firstParty"/],
    ["a key that would choose where it runs", yaml("isolation: none\n"), /unknown key "isolation"/],
    ["a path upwards", yaml("plugins: [../a.ts]\n"), /"plugins.0": expected a path inside the pack/],
    ["a path upwards in the middle", yaml("recipes: [a/../../b.yaml]\n"), /inside the pack/],
    ["an absolute path", yaml("plugins: [/etc/passwd]\n"), /inside the pack/],
    ["a path of Windows", yaml("plugins: ['C:\\a.ts']\n"), /inside the pack/],
    ["a file of hooks elsewhere", yaml("hooks: ../hooks.json\n"), /hooks/],
    ["the tool of an MCP server", yaml("capabilities: { tools: [mcp__github__get] }\n"), /may not begin with mcp__/],
    ["an event that there is not", yaml("adds: { hooks: [PreToolUs] }\n"), /adds.hooks.0/],
    ["a rule that is none", yaml("permissions: { allow: ['Bash('] }\n"), /expected a permission rule/],
    ["a version that is none", tree({ "sous.pack.yaml": HEAD.replace("1.0.0", "latest") }), /its version is "latest"/],
    ["a key that is given twice", yaml("version: 2.0.0\n"), /sous.pack.yaml/],
    ["a plugin that is not there", yaml("plugins: [a.ts]\n"), /there is no file "a.ts"/],
    ["a plugin that is no code", yaml("plugins: [a.md]\n", { "a.md": "" }), /does not end like one/],
    ["a file of hooks that is not there", yaml("hooks: hooks.json\n"), /there is no file "hooks.json"/],
    ["a key beside the hooks of its file", yaml("hooks: h.json\n", { "h.json": '{"hooks":{},"hook":1}' }), /"hook"/],
    ["two recipes of one name", yaml("recipes: [a.yaml, b/a.ts]\n", { "a.yaml": "", "b/a.ts": "" }), /called "a"/],
    ["two manifests", tree({ "sous.pack.yaml": HEAD, "package.json": '{"sous":{"apiVersion":1}}' }), /as well/],
    ["a manifest that is no object", tree({ "sous.pack.yaml": "- a\n" }), /sous.pack.yaml/],
    ["JSON that is broken", tree({ "package.json": "{" }), /package.json/],
  ])("refuses %s", async (_, pack, says) => {
    const fault = await faultOf(pack)
    expect(fault?.code).toBe("PACK_MANIFEST_INVALID")
    expect(`${fault.message}\n${fault.mend}`).toMatch(says)
  })

  it.each(["__proto__", "constructor", "../up", "UPPER", "a b", "", "node_modules", "@x", "a/b/c"])(
    "refuses the name %j",
    async (name) => {
      for (const pack of [
        inPackage({ apiVersion: 1 }, { name, version: "1.0.0" }),
        tree({ "sous.pack.yaml": `name: ${JSON.stringify(name)}\nversion: 1.0.0\napiVersion: 1\n` }),
      ])
        expect((await faultOf(pack))?.code).toMatch(/^PACK_(?:NAME|MANIFEST)_INVALID$/)
    },
  )

  it("names the name that no pack may have", async () => {
    expect(await faultOf(inPackage({ apiVersion: 1 }, { name: "Up", version: "1.0.0" }))).toMatchObject({
      code: "PACK_NAME_INVALID",
      message: 'Cannot use "Up" as the name of a pack',
    })
  })

  it("refuses a pack for another version of the interface, and a folder that is none", async () => {
    expect((await faultOf(inPackage({ apiVersion: 2 })))?.message).toContain("version 2")
    expect((await faultOf(inPackage({ apiVersion: 2 })))?.code).toBe("PACK_API_UNSUPPORTED")
    expect((await faultOf(tree({ "a.ts": "" })))?.code).toBe("PACK_MANIFEST_MISSING")
  })

  it("keeps what has no use yet, by kind", async () => {
    const { locked } = await readPack(yaml("agents: [a.md]\nmcpServers: { web: { command: x } }\n"), "x")
    expect(locked.unused).toEqual({ agents: ["a.md"], mcpServers: ["web"] })
  })
})

describe("readManifest() of a Claude Code plugin", () => {
  const HOOKS = {
    hooks: {
      PreToolUse: [
        {
          matcher: "Edit|Write",
          hooks: [
            { type: "command", command: 'bash "${CLAUDE_PLUGIN_ROOT}/check.sh"', timeout: 5, rewakeMessage: "x" },
          ],
        },
      ],
      TaskCreated: [{ hooks: [{ type: "command", command: "true" }] }],
      beforeShellExecution: [{ command: "true" }],
    },
  }

  it("takes its hooks in their protocol, and lists the rest as not used yet", async () => {
    const files = {
      "hooks/hooks.json": JSON.stringify({ description: "d", version: 1, ...HOOKS }),
      "commands/deep/fix.md": "",
      "agents/one.md": "",
      "skills/two/SKILL.md": "",
      ".mcp.json": "{}",
      "settings.json": "{}",
    }
    const { locked, hooks, manifest } = await readPack(claude({ homepage: "h", flavour: "mild" }, files), "x")
    expect(locked).toMatchObject({ version: "0.0.0", dialect: "claude-code", capabilities: {} })
    expect(locked.hooks).toEqual([
      {
        event: "PreToolUse",
        matcher: "Edit|Write",
        dialect: "claude-code",
        does: 'bash "${CLAUDE_PLUGIN_ROOT}/check.sh"',
        timeoutMs: 5000,
      },
    ])
    expect(locked.unused).toEqual({
      commands: ["deep/fix"],
      agents: ["one"],
      skills: ["two"],
      mcpServers: [".mcp.json"],
      settings: ["settings.json"],
    })
    expect(manifest.notes).toEqual([expect.stringContaining('"flavour"')])
    expect(hooks.notes.join("\n")).toMatch(
      /"version"[\s\S]*"beforeShellExecution"[\s\S]*"rewakeMessage"[\s\S]*TaskCreated/,
    )
  })

  it.each([
    ["1.2", "1.2.0", ""],
    ["v2.0.1-beta.1", "2.0.1-beta.1", ""],
    ["newest", "0.0.0", 'its version "newest" is none'],
  ])("takes its version %j as %s", async (written, version, says) => {
    const read = await readManifest(claude({ version: written }), "x")
    expect([read.version, read.notes.join()]).toEqual([version, expect.stringContaining(says)])
  })

  it("lists programs and what it wants to be configured", async () => {
    const plugin = claude({ userConfig: { token: {} } }, { "bin/ls": "", "monitors/m.json": "" })
    expect((await readManifest(plugin, "x")).unused).toEqual({
      programs: ["ls"],
      monitors: ["m.json"],
      userConfig: ["token"],
    })
  })

  it("takes hooks from a path, a list and the manifest itself, each once", async () => {
    const one = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: "one" }] }] } })
    const inline = { Stop: [{ hooks: [{ type: "command", command: "two" }] }] }
    const given = { hooks: ["./hooks/hooks.json", "./more.json", inline] }
    const { locked } = await readPack(claude(given, { "hooks/hooks.json": one, "more.json": one }), "x")
    expect(locked.hooks?.map(({ does }) => does)).toEqual(["one", "one", "two"])
  })

  it.each([
    { name: "Not Kebab" },
    { hooks: 3 },
    { commands: 1 },
    { agents: "../up" },
    { version: 1 },
    { experimental: [] },
  ])("refuses a known field of the wrong type: %j", async (plugin) => {
    expect((await faultOf(claude(plugin)))?.code).toBe("PACK_MANIFEST_INVALID")
  })

  it("refuses a hook that it knows and that is wrong", async () => {
    const hooks = { PreToolUse: [{ hooks: [{ type: "command" }] }] }
    expect(await faultOf(claude({ hooks }))).toBeDefined()
  })

  it("takes no plugin out of a marketplace unasked", async () => {
    const plugins = [{ name: "a", source: "./plugins/a" }]
    const fault = await faultOf(tree({ ".claude-plugin/marketplace.json": JSON.stringify({ name: "m", plugins }) }))
    expect(fault?.code).toBe("PACK_MANIFEST_INVALID")
    expect(fault?.mend).toContain("./plugins/a")
  })
})

describe("guards()", () => {
  it.each<[string, boolean]>([
    ["permissions: { deny: ['Bash(rm *)'] }\n", true],
    ["permissions: { ask: ['Bash(rm *)'] }\n", true],
    ["adds: { hooks: [PreToolUse] }\n", true],
    ["hooks: { PreToolUse: [{ command: x }] }\n", true],
    ["permissions: { allow: ['Bash(ls)'] }\n", false],
    ["adds: { hooks: [PostToolUse] }\n", false],
    ["capabilities: { tools: [A] }\n", false],
  ])("of %j is %s", async (more, expected) => {
    expect(guards((await readPack(yaml(more), "x")).locked)).toBe(expected)
  })
})
