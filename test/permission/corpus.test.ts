/**
 * The corpus: every line of every table gets the decision that it names, as `sous test` decides it.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Host } from "../../core/cli/host.ts"
import { readTable } from "../../core/cli/table.ts"
import { callOfCase } from "../../core/cli/table-call.ts"
import { createTableRunner } from "../../core/cli/table-run.ts"
import { defaultPlugins } from "../../plugins/default.ts"
import { shippedTools } from "./place.ts"

const corpus = fileURLToPath(new URL("corpus", import.meta.url))
/** Longer than a command may be to pass without a question. */
const LONG = "a".repeat(10_000)
const tables = readdirSync(corpus)
  .filter((name) => name.endsWith(".yaml"))
  .sort()
  .map((name) => ({ name, text: readFileSync(join(corpus, name), "utf8").replaceAll("{{LONG}}", LONG) }))
const groups = (await Promise.all(tables.map(({ name, text }) => readTable(name, text)))).flat()
const lines = groups.flatMap(({ about = "", cases }) => cases.map((one) => ({ about, ...one })))

/** Classes of calls that were handed to us, and the beginnings of the titles under which our own lines of them stand. */
const HANDED: Readonly<Record<string, string>> = {
  agentscope: "agent",
  benign: "harmless",
  byname: "by-name",
  chain: "chain",
  cwd: "folder",
  display: "odd-bytes",
  dos: "odd-bytes",
  envp: "environment",
  expand: "expansion",
  front: "front-matter",
  hook: "hook",
  mcp: "mcp",
  obf: "quoting",
  path: "path",
  plugin: "plugin",
  rdonly: "read-only",
  readbash: "file-guard",
  recipe: "recipe",
  redir: "redirect",
  sandbox: "flags",
  shadow: "shadow",
  subst: "substitution",
  trust: "trust",
  watch: "watch",
  web: "web",
}
/** Classes that nobody handed us. */
const OWN =
  "archive background container filters find-xargs floor git headless here-text interpreter leak loop machine mixed modes ordered package param persistence plan privilege protected signal skill symlink wrapper".split(
    " ",
  )

const place = makePlace()
afterAll(() => rmSync(place.base, { recursive: true, force: true }))

/** As `sous test` runs a table in the project of the place. */
let runTable: Awaited<ReturnType<typeof createTableRunner>>
beforeAll(async () => {
  const { CWD, HOME } = place.names
  const host = { cwd: async () => CWD, env: { HOME }, shippedPlugins: async () => defaultPlugins }
  runTable = await createTableRunner(host as unknown as Host)
})

describe.each(tables)("$name", ({ name, text }) => {
  it("every line gets its decision", async () => {
    const file = join(place.base, name)
    writeFileSync(file, text)
    const { ok, failures } = await runTable(file)
    expect(failures, failures.join("\n")).toEqual([])
    expect(ok).toBe(true)
  })
})

describe("the corpus", () => {
  it("speaks of every class, at length", () => {
    const present = new Set(lines.map(({ about }) => about.split(":")[0]!))
    const handed = Object.values(HANDED)
    expect([...handed, ...OWN].filter((name) => !present.has(name))).toEqual([])
    const more = [...present].filter((name) => !handed.includes(name))
    expect(more.length, `${lines.length} lines; classes of our own: ${more.join(" ")}`).toBeGreaterThanOrEqual(
      Object.keys(HANDED).length,
    )
    // The bar is 400; what stands here today shall not get lost.
    expect(lines.length).toBeGreaterThanOrEqual(3200)
    const harmless = lines.filter(
      ({ about, expect: expected }) => about.startsWith("harmless:") && expected === "allow",
    )
    expect(harmless.length).toBeGreaterThanOrEqual(180)
  })

  it("holds no line twice under the same rules", () => {
    const keys = lines.map((one) => `${one.about} · ${JSON.stringify(callOfCase(one, shippedTools))}`)
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  })
})

/** A project with links of every kind, folders beside it, and a home folder. */
function makePlace(): { base: string; names: Record<"CWD" | "HOME" | "STATE", string> } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "sous-corpus-")))
  const cwd = join(base, "work", "project")
  const home = join(base, "home", "me")
  const state = join(home, ".local", "state", "sous")
  const write = (file: string) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "x\n")
  }
  const files =
    "src/a.ts src/b.ts src/deep/c.ts .env .env.example secret/k.txt locked/x package.json Makefile README.md"
  const more =
    "build/out.txt docs/x.md test/a.test.ts names.txt data.csv list .git/config .git/hooks/sample src/real/a.ts"
  for (const name of `${files} ${more} ../outside/o.txt ../project-evil/a.ts`.split(" ")) write(join(cwd, name))
  for (const name of ".bashrc notes/x.md .ssh/id_rsa .aws/credentials".split(" ")) write(join(home, name))
  write(join(state, "trust.json"))
  const links = {
    inner: "src",
    out: "../outside",
    etc: "/etc",
    hooks: ".git/hooks",
    loop: "loop",
    chain1: "chain2",
    chain2: "../outside/o.txt",
    "link-env": ".env",
    "link-secret": "secret",
    "state-link": state,
    "src/leaf": join(home, ".bashrc"),
    "src/dangling": "../../outside/new.txt",
    "src/out2": "../../outside",
    "src/real-link": "real",
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(cwd, name))
  return { base, names: { CWD: cwd, HOME: home, STATE: state } }
}
