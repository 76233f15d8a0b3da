import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { printsOf, saveTrust, trustFile } from "../../../core/session/trust.ts"
import { type ProjectTrust, settleTrust, type TrustQuestion } from "../../../core/settings/project-trust.ts"
import { readSubject } from "../../../core/settings/trust-settle.ts"
import { plainTrust } from "../../../core/settings/trust-state.ts"
import { trustWarning } from "../../../core/settings/trust-warning.ts"
import { folder } from "../../harness.ts"

/** A project with these files; a text that starts with `->` is a link. */
function project(files: Record<string, string>): string {
  const root = realpathSync(folder())
  put(root, files)
  return root
}

function put(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    rmSync(file, { force: true })
    if (text.startsWith("-> ")) symlinkSync(text.slice(3), file)
    else writeFileSync(file, text)
  }
}

interface Extra extends Partial<TrustQuestion> {
  code?: string[]
}

/** The question as a start asks it: from the settings and hooks that lie there. */
function question(root: string, extra: Extra = {}): TrustQuestion {
  const scopes = {
    ".sous/settings.json": "project",
    ".sous/settings.local.json": "local",
    ".claude/settings.json": "project",
  } as const
  const sources = Object.entries(scopes).flatMap(([path, scope]) => {
    const file = join(root, path)
    if (!existsSync(file)) return []
    const text = readFileSync(file, "utf8")
    return [{ scope, file, base: root, text, values: JSON.parse(text) }]
  })
  const hooks = sources.flatMap(({ scope, file, values }) =>
    values.hooks === undefined ? [] : [{ scope, file, hooks: values.hooks, at: () => undefined }],
  )
  const hookFile = join(root, ".hooks.json")
  if (existsSync(hookFile)) {
    const text = readFileSync(hookFile, "utf8")
    hooks.push({ scope: "project", file: hookFile, text, ...JSON.parse(text), at: () => undefined })
  }
  const state = join(root, "../", `${root.split("/").at(-1)}-state`)
  const base = {
    root,
    home: "/home/nobody",
    sources,
    hooks,
    code: [],
    state,
    data: join(state, "data"),
    forStart: false,
  }
  return { ...base, ...extra }
}

/** As a person's yes does. */
async function say(yes: TrustQuestion, more: { follow?: true } = {}): Promise<void> {
  const { tree } = await readSubject(yes, yes.root!)
  const at = "2026-01-02T03:04:05.000Z"
  await saveTrust(yes.state, yes.root!, { at, hash: tree.hash, files: printsOf(tree), ...more })
}

const PLUGIN = ".sous/plugins/guard.ts"
const ALL = {
  ".sous/settings.json": JSON.stringify({
    plugins: ["./tools/named.ts", "from-package", { plugin: "./folder" }],
    packs: { here: "./pack", there: "npm:there@1", ball: "./ball.tgz" },
    hooks: { Stop: [{ hooks: [{ type: "command", command: 'cd scripts && bash -c "./stop.sh"' }] }] },
  }),
  ".sous/settings.local.json": '{"model":"a"}',
  ".claude/settings.json": '{"env":{"A":"b"}}',
  ".hooks.json": '{"hooks":{"PreToolUse":[{"command":"node $CLAUDE_PROJECT_DIR/hooks/pre.js"}]}}',
  "hooks/pre.js": 'import "./part.js"\n',
  "hooks/part.js": "export {}\n",
  "scripts/stop.sh": "exit 0\n",
  [PLUGIN]:
    'import { a } from "../../lib/a.js"\nexport * from "./deep/index.ts"\nconst b = await import("../../lib/b")\n',
  ".sous/plugins/prompt.txt": "text",
  ".sous/plugins/deep/index.ts": 'const c = require(/* why */ "in-project")\nnew URL("./data.bin", import.meta.url)\n',
  ".sous/plugins/deep/data.bin": "\0",
  ".sous/plugins/log/index.ts": "export default {}\n",
  "lib/a.ts": "export const a = 1\n",
  "lib/b/index.mjs": "export {}\n",
  "node_modules/in-project/package.json": '{"dependencies":{"below":"1"}}',
  "node_modules/in-project/index.js": "module.exports = 1\n",
  "node_modules/below/package.json": "{}",
  "node_modules/below/lib/log/x.js": "1\n",
  "node_modules/from-package/package.json": "{}",
  "node_modules/from-package/plugin.ts": "export default {}\n",
  "tools/named.ts": "export default {}\n",
  "folder/index.ts": "export default {}\n",
  ".sous/recipes/green.ts": 'export { default } from "../../lib/recipe.ts"\n',
  "lib/recipe.ts": "export default {}\n",
  "sous.lock": "{}\n",
}
const OTHERS = {
  "src/index.ts": "export {}\n",
  "README.md": "text",
  // What is loaded of a pack is the copy that sous.lock names.
  "pack/sous.pack.yaml": "name: here\n",
  "ball.tgz": "x",
  "package.json": '{"version":"1","type":"module"}',
  ".sous/plugins/guard.log": "x",
  ".sous/plugins/cache/a.json": "x",
  ".sous/plugins/guard.test.ts": "x",
  ".sous/cache/a.ts": "x",
  "node_modules/other/index.js": "x",
}

