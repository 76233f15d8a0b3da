/**
 * What another program was seen to decide, against what this one does: the same, or a difference with its reason.
 */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { parse } from "yaml"
import { type ObservedCase, type Ours, observe } from "./observe.ts"
import { createPlaces } from "./place.ts"

/** One use of a case, as `differences.yaml` names it. */
interface Listed {
  id: string
  use?: number[]
  ours?: string
  theirs?: string
}

const file = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8")
const cases = file("observed.jsonl")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as ObservedCase)
const listed = parse(file("differences.yaml")) as {
  differences: { because: string; uses: Listed[] }[]
  notCompared: (Listed & { because: string })[]
}

const places = createPlaces()
const ours = new Map<string, Ours[]>()
beforeAll(async () => {
  for (const row of cases) ours.set(row.id, await observe(row, places))
}, 60_000)
afterAll(() => places.remove())

it("explain() decides as observed, but for the differences that are listed with their reason", () => {
  const expected = textsOf(listed.differences)
  expect(
    compared()
      .filter(({ ours, theirs }) => ours.behavior !== theirs)
      .map(describe)
      .sort(),
  ).toEqual(expected.sort())
})

it("no difference is to the weaker side", () => {
  const weaker = compared().filter(({ ours, theirs }) => ours.behavior === "allow" && theirs !== "allow")
  expect(weaker.map(describe)).toEqual([])
})

it("every difference has a reason, and so has what is not compared", () => {
  const reasons = [...listed.differences, ...listed.notCompared].map(({ because }) => because)
  expect(reasons.filter((reason) => !reason || reason.length < 20)).toEqual([])
  expect(listed.notCompared.filter(({ id }) => !cases.some((row) => row.id === id))).toEqual([])
})

function textsOf(groups: readonly { uses: Listed[] }[]): string[] {
  return groups.flatMap(({ uses }) =>
    uses.flatMap(({ id, use = [], ours, theirs }) => use.map((at) => `${id} · ${at} · ${theirs} → ${ours}`)),
  )
}

interface Compared {
  id: string
  at: number
  ours: Ours
  theirs: "allow" | "ask" | "deny"
}

/** The uses with an answer on both sides. */
function compared(): Compared[] {
  return cases.flatMap(({ id, calls }) =>
    calls.flatMap(([, , theirs], at) =>
      theirs === null || isLeftOut(id, at) ? [] : [{ id, at, theirs, ours: ours.get(id)![at]! }],
    ),
  )
}

function isLeftOut(id: string, at: number): boolean {
  return listed.notCompared.some((one) => one.id === id && (one.use === undefined || one.use.includes(at)))
}

function describe({ id, at, ours, theirs }: Compared): string {
  return `${id} · ${at} · ${theirs} → ${ours.behavior}`
}
