/**
 * The corpus: every line of every table gets the decision that it names, from the parts that a run is made of.
 */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "vitest"
import type { Decision, PermissionFacts, RuleSource, Scope } from "../../core/permission/decision.ts"
import { followNow } from "../../core/permission/disk.ts"
import { createCall, createForeignCall, explain } from "../../core/permission/explain.ts"
import type { FlagGrants, FlagKind } from "../../core/permission/flag.ts"
import { compileRules } from "../../core/permission/rule.ts"
import { shippedTools } from "./place.ts"
import { callOfCase, fillTable, readTable, type TableCase, type TableGroup } from "./table.ts"

const corpus = fileURLToPath(new URL("corpus", import.meta.url))
const tables = readdirSync(corpus)
  .filter((name) => name.endsWith(".yaml"))
  .sort()
  .map((name) => ({ name, groups: readTable(join(corpus, name)) }))
const lines = tables.flatMap(({ groups }) =>
  groups.flatMap(({ about, cases }) => cases.map((one) => ({ about, ...one }))),
)

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

describe.each(tables)("$name", ({ groups }) => {
  it("every line gets its decision", async () => {
    const wrong: string[] = []
    for (const group of groups) wrong.push(...(await wrongLines(fillTable(group, place.names))))
    expect(wrong, wrong.join("\n")).toEqual([])
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
    const keys = tables.flatMap(({ groups }) =>
      groups.flatMap(({ about, cases }) => cases.map((one) => `${about} · ${JSON.stringify(callOfCase(one))}`)),
    )
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  })
})

async function wrongLines(group: TableGroup): Promise<string[]> {
  const decide = decider(group)
  const decided = await Promise.all(
    group.cases.map(async (one) => {
      const { behavior, source, reason } = await decide(one)
      const { expect: expected, source: wanted } = one
      const fits = expected === "not-allow" ? behavior !== "allow" : behavior === expected
      if (fits && (wanted === undefined || wanted === source)) return []
      const should = wanted === undefined ? expected : `${expected} by ${wanted}`
      const { tool, input } = callOfCase(one)
      const shown = one.command ?? one.path ?? one.url ?? input
      return [
        `${group.about} | ${tool} ${JSON.stringify(shown)} | ${one.because} | ${should}, not ${behavior} by ${source} (${reason})`,
      ]
    }),
  )
  return decided.flat()
}

function decider(group: TableGroup): (one: TableCase) => Promise<Decision> {
  const { mode, settings, headless, tools } = group
  const cwd = resolve(place.names.CWD, group.cwd ?? ".")
  const rules = compileRules(rulesOf(group), {
    cwd: place.names.CWD,
    home: place.names.HOME,
    follow: followNow,
    flags: grantsOf(group.flags ?? []),
  })
  const facts: Omit<PermissionFacts, "paths"> = {
    aborted: false,
    mode: mode ?? settings?.permissions.defaultMode ?? "default",
    cwd,
    ...foldersOf(group),
    readRoots: [],
    home: place.names.HOME,
    stateFolders: [place.names.STATE],
    configures: [join(place.names.HOME, ".config", "sous")],
    canAsk: headless !== true,
  }
  return async (one) => {
    const { tool: name, input } = callOfCase(one)
    const tool = shippedTools.get(name)
    const call = tool ? createCall(tool, input, cwd) : standIn(name, input)
    return await explain(call, { rules, facts, ...(tools ? { extra: { filters: [tools] } } : {}) })
  }
}

/** A tool that no shipped plugin has, by what it would touch. */
function standIn(name: string, input: Record<string, unknown>) {
  if (name !== "WebFetch") return createForeignCall(name, input)
  const targets = [{ kind: "url" as const, url: String(input.url) }]
  return { tool: name, ruleName: name, input, readOnly: true, targets }
}

function rulesOf({ settings, scopes = {} }: TableGroup): RuleSource[] {
  const all = Object.entries({ project: settings, ...scopes }) as [Scope, TableGroup["settings"]][]
  return all.flatMap(([scope, given]) => {
    const { allow = [], ask = [], deny = [], rules = [] } = given?.permissions ?? {}
    const list = (behavior: RuleSource["behavior"], texts: string[]) =>
      texts.map((text): RuleSource => ({ text, behavior, scope }))
    const ordered = rules.map((entry): RuleSource => {
      const [behavior, text] = entry.split(/ (.*)/s) as [RuleSource["behavior"], string]
      return { text, behavior, scope, ordered: true }
    })
    return [...list("deny", deny), ...list("ask", ask), ...list("allow", allow), ...ordered]
  })
}

function foldersOf({ settings, scopes = {} }: TableGroup): Pick<PermissionFacts, "roots" | "namedRoots"> {
  const further = (given: TableGroup["settings"]) => given?.permissions.additionalDirectories ?? []
  const namedRoots = [...further(scopes.managed), ...further(scopes.cli)].map((one) => resolve(one))
  const others = [...further(settings), ...further(scopes.local), ...further(scopes.user)].map((one) => resolve(one))
  return { roots: [place.names.CWD, ...namedRoots, ...others], namedRoots }
}

function grantsOf(flags: readonly string[]): FlagGrants {
  const grants: Required<FlagGrants> = { allow: {}, deny: {} }
  for (const flag of flags) {
    const found = /^--(allow|deny)-(\w+)(?:=(.*))?$/.exec(flag)
    if (found === null) grants.allow.all = true
    else grants[found[1] as "allow" | "deny"][found[2] as FlagKind] = found[3]?.split(",") ?? true
  }
  return grants
}

/** A project with links of every kind, folders beside it, and a home folder. */
function makePlace(): { base: string; names: Record<"CWD" | "HOME" | "STATE" | "LONG", string> } {
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
  return { base, names: { CWD: cwd, HOME: home, STATE: state, LONG: "a".repeat(10_000) } }
}
