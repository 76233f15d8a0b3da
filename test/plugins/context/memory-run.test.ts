import { expect, test } from "vitest"
import { runPrompt } from "../../harness.ts"

/** The texts of a message, in order. */
function textsOf(message: any): string[] {
  return message.content.flatMap((block: any) => (block.type === "text" ? [block.text] : []))
}

test("a run has the project's memory in its first message, before the prompt", async () => {
  const { bodies } = await runPrompt([{ text: "done" }], {
    files: { "CLAUDE.md": "Say please. <!-- not this -->", "docs/CLAUDE.md": "Not yet." },
    prompt: "Begin",
  })
  const texts = textsOf(bodies[0].messages[0])
  expect(texts.at(-1)).toBe("Begin")
  const memory = texts.filter((text) => text.startsWith("<memory>"))
  expect(memory).toHaveLength(1)
  expect(memory[0]).toContain("\nSay please.\n</memory-file>\n</memory>")
  expect(memory[0]).not.toContain("Not yet")
})

test("a run is told a nested folder's memory once, behind the results of the turn that read a file there", async () => {
  const read = (file_path: string) => ({ tool: { Read: { file_path } } })
  const { bodies, result } = await runPrompt([read("docs/one.txt"), read("docs/two.txt"), { text: "done" }], {
    files: { "docs/one.txt": "1", "docs/two.txt": "2", "docs/CLAUDE.md": "Write plainly." },
  })
  expect(result.status).toBe("ok")
  const [, , behindFirst, , behindSecond] = bodies[2].messages
  expect(textsOf(behindFirst)).toEqual([
    expect.stringMatching(/^Instructions for the files in ".*docs":\n.*\nWrite plainly\.\n/s),
  ])
  expect(textsOf(behindSecond)).toEqual([])
})

test("a run reads no memory file that a rule denies", async () => {
  const { bodies } = await runPrompt([{ text: "done" }], {
    files: {
      "CLAUDE.md": "Secret @AGENTS.md",
      "AGENTS.md": "Open",
    },
    rules: [{ text: "Read(CLAUDE.md)", behavior: "deny", scope: "cli" }],
  })
  const memory = textsOf(bodies[0].messages[0]).join("\n")
  expect(memory).toContain("\nOpen\n")
  expect(memory).not.toContain("Secret")
})
