import { mkdirSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { afterEach, describe, expect, it, vi } from "vitest"
import { diffsOf } from "../../../core/cli/rewind-diff.ts"
import { planRewind } from "../../../core/session/rewind-plan.ts"
import { keptSession } from "../session/kept-session.ts"

afterEach(() => vi.restoreAllMocks())

describe("diffsOf()", () => {
  it("compares lines while there is time, and tells the other files by their sizes", async () => {
    const session = await keptSession()
    mkdirSync(session.tree, { recursive: true })
    const write = (path: string, text: string) => writeFileSync(session.at(path), text)
    for (const path of ["a", "b"]) write(path, "one\n")
    await session.turn(["a", "b"].map((path) => ({ paths: [path], make: () => write(path, "three\n") })))
    const plan = await planRewind(session.subject, { turn: 0 })
    const times = [0, 0, 60_000]
    vi.spyOn(performance, "now").mockImplementation(() => times.shift() ?? 60_000)
    const [first, second] = await diffsOf(plan, (path) => basename(path))
    expect(first).toBe("--- a\n+++ a\n@@ -1,1 +1,1 @@\n-three\n+one\n")
    expect(second).toBe("--- b\n+++ b\nOther content: 6 bytes now, 4 bytes then\n")
  })
})
