/**
 * The notes of an agent through the loop: memory, tasks and files, as requests show them.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { mergeSettings } from "sous"
import { describe, expect, test } from "vitest"
import { folder, lastResults, runPrompt, type TestOptions } from "../../harness.ts"

const settings = (values: object) => ({ settings: mergeSettings([{ scope: "user", base: "/", values }]) })
const memoryOf = (state: string) => {
  const [project] = readdirSync(join(state, "projects"))
  return join(state, "projects", project!, "memory")
}
const call = (name: string, input: object) => ({ tool: { [name]: input } })
const textOf = (message: any) => message.content.map((block: any) => block.text ?? "").join("\n")
const namesOf = (body: any) => body.tools.map(({ name }: any) => name)

describe("Memory in a run", () => {
  const WRITE = call("Memory", { command: "write", content: "Build with make.\n" })

  /** Runs in one project, one after the other. */
  function project() {
    const [state, cwd] = [folder(), folder()]
    return {
      state,
      run: (turns: any[], { kit, ...more }: TestOptions = {}) =>
        runPrompt(turns, { cwd, ...more, kit: { state, ...kit } }),
    }
  }

  test("what one conversation wrote the next one starts with", async () => {
    const { run, state } = project()
    const first = await run([WRITE, { text: "done" }], { mode: "acceptEdits" })
    expect(textOf(first.bodies[0].messages[0])).not.toContain("<auto-memory>")
    expect(lastResults(first.bodies[1])).toEqual([
      { text: 'Kept the note "MEMORY" (1 line, 17 bytes)', isError: false },
    ])
    expect(readFileSync(join(memoryOf(state), "MEMORY.md"), "utf8")).toBe("Build with make.\n")
    const second = await run([{ text: "done" }])
    expect(textOf(second.bodies[0].messages[0])).toMatch(/<auto-memory>\n[\s\S]*Build with make\./)
  })

  test("where nobody can answer, a note is refused as a file would be, and a view is not", async () => {
    const { run } = project()
    const { bodies } = await run([
      WRITE,
      call("Write", { file_path: "a.txt", content: "x" }),
      call("Memory", { command: "view" }),
      { text: "done" },
    ])
    const told = bodies.slice(1).map((body) => lastResults(body)[0]!.text)
    expect(told[0]).toMatch(/^(?=.*No rule allows)(?=.*Memory)/s)
    expect(told[1]).toContain("No rule allows")
    expect(told[2]).toContain("There are no notes yet")
  })

  test("no agent writes into the folder by another way", async () => {
    const { run, state } = project()
    await run([WRITE, { text: "done" }], { mode: "acceptEdits" })
    const file = join(memoryOf(state), "MEMORY.md")
    const flags = { allow: { all: true } } as const
    const { bodies } = await run(
      [
        call("Read", { file_path: file }),
        call("Write", { file_path: file, content: "x" }),
        call("Bash", { command: `echo x > ${file}` }),
        { text: "done" },
      ],
      { flags },
    )
    for (const body of bodies.slice(2)) expect(lastResults(body)[0]).toMatchObject({ isError: true })
    expect(readFileSync(file, "utf8")).toBe("Build with make.\n")
  })

  test("memory.auto false: no tool, nothing at the start", async () => {
    const { run } = project()
    await run([WRITE, { text: "done" }], { mode: "acceptEdits" })
    const { bodies } = await run([{ text: "done" }], { kit: settings({ memory: { auto: false } }) })
    expect(namesOf(bodies[0])).toContain("TodoWrite")
    expect(namesOf(bodies[0])).not.toContain("Memory")
    expect(textOf(bodies[0].messages[0])).not.toContain("auto-memory")
  })
})

describe("reminders and scene in a run", () => {
  test("a file that a command changed is told behind its result, and may be edited then", async () => {
    const { bodies, cwd } = await runPrompt(
      [
        call("Read", { file_path: "a.txt" }),
        call("Bash", { command: "sed -i s/two/2/ a.txt" }),
        call("Edit", { file_path: "a.txt", old_string: "2", new_string: "II" }),
        { text: "done" },
      ],
      { files: { "a.txt": "one\ntwo\n" }, mode: "acceptEdits" },
    )
    expect(textOf(bodies[1].messages.at(-1))).toBe("")
    expect(textOf(bodies[2].messages.at(-1))).toMatch(/has changed on disk[\s\S]*-two\n\+2\n/)
    expect(textOf(bodies[3].messages.at(-1))).not.toContain("has changed on disk")
    expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("one\nII\n")
  })

  test("tasks and the files at work stand in the opening after a compaction", async () => {
    const cwd = folder({ "a.txt": "one\n", "big.txt": "word ".repeat(1500) })
    const model = "claude-tiny-1"
    const { bodies, events } = await runPrompt(
      [
        call("TodoWrite", { todos: [{ content: "Mend a.txt", status: "in_progress" }] }),
        call("Read", { file_path: "a.txt" }),
        ...Array.from({ length: 12 }, () => call("Bash", { command: "head -c 6000 big.txt" })),
        { text: "done" },
      ],
      {
        ...{
          cwd,
          model,
          rewrites: true,
          flags: { allow: { run: true } },
          kit: settings({ compact: { strategy: "cut" } }),
        },
        server: { models: { [model]: { contextWindow: 20_000, maxOutput: 4000 } } },
      },
    )
    expect(events.filter(({ type }) => type === "compaction")).not.toHaveLength(0)
    const opening = textOf(bodies.at(-1).messages[0])
    expect(opening).toContain("[>] Mend a.txt")
    expect(opening).toContain(`<file path="${join(cwd, "a.txt")}">`)
  })
})