describe("settleTrust()", () => {
  it("is about nothing where there is no project, or nothing in it that needs a yes", async () => {
    expect(await settleTrust(question("/", { root: undefined }))).toMatchObject({ state: "nothing", isTrusted: false })
    const root = project({ ".sous/settings.json": '{"permissions":{"deny":["Bash"]}}', "sous.lock": "{}" })
    expect(await settleTrust(question(root))).toMatchObject({ state: "nothing", isTrusted: false })
    expect(await settleTrust(question(root, { forStart: true }))).toMatchObject({ state: "nothing" })
    expect(existsSync(question(root).state)).toBe(false)
  })

  it.each([
    [".sous/settings.json", '{"model":"a"}'],
    [".hooks.json", '{"hooks":{}}'],
    [PLUGIN, ""],
    [".sous/recipes/a.yaml", ""],
  ])("is untrusted with %s, and writes nothing", async (file, text) => {
    const root = project({ [file]: text })
    expect(await settleTrust(question(root))).toMatchObject({ state: "untrusted", isTrusted: false, changes: [] })
    expect(existsSync(question(root).state)).toBe(false)
  })

  it("counts for a start with --trust, and loads what was hashed then", async () => {
    const root = project(ALL)
    const trust = await settleTrust(question(root, { forStart: true }))
    expect(trust).toMatchObject({ state: "start", isTrusted: true })
    put(root, { [PLUGIN]: "swapped" })
    expect(readFileSync(trust.copyOf(join(root, PLUGIN)), "utf8")).toBe(ALL[PLUGIN])
    expect(await settleTrust(question(root))).toMatchObject({ state: "untrusted" })
  })

  it("is trusted while every file is as a person saw it, whatever else changes", async () => {
    const root = project({ ...ALL, ...OTHERS })
    await say(question(root))
    const trust = await settleTrust(question(root))
    expect(trust).toMatchObject({ state: "trusted", isTrusted: true, changes: [], since: "2026-01-02T03:04:05.000Z" })
    put(root, {
      ...Object.fromEntries(Object.keys(OTHERS).map((path) => [path, "{}"])),
      "package.json": '{"version":"2","type":"module"}',
    })
    expect(await settleTrust(question(root))).toMatchObject({ state: "trusted" })
    // --trust adds nothing to it.
    expect(await settleTrust(question(root, { forStart: true }))).toMatchObject({ state: "trusted" })
  })

  it.each(Object.keys(ALL))("is changed, and names the file, after one byte of %s", async (path) => {
    const root = project({ ...ALL, ...OTHERS })
    await say(question(root))
    const text = readFileSync(join(root, path), "utf8")
    // Still what a start can read.
    writeFileSync(join(root, path), `${text} `)
    expect(await settleTrust(question(root))).toMatchObject({
      state: "changed",
      isTrusted: false,
      changes: [{ file: path, how: "changed" }],
    })
  })

  it("is changed after a file more, a file less, an executable more, a link that leads elsewhere, another kind of module", async () => {
    const root = project({ ...ALL, "package.json": "{}", ".sous/plugins/link.ts": "-> guard.ts" })
    await say(question(root))
    const changed = async (change: () => void) => {
      change()
      return (await settleTrust(question(root))).changes.map(({ file, how }) => `${how} ${file}`)
    }
    const added = ".sous/plugins/more.ts"
    expect(await changed(() => put(root, { [added]: "" }))).toEqual([`added ${added}`])
    expect(await changed(() => rmSync(join(root, added)))).toEqual([])
    expect(await changed(() => put(root, { "package.json": '{"type":"module"}' }))).toEqual(["changed package.json"])
    put(root, { "package.json": "{}" })
    expect(await changed(() => chmodSync(join(root, "scripts/stop.sh"), 0o755))).toEqual(["changed scripts/stop.sh"])
    chmodSync(join(root, "scripts/stop.sh"), 0o644)
    const link = ".sous/plugins/link.ts"
    expect(await changed(() => put(root, { [link]: "-> deep/index.ts" }))).toEqual([`changed ${link}`])
    expect(await changed(() => rmSync(join(root, link)))).toEqual([`removed ${link}`])
  })

  it("loads the old code when the file is swapped after it was settled, with all that it imports", async () => {
    const root = project({
      "package.json": '{"type":"module"}',
      [PLUGIN.replace(".ts", ".mjs")]: 'export { say } from "../../lib/say.mjs"\n',
      "lib/say.mjs": 'import word from "word"\nexport const say = word\n',
      "node_modules/.store/word/index.cjs": 'module.exports = require("end")\n',
      "node_modules/.store/word/package.json": '{"main":"index.cjs","dependencies":{"end":"1"}}',
      "node_modules/word": "-> .store/word",
      "node_modules/end/package.json": "{}",
      "node_modules/end/index.js": 'module.exports = "old"\n',
    })
    await say(question(root))
    const trust = await settleTrust(question(root))
    put(root, { "lib/say.mjs": 'export const say = "new"\n', "node_modules/end/index.js": 'module.exports = "new"\n' })
    const file = join(root, PLUGIN.replace(".ts", ".mjs"))
    expect(await import(trust.copyOf(file))).toMatchObject({ say: "old" })
    expect(trust.copyOf("/elsewhere/plugin.ts")).toBe("/elsewhere/plugin.ts")
    // What came later has no copy.
    expect(existsSync(trust.copyOf(join(root, ".sous/plugins/later.ts")))).toBe(false)
  })

  it.each([
    ["what a script reads in", "sh a.sh", { "a.sh": ". lib/b.sh\n", "lib/b.sh": ":\n" }, "lib/b.sh"],
    ["what an option loads", "node -r ./a.cjs b.js", { "a.cjs": "0\n", "b.js": "0\n" }, "a.cjs"],
    ["a module of a script", "python3 a.py", { "a.py": "import b\n", "b.py": "0\n" }, "b.py"],
    ["a target", "make lint", { Makefile: "lint:\n" }, "Makefile"],
    ["a script of package.json", "npm run lint", { "package.json": '{"scripts":{"lint":"true"}}' }, "package.json"],
    [
      "what a script of package.json starts",
      "npm run -s lint",
      { "package.json": '{"scripts":{"lint":"node a.js"}}', "a.js": "0\n" },
      "a.js",
    ],
  ])("is changed with %s", async (_, command, files: Record<string, string>, changed) => {
    const root = project({ ...files, ".hooks.json": JSON.stringify({ hooks: { Stop: [{ command }] } }) })
    await say(question(root))
    expect((await settleTrust(question(root))).state).toBe("trusted")
    writeFileSync(join(root, changed), files[changed]!.replace("true", "false").concat(" "))
    expect((await settleTrust(question(root))).changes).toEqual([{ file: changed, how: "changed" }])
  })

  it("is trusted when what changed in package.json is nothing that a hook runs", async () => {
    const manifest = (version: string) => JSON.stringify({ version, scripts: { lint: "true", other: version } })
    const hooks = JSON.stringify({ hooks: { Stop: [{ command: "npm run lint" }] } })
    const root = project({ "package.json": manifest("1"), ".hooks.json": hooks })
    await say(question(root))
    put(root, { "package.json": manifest("2") })
    expect((await settleTrust(question(root))).state).toBe("trusted")
  })

  it("is changed with a file that a variable makes shells load", async () => {
    const root = project({
      ".sous/settings.json": '{"env":{"BASH_ENV":"env","PATH":"bin:/usr/bin"}}',
      env: ":\n",
      "bin/tr": "",
    })
    await say(question(root))
    put(root, { env: "echo hi\n", "bin/tr": "x" })
    const { changes } = await settleTrust(question(root))
    expect(changes.map(({ file }) => file)).toEqual(["bin/tr", "env"])
  })

  it("makes the copy anew when somebody changed it", async () => {
    const root = project(ALL)
    await say(question(root))
    const copy = (await settleTrust(question(root))).copyOf(join(root, PLUGIN))
    chmodSync(copy, 0o600)
    writeFileSync(copy, "evil")
    expect((await settleTrust(question(root))).copyOf(join(root, PLUGIN))).toBe(copy)
    expect(readFileSync(copy, "utf8")).toBe(ALL[PLUGIN])
  })

  it("follows a path whatever lies there, and loads the files themselves", async () => {
    const root = project(ALL)
    await say(question(root), { follow: true })
    put(root, { [PLUGIN]: "other" })
    const trust = await settleTrust(question(root))
    expect(trust).toMatchObject({ state: "follows", isTrusted: true })
    expect(trust.copyOf(join(root, PLUGIN))).toBe(join(root, PLUGIN))
  })

  it("keeps no copy where nothing is loaded", async () => {
    const root = project({ ".sous/settings.json": '{"model":"a"}' })
    await say(question(root))
    expect(await settleTrust(question(root))).toMatchObject({ state: "trusted" })
    expect(existsSync(question(root).data)).toBe(false)
  })

  it("is changed when settings were other ones when they were read", async () => {
    const root = project({ ".sous/settings.json": '{"model":"a"}', ".hooks.json": '{"hooks":{}}' })
    await say(question(root))
    const [read, honest] = [question(root), question(root)]
    read.sources[0]!.text = '{"model":"b"}'
    expect(await settleTrust(read)).toMatchObject({ state: "changed", fault: { code: "TRUST_CHANGED" } })
    honest.hooks[0]!.text = "{}"
    expect(await settleTrust(honest)).toMatchObject({ state: "changed", changes: [{ file: ".hooks.json" }] })
    await expect(settleTrust({ ...read, forStart: true })).rejects.toMatchObject({ code: "TRUST_CHANGED" })
  })

  it.each([
    ["a pipe", (file: string) => execFileSync("mkfifo", [file]), "TREE_FILE_UNREADABLE"],
    ["a file without end", (file: string) => execFileSync("truncate", ["-s", "1T", file]), "TREE_TOO_LARGE"],
    ["a link out of the project", (file: string) => symlinkSync("/etc/hostname", file), "TREE_LINK_OUTSIDE"],
  ])("neither waits for nor trusts %s", async (_, make, code) => {
    const root = project(ALL)
    await say(question(root))
    make(join(root, ".sous/plugins/odd.ts"))
    expect(await settleTrust(question(root))).toMatchObject({ state: "changed", isTrusted: false, fault: { code } })
    await expect(settleTrust(question(root, { forStart: true }))).rejects.toMatchObject({ code })
  })

  it("gives no trust to another path: a copy, a moved project, a worktree of a trusted one", async () => {
    const root = project(ALL)
    await say(question(root))
    const other = project({ ...ALL, ".git": `gitdir: ${root}/.git/worktrees/other\n` })
    const asked = question(other, { state: question(root).state })
    expect(await settleTrust(asked)).toMatchObject({ state: "untrusted" })
    mkdirSync(dirname(trustFile(asked.state, other)), { recursive: true })
    writeFileSync(trustFile(asked.state, other), readFileSync(trustFile(asked.state, root)), { mode: 0o600 })
    expect(await settleTrust(asked)).toMatchObject({ state: "untrusted", fault: { code: "TRUST_STORE_UNREADABLE" } })
  })

  it("reads of settings that are code every file that a text in them could name", async () => {
    const root = project({
      ".sous/settings.ts":
        'export default { plugins: ["./tools/a.ts", "named"], hooks: { Stop: [{ command: "bash scripts/s.sh" }] } }',
      "tools/a.ts": "",
      "node_modules/named/index.ts": "",
      "scripts/s.sh": "",
    })
    const { tree } = await readSubject(question(root, { code: [join(root, ".sous/settings.ts")] }), root)
    expect([...tree.files.keys()]).toEqual([
      ".sous/settings.ts",
      "node_modules/named/index.ts",
      "scripts/s.sh",
      "tools/a.ts",
    ])
  })

  it("reads nothing of a project that nobody trusted", async () => {
    const root = project({ [PLUGIN]: "" })
    execFileSync("mkfifo", [join(root, ".sous/plugins/pipe.ts")])
    chmodSync(join(root, PLUGIN), 0)
    expect(await settleTrust(question(root))).toMatchObject({ state: "untrusted" })
    expect(readdirSync(join(root, ".sous"))).toEqual(["plugins"])
  })
})

it("trustWarning() names what changed, and says that something is left out only where something is", () => {
  const trust: ProjectTrust = {
    ...plainTrust("changed", {} as TrustQuestion),
    changes: [{ file: ".sous/settings.json", how: "changed" }],
    since: "2026-01-02T03:04:05.000Z",
  }
  expect(trustWarning([], trust)).toMatch(
    /^This project is not any more what was trusted on 2026-01-02, changed ".sous\/settings.json", and so it does not count\. Look /,
  )
  expect(trustWarning([{ file: "/p/.hooks.json", keys: ["hooks"] }], trust)).toMatch(
    /^Left out, since this project is not .*: hooks of "\/p\/.hooks.json"\. Look /,
  )
})
