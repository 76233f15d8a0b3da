import { join } from "node:path"
import { mergeSettings } from "sous"
import { describe, expect, test } from "vitest"
import lint from "../../../plugins/hooks/lint-after-edit.ts"
import { runPrompt } from "../../harness.ts"

const BIOME = join(import.meta.dirname, "../../../node_modules/.bin/biome")

/** The run of one written file; its hooks, and all that the model saw in the end. */
async function write(path: string, content: string, own: object, files: Record<string, string> = {}) {
  const values = { permissions: { allow: ["Edit(**)"] }, pluginSettings: { "lint-after-edit": own as never } }
  const settings = mergeSettings([{ scope: "user", base: "/", values }])
  const turns = [{ tool: { Write: { file_path: path, content } } }, { text: "done" }]
  const { bodies, events } = await runPrompt({ turns }, { plugins: [lint], kit: { settings }, files })
  const hooks = events.flatMap((event) => (event.type === "hook" ? [event] : []))
  const notices = events.flatMap((event) => (event.type === "notice" ? [event.message] : []))
  return { hooks, notices, saw: JSON.stringify(bodies[1].messages.at(-1)) }
}

describe("lint-after-edit", () => {
  const linters = { ".js": [BIOME, "lint"] }

  test("shows the agent what a real linter finds in the file that it wrote", async () => {
    const { hooks, saw } = await write("src/a b.js", "debugger\n", { linters })
    expect(hooks).toMatchObject([{ hook: "lint after edit", outcome: "inject" }])
    expect(saw).toContain("found this in src/a b.js; mend it:")
    expect(saw).toContain("noDebugger")
  })

  test("says nothing where the linter finds nothing, and of endings that have none", async () => {
    for (const path of ["a.js", "a.txt"]) {
      const { hooks, saw, notices } = await write(path, "export const a = 1\n", { linters })
      expect(hooks).toMatchObject([{ outcome: "pass" }])
      expect(notices).toEqual([])
      expect(saw).not.toContain("mend it")
    }
  })

  test("hands the path over as it is, where {file} stands or last", async () => {
    const script = "process.stdout.write(JSON.stringify(process.argv.slice(1))); process.exit(1)"
    const name = "$(touch x); a'b.md"
    const { saw } = await write(name, "x", {
      linters: { ".md": [process.execPath, "-e", script, "--", "{file}", "end"] },
    })
    expect(saw).toContain(`${name}${String.raw`\",\"end`}`)
  })

  test("shows no more than it may, and the linter gets no more of the environment than it should", async () => {
    const script = "console.log(Object.keys(process.env).join()); console.log('x'.repeat(9000)); process.exit(1)"
    const own = { linters: { ".md": [process.execPath, "-e", script, "--"] }, mostChars: 500 }
    const { saw } = await write("a.md", "x", own)
    expect(saw).toContain("more characters)")
    expect(saw.length).toBeLessThan(2000)
    expect(saw).not.toContain("ANTHROPIC")
  })

  test.each([
    ["is not there", 60, ["no-such-linter"], "cannot start no-such-linter"],
    ["takes too long", 0.2, ["bash", "-c", "sleep 60"], "bash took longer than 0.2 s"],
    ["ends without a word", 60, ["false"], "ended with 1 and said nothing"],
  ])("warns when the linter %s, and keeps the result", async (_, timeoutSeconds, linter, says) => {
    const { hooks, notices, saw } = await write("a.md", "x", {
      linters: { ".md": linter },
      timeoutSeconds,
    })
    expect(hooks).toMatchObject([{ outcome: "failed" }])
    expect(notices.join()).toContain(says)
    expect(saw).not.toContain("mend it")
  })
})
