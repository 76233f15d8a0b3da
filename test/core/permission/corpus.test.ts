import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CORPUS } from "./corpus.ts"
import { callOf, decideIn, type Folders, makeProject, rulesOf } from "./fixture.ts"

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
})
afterAll(() => folders.remove())

const place = (text: string) =>
  text
    .replaceAll("PROJECT", folders.project)
    .replaceAll("OUTSIDE", folders.outside)
    .replaceAll("STATE", folders.state)
    .replaceAll(/HOME(?=\/)/g, folders.home)

describe.each(CORPUS)("decide() with $rules", ({ rules, lines }) => {
  it.each(lines)("%s · %s %j: %s", async (expected, tool, subject) => {
    const { mode = "default", headless } = rules
    const facts = { mode, canAsk: headless !== true }
    const decision = await decideIn(folders, callOf(tool, place(subject)), rulesOf(rules, folders), facts)
    expect(`${decision.behavior} ${decision.source}`, decision.reason).toBe(expected)
  })
})
