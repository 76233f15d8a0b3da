import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { parse } from "yaml"
import { isSousError } from "../../../core/error.ts"
import { HOOKS, type HookEvent } from "../../../core/hook.ts"
import { loadSettings } from "../../../core/settings/load.ts"
import { settingsKeys } from "../../../core/settings/schema.ts"
import { type Folders, makeProject } from "../permission/fixture.ts"
import { decisionsOf, type Guard, guardOf, type Taken, weakerIn } from "./guard.ts"
import { type Mutation, mutationsOf, type Path, printTree, type Tree, treeOf } from "./mutation.ts"

/** Each example, and where it lies in the places below. */
const EXAMPLES = {
  "everything.json": "home/.config/sous/settings.json",
  "everything.yaml": "home/.config/sous/settings.yaml",
  "guard.json": "work/project/.sous/settings.json",
  "team.yaml": "work/project/.sous/settings.yaml",
  "mine.json": "work/project/.sous/settings.local.json",
  "organisation.json": "etc/sous/settings.json",
  "organisation.yaml": "etc/sous/settings.yaml",
  "flat.hooks.json": "work/project/.hooks.json",
  "nested.hooks.json": "work/project/.hooks.json",
  "person.hooks.json": "home/.config/sous/.hooks.json",
  "claude-project.json": "work/project/.claude/settings.json",
  "claude-local.json": "work/project/.claude/settings.local.json",
  "claude-person.json": "home/.claude/settings.json",
  "claude-organisation.json": "etc/claude-code/managed-settings.json",
} as const

/** What lies beside each of them: what an organisation's switches keep down, and what a stronger scope adds. */
const BESIDE = {
  "home/.config/sous/settings.json": {
    permissions: { allow: ["Bash(make)"], defaultMode: "acceptEdits" },
    hooks: { Stop: [{ url: "https://elsewhere.example.com/" }, { command: "./mine.sh" }] },
  },
} as const

const full = process.env["SOUS_TEST_FULL"] === "1"

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
})
afterAll(() => folders.remove())

function exampleOf(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, "example", name), "utf8"))
}

function put(path: string, text: string): string {
  const file = join(folders.base, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** Lays a file out alone, with what belongs beside it. */
function layOut(path: string, text: string): string {
  for (const name of [
    "home/.config",
    "home/.claude",
    "etc",
    "work/project/.sous",
    "work/project/.claude",
    "work/project/.hooks.json",
  ])
    rmSync(join(folders.base, name), { recursive: true, force: true })
  mkdirSync(join(folders.project, ".git"), { recursive: true })
  if (path.startsWith("etc/")) for (const [name, value] of Object.entries(BESIDE)) put(name, JSON.stringify(value))
  return put(path, text)
}

async function load(): Promise<Guard> {
  const loaded = await loadSettings({
    cwd: folders.project,
    env: {},
    home: folders.home,
    managed: join(folders.base, "etc/sous"),
    managedClaude: join(folders.base, "etc/claude-code"),
    trust: true,
  })
  return guardOf(loaded)
}

/** Paths of the handlers of a file, in the order in which they are read. */
function hookPaths(tree: Tree): Path[] {
  const { hooks = {} } = asObject(tree) as { hooks?: Record<string, any[]> }
  const gates = Object.entries(hooks).filter(([event]) => HOOKS[event as HookEvent].kind === "gate")
  return gates.flatMap(([event, entries]) =>
    entries.flatMap((entry, index) =>
      Array.isArray(entry.hooks)
        ? entry.hooks.map((_: unknown, inner: number) => ["hooks", event, index, "hooks", inner])
        : [["hooks", event, index]],
    ),
  )
}

function asObject(tree: Tree): unknown {
  return JSON.parse(printTree(tree, "json")) as unknown
}

function takenBy({ how, path }: Mutation, hooks: readonly Path[]): Taken | undefined {
  if (how !== "delete") return undefined
  const startsWith = (one: Path, other: Path) => other.every((name, index) => one[index] === name)
  const below = [...hooks.entries()].filter(([, hook]) => startsWith(hook, path) || startsWith(path, hook))
  // Taking a group's matcher away is the owner's act on all of its hooks.
  const group = path.slice(0, 3)
  const beside =
    path.length === 4 && path[0] === "hooks" ? [...hooks.entries()].filter(([, hook]) => startsWith(hook, group)) : []
  return { path: path.join("."), hooks: [...below, ...beside].map(([index]) => index) }
}

/** Undefined when the mutation does no harm; else what is wrong. */
async function judge(mutation: Mutation, start: { file: string; before: Guard; decisions: number[]; hooks: Path[] }) {
  const { file, before, hooks } = start
  try {
    const after = await load()
    const taken = takenBy(mutation, hooks)
    const weaker = weakerIn(before, after, { file, taken })
    if (weaker.length > 0) return weaker.join("; ")
    if (JSON.stringify(rulesIn(after)) === JSON.stringify(rulesIn(before))) return undefined
    if (taken?.path.startsWith("permissions") || taken?.path.startsWith("allowManagedPermission")) return undefined
    const decisions = await decisionsOf(after, folders)
    const worse = decisions.filter((decision, index) => decision < start.decisions[index]!)
    return worse.length > 0 ? `decisions are ${decisions}, not ${start.decisions}` : undefined
  } catch (error) {
    if (!isSousError(error)) return `throws ${error}`
    if (error.code === "PERMISSION_RULE_INVALID") return undefined
    const { file: named, line, column } = error.details as { file?: string; line?: number; column?: number }
    return named === file && line! > 0 && column! > 0 ? undefined : `${error.code} names ${named}:${line}:${column}`
  }
}

function rulesIn({ rules, mode }: Guard) {
  return [mode, ...rules.map(({ text, behavior, ordered }) => [text, behavior, ordered])]
}

test.each(Object.entries(EXAMPLES))(
  "loadSettings() takes no slip with one key of %s for a smaller guard",
  async (name, path) => {
    const tree = treeOf(exampleOf(name))
    const ending = path.endsWith(".yaml") ? "yaml" : "json"
    const file = layOut(path, printTree(tree, ending))
    const before = await load()
    const start = { file, before, decisions: await decisionsOf(before, folders), hooks: hookPaths(tree) }
    const faults: string[] = []
    for (const mutation of sampled(mutationsOf(tree))) {
      writeFileSync(file, printTree(mutation.tree, ending))
      const fault = await judge(mutation, start)
      if (fault !== undefined) faults.push(`${mutation.how} ${mutation.path.join(".")} → ${mutation.what}: ${fault}`)
    }
    expect(faults).toEqual([])
  },
  full ? 300_000 : 60_000,
)

/** Each kind of slip with each key; where there are several of a kind, all of them only in the long run. */
function sampled(all: Mutation[]): Mutation[] {
  if (full) return all
  const groups = new Map<string, Mutation[]>()
  for (const one of all) {
    const key = JSON.stringify([one.how, one.path])
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  const picks = fc.sample(fc.nat({ max: 1000 }), groups.size)
  return [...groups.values()].map((group, index) => group[picks[index]! % group.length]!)
}

test("every key of the schema stands in an example", () => {
  const values = Object.keys(EXAMPLES).map(exampleOf)
  const missing = settingsKeys().filter(({ path }) =>
    values.every((value) => path.split(".").reduce((fields: any, key) => fields?.[key], value) === undefined),
  )
  expect(missing.map(({ path }) => path)).toEqual([])
})
