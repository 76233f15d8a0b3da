import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { definePlugin, type Plugin } from "sous"
import { describe, expect, test } from "vitest"
import { folder, lastResults, runPrompt } from "../../harness.ts"

const FILES = {
  ".env": "KEY=needle\n",
  "a.txt": "needle\n",
  "secret/k.txt": "needle\nneedle\n",
  "src/b.txt": "one\nneedle\n",
  "src/.env": "KEY=needle\n",
  "z.txt": "two\nneedle\n",
}

function project(): string {
  const cwd = folder(FILES)
  symlinkSync(".env", join(cwd, "link.txt"))
  symlinkSync("secret", join(cwd, "linked"))
  return cwd
}

const guard = (permissions: NonNullable<Plugin["permissions"]>) => definePlugin({ name: "guard", permissions })
const deny = guard({ deny: ["Read(./.env)"], ask: ["Read(secret/**)"] })

/** Runs the calls headless, without a rule that allows anything; their results as text. */
async function results(calls: object[], options: Parameters<typeof runPrompt>[1] = {}) {
  const cwd = options.cwd ?? project()
  const content = calls.map((call) => ({ tool: call as Record<string, object> }))
  const { bodies } = await runPrompt([{ content }, { text: "ok" }], { plugins: [deny], ...options, cwd })
  return lastResults(bodies[1]).map(({ text }) => text)
}

describe("a recursive search in a project with files that rules keep from being read", () => {
  test("Grep finds the others, in every mode, and shows neither byte nor name nor count of those", async () => {
    const search = (more: object) => ({ Grep: { pattern: "needle|KEY", ...more } })
    const texts = await results([
      search({}),
      search({ output_mode: "content", "-B": 1 }),
      search({ output_mode: "count" }),
      search({ output_mode: "content", head_limit: 1, offset: 1 }),
      search({ pattern: "KEY" }),
      search({ pattern: "K.Y", output_mode: "content", multiline: true }),
      search({ path: "src", output_mode: "content" }),
    ])
    expect(texts).toEqual([
      "a.txt\nsrc/b.txt\nz.txt",
      "a.txt:1:needle\n--\nsrc/b.txt-1-one\nsrc/b.txt:2:needle\n--\nz.txt-1-two\nz.txt:2:needle",
      "a.txt:1\nsrc/b.txt:1\nz.txt:1",
      "src/b.txt:2:needle\n\n(results 2 to 2, more follow: narrow the search, or go on with offset 2)",
      "No matches.",
      "No matches.",
      "src/b.txt:2:needle",
    ])
  })

  test("Glob lists the others, and is denied where all results would lie in a refused folder", async () => {
    const [all, named, below, hidden] = await results([
      { Glob: { pattern: "**/*" } },
      { Glob: { pattern: ".env" } },
      { Glob: { pattern: "secret/**" } },
      { Glob: { pattern: "**/.env" } },
    ])
    expect(all!.split("\n").sort()).toEqual(["a.txt", "src/b.txt", "z.txt"])
    expect(named).toContain('The rule "Read(./.env)" (plugin guard) denies')
    expect(below).toContain('The rule "Read(secret/**)" (plugin guard) asks about')
    expect(hidden).toBe("No files match.")
  })

  test("links that lead to such files show nothing, and naming one is denied", async () => {
    const [link, linked, glob] = await results([
      { Grep: { pattern: "needle", path: "link.txt" } },
      { Grep: { pattern: "needle", path: "linked" } },
      { Glob: { pattern: "linked/*" } },
    ])
    expect(link).toContain("denies")
    expect(linked).toContain("nobody can answer")
    expect(glob).toContain("nobody can answer")
  })

  test("a rule on the name of a link holds for what is found where it leads", async () => {
    const plugins = [guard({ deny: ["Read(linked/**)", "Read(link.txt)"] })]
    const [content] = await results([{ Grep: { pattern: "needle" } }], { plugins })
    expect(content).toBe("a.txt\nsrc/.env\nsrc/b.txt\nz.txt")
  })

  test("rules of the ordered list and flags count, and an earlier allow of the list does too", async () => {
    const flags = { allow: {}, deny: { read: ["secret"] } }
    const rules = [
      { text: "Read(src/.env)", behavior: "allow", scope: "cli", ordered: true },
      { text: "Read(.env)", behavior: "deny", scope: "cli", ordered: true },
    ] as const
    const [content] = await results([{ Grep: { pattern: "needle" } }], { plugins: [], flags, rules: [...rules] })
    expect(content).toBe("a.txt\nsrc/.env\nsrc/b.txt\nz.txt")
  })

  test("a person who allows the search of a folder that a rule asks about sees what is in it", async () => {
    const ask = async () => ({ behavior: "allow" }) as const
    const [content] = await results([{ Grep: { pattern: "needle", path: "secret" } }], { ask })
    expect(content).toBe("secret/k.txt")
  })

  test("a command over such a folder is refused, and the sentence says what to use instead", async () => {
    const [text] = await results([{ Bash: { command: "grep -r needle ." } }])
    expect(text).toContain('guards files that "." may hold')
    expect(text).toContain("search with a tool that leaves them out")
  })
})
