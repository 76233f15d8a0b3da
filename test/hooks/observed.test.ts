/**
 * What another program was seen to make of its hooks, against what this one does: the same, or a difference with its
 * reason.
 */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { type ObservedCase, type Ours, observe } from "./observe.ts"

const file = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8")
const cases = file("observed.jsonl")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as ObservedCase)
const listed = parse(file("differences.yaml")) as { because: string; cases: Record<string, string[]> }[]

let root: string
let server: Server
const ours = new Map<string, Ours>()

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sous-observed-")))
  server = createServer((request, response) => {
    const { status = 200, body } = JSON.parse(Buffer.from(request.url!.split("/").at(-1)!, "base64url").toString())
    request.resume().on("end", () => response.writeHead(status).end(JSON.stringify(body)))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const waiting = [...cases]
  const work = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) ours.set(row.id, await observe(row, { root, port }))
  }
  await Promise.all(Array.from({ length: 6 }, work))
}, 120_000)
afterAll(() => {
  server?.close()
  rmSync(root, { recursive: true, force: true })
})

/** The ways in which a case came out otherwise: a hook that ran (`+`) or did not (`-`), a call's fate, a word. */
function differencesOf({ id, ran, saw, uses, project = {} }: ObservedCase): string[] {
  const mine = ours.get(id)!
  if (mine.refused !== undefined) return [`refused ${mine.refused}`]
  return [
    // How many of the hooks that nobody waits for have begun when a run ends is chance.
    ...(JSON.stringify(project).includes('"async') ? compareSets : compareLists)("ran", ran, mine.ran),
    ...compareLists("saw", saw, mine.saw),
    ...uses.flatMap(([, , fate], at) =>
      fate === null || fate === mine.fates[at] ? [] : [`call ${at}: ${fate} → ${mine.fates[at]}`],
    ),
  ]
}

function compareSets(what: string, theirs: readonly string[], mine: readonly string[]): string[] {
  return compareLists(what, [...new Set(theirs)], [...new Set(mine)])
}

function compareLists(what: string, theirs: readonly string[], mine: readonly string[]): string[] {
  const names = [...new Set([...theirs, ...mine])].sort()
  return names.flatMap((name) => {
    const count = (list: readonly string[]) => list.filter((one) => one === name).length
    const more = count(mine) - count(theirs)
    return more === 0
      ? []
      : [
          `${what} ${more > 0 ? "+" : "-"}${Math.abs(more) === 1 ? "" : Math.abs(more)} ${name}`
            .replace("+ ", "+")
            .replace("- ", "-"),
        ]
  })
}

it("hooks run, decide and speak as observed, but for the differences that are listed with their reason", () => {
  const found = Object.fromEntries(
    cases.map((row) => [row.id, differencesOf(row)] as const).filter(([, differences]) => differences.length > 0),
  )
  const expected = Object.fromEntries(listed.flatMap((group) => Object.entries(group.cases)))
  expect(found).toEqual(expected)
})

it("every difference has a reason", () => {
  expect(listed.filter(({ because }) => because.length < 20)).toEqual([])
  const known = new Set(cases.map(({ id }) => id))
  expect(listed.flatMap((group) => Object.keys(group.cases)).filter((id) => !known.has(id))).toEqual([])
})

it("no difference is to the weaker side: a call that was refused or asked about there does not run here unasked", () => {
  const weaker = cases.filter(({ id, uses }) =>
    uses.some(([, , fate], at) => (fate === "deny" || fate === "ask") && ours.get(id)!.fates[at] === "allow"),
  )
  expect(weaker.map(({ id }) => id)).toEqual([])
})
