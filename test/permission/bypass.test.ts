/**
 * Calls that must not slip through, and harmless ones that must pass, each under rules of its own, asked as a batch is.
 */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { explainLine } from "../../core/cli/explain-line.ts"
import { createSituations } from "../../core/cli/explain-situation.ts"
import { prepareCommands } from "../../core/permission/command.ts"
import { createPlaces, type PlaceContent, shippedTools } from "./place.ts"

interface Line {
  id: string
  tier: "core" | "hardening" | "soft"
  must: "allow" | "deny" | "not-allow"
  tool: string
  input: unknown
  rules?: Record<string, string[]>
  mode?: string
  place?: PlaceContent
}

/** Lines that one decision cannot settle, and what does. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "path-056": "the lock of packs has another name here, sous.lock, which is protected",
  "web-025": "each address that a fetch is sent on to is judged again by the tool",
  "benign-143": "there is no such tool here that could say which names mean the same",
}

const lines = readFileSync(new URL("bypass.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Line)
const places = createPlaces()
const decided = new Map<string, string>()

beforeAll(async () => {
  await prepareCommands()
  const situations = createSituations({ env: {}, toolkit: "/opt/sous" })
  const options = { tools: shippedTools, situations, cwd: "/" }
  for (const { id, tool, input, rules = {}, mode, place: content } of lines) {
    const place = places.make(content)
    const line = { id, tool, input, settings: { permissions: rules }, mode, cwd: place.cwd, home: place.home }
    const { text } = await explainLine(JSON.stringify(place.fill(line)), options)
    const answer = JSON.parse(text) as { behavior?: string; error?: { message: string } }
    decided.set(id, answer.behavior ?? answer.error!.message)
  }
}, 60_000)
afterAll(() => places.remove())

describe("explainLine()", () => {
  it("is right about every core line", () => {
    expect(wrong(({ tier }) => tier === "core")).toEqual([])
  })

  it("is right about 95 % of the hardening lines", () => {
    const missed = wrong(({ tier }) => tier === "hardening")
    expect(missed.length / count(({ tier }) => tier === "hardening"), missed.join("\n")).toBeLessThanOrEqual(0.05)
  })

  it("asks about at most 2 % of the harmless lines", () => {
    const missed = wrong(({ must }) => must === "allow")
    expect(missed.length / count(({ must }) => must === "allow"), missed.join("\n")).toBeLessThanOrEqual(0.02)
  })

  it("settles no line elsewhere that is not there", () => {
    expect(Object.keys(ELSEWHERE).filter((id) => !decided.has(id))).toEqual([])
  })
})

function count(fits: (line: Line) => boolean): number {
  return lines.filter((line) => fits(line) && !(line.id in ELSEWHERE)).length
}

function wrong(fits: (line: Line) => boolean): string[] {
  return lines
    .filter((line) => fits(line) && !(line.id in ELSEWHERE) && !isRight(line))
    .map(({ id, must, tool, input }) => `${id}: ${must}, got ${decided.get(id)}: ${tool} ${JSON.stringify(input)}`)
}

function isRight({ id, must }: Line): boolean {
  const behavior = decided.get(id)
  return must === "not-allow" ? behavior === "ask" || behavior === "deny" : behavior === must
}
