/**
 * How often a decision looks at the disk: once for each question about a path of the call, however many rules there are.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import type { RuleSource } from "../../core/permission/decision.ts"
import { type Disk, disk } from "../../core/permission/disk.ts"
import { createCall, explain } from "../../core/permission/explain.ts"
import { compileRules } from "../../core/permission/rule.ts"
import { createPlaces, shippedTools } from "./place.ts"

const places = createPlaces()
const { cwd, home } = places.make()
mkdirSync(join(cwd, "lib"))
writeFileSync(join(cwd, "lib/c.ts"), "x")
afterAll(() => places.remove())

/** The disk, and every question that it is asked. */
function watchDisk(): { asked: string[]; disk: Disk } {
  const asked: string[] = []
  const tell =
    <T>(name: keyof Disk, ask: (path: string) => T) =>
    (path: string) => {
      asked.push(`${name} ${path.replace(cwd, ".")}`)
      return ask(path)
    }
  return {
    asked,
    disk: { real: tell("real", disk.real), link: tell("link", disk.link), kind: tell("kind", disk.kind) },
  }
}

/** Rules of every kind, none of which speaks of what is asked. */
const MANY: RuleSource[] = Array.from({ length: 1000 }, (_, i) => {
  const text = [`Bash(other${i} *)`, `Read(./other${i}/**)`, `Edit(~/other${i})`, `WebFetch(domain:h${i}.test)`][i % 4]!
  return { text, behavior: (["allow", "ask", "deny"] as const)[i % 3]!, scope: "project" as const }
})

async function questions(tool: string, input: object, sources: readonly RuleSource[]): Promise<string[]> {
  const rules = compileRules(sources, { cwd, home })
  const watched = watchDisk()
  const facts = { aborted: false, mode: "default" as const, cwd, home, roots: [cwd], readRoots: [], canAsk: true }
  await explain(await createCall(shippedTools.get(tool)!, input, cwd), { rules, facts, disk: watched.disk })
  // The folder that a command stands in is its own too.
  return watched.asked.filter((question) => !question.endsWith(" .")).sort()
}

describe("explain()", () => {
  it("asks about the paths of the call and nothing else", async () => {
    expect(await questions("Bash", { command: "echo a && whoami" }, MANY)).toEqual([])
    expect(await questions("Read", { file_path: "src/b.txt" }, MANY)).toEqual(["kind ./src/b.txt", "real ./src/b.txt"])
    const command = "cat src/b.txt | grep x > lib/c.ts"
    expect(new Set(await questions("Bash", { command }, MANY))).toEqual(
      new Set(["kind ./src/b.txt", "real ./src/b.txt", "kind ./lib/c.ts", "real ./lib/c.ts"]),
    )
  })

  it.each([
    ["Bash", { command: "cd src && npm test -- --grep x | tee ../out.log" }],
    ["Bash", { command: "cp a.txt lib/new/d.ts; rm -rf lib" }],
    ["Edit", { file_path: "src/b.txt", old_string: "x", new_string: "y" }],
    ["WebFetch", { url: "https://example.com", prompt: "x" }],
  ])("asks no more for a thousand rules than for none: %s %j", async (tool, input) => {
    expect(await questions(tool, input, MANY)).toEqual(await questions(tool, input, []))
  })
})
