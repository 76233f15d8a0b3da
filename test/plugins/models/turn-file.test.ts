/** Scripts as people write them: short forms, and every mistake with its place. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { checkScript, checkTurn, loadScript, parseScript } from "../../../plugins/models/turn-file.ts"

let folder = ""
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sous-turns-"))
})
afterAll(() => rm(folder, { recursive: true }))

describe("parseScript()", () => {
  it("fills in what a turn leaves out", async () => {
    const script = await parseScript("turns:\n  - text: Hello\n", "a.yaml")
    expect(script).toMatchObject({ unused: "fail", structured_output: true, limits: { contextWindow: 200_000 } })
    expect(script.price).toEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
    expect(script.turns).toMatchObject([
      { blocks: [{ type: "text", text: "Hello" }], stop_reason: "end_turn", times: 1, faults: [] },
    ])
  })

  it("reads the short forms, in a fixed order", async () => {
    const [turn] = (
      await parseScript(
        "turns:\n  - { tool: { Read: { file_path: a }, Glob: { pattern: '*' } }, text: Look, thinking: Hm }",
        "a.yaml",
      )
    ).turns
    expect(turn).toMatchObject({
      stop_reason: "tool_use",
      blocks: [
        { type: "thinking", thinking: "Hm" },
        { type: "text", text: "Look" },
        { type: "tool_use", name: "Read", input: { file_path: "a" } },
        { type: "tool_use", name: "Glob", input: { pattern: "*" } },
      ],
    })
  })

  it("reads blocks in order: short ones, the API's own, and those that nobody knows", async () => {
    const text = JSON.stringify({
      turns: [
        {
          content: [
            { text: "a" },
            { type: "tool_use", id: "toolu_x", name: "Read", input: { file_path: "b" } },
            { tool: "Write", raw_input: "{broken", id: "toolu_y" },
            { tool: { Read: { file_path: "c" } } },
            { json: { n: 1 } },
            { type: "redacted_thinking", data: "xyz" },
            { type: "hologram", frames: 3 },
          ],
        },
      ],
    })
    expect((await parseScript(text, "a.json")).turns[0]?.blocks).toEqual([
      { type: "text", text: "a" },
      { type: "tool_use", id: "toolu_x", name: "Read", input: { file_path: "b" } },
      { type: "tool_use", name: "Write", input: {}, raw_input: "{broken", id: "toolu_y" },
      { type: "tool_use", name: "Read", input: { file_path: "c" } },
      { type: "text", text: '{"n":1}' },
      { type: "redacted_thinking", data: "xyz" },
      { type: "hologram", frames: 3 },
    ])
  })

  it.each([
    ["turns:\n  - txt: x", 'a.yaml:2": turns[0] has the unknown key "txt"', 'write "text"'],
    [
      "turns:\n  - text: x\n    expect:\n      contain: y",
      'a.yaml:4": turns[0].expect has the unknown key "contain"',
      'write "contains"',
    ],
    [
      "turns:\n  - text: x\n    when: { system_contain: y }",
      'turns[0].when has the unknown key "system_contain"',
      'write "system_contains"',
    ],
    [
      "turns:\n  - fault:\n      kind: status\n      stats: 500",
      'a.yaml:4": turns[0].fault has the unknown key "stats"',
      'write "status"',
    ],
    [
      "turns:\n  - usage: { input: 5 }",
      'turns[0].usage has the unknown key "input"',
      "choose one of input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens",
    ],
    [
      "turns:\n  - content:\n      - text: x\n      - tol: { Read: {} }",
      'a.yaml:4": turns[0].content[1] has the unknown key "tol"',
      'write "tool"',
    ],
    ["turns:\n  - content: [{ text: x, txt: y }]", 'turns[0].content[0] has the unknown key "txt"', 'write "text"'],
    ["turn: []", 'the script has the unknown key "turn"', 'write "turns"'],
    ["turns:\n  - text: 5", "turns[0].text: invalid input: expected string, received number", "correct turns[0].text"],
    ["turns:\n  - fault: { kind: explode }", "turns[0].fault.kind", "correct turns[0].fault.kind"],
    ["turns:\n  - text: x\n    content: []", 'turns[0] has "content" beside "text"', "correct turns[0]"],
    [
      "turns:\n  - content: [just text]",
      "turns[0].content[0]: invalid input: expected object, received string",
      "correct turns[0].content[0]",
    ],
    ["turns: [", 'a.yaml:1": ', "correct its YAML"],
    ["", "the script: invalid input: expected object", "correct the script"],
  ])("refuses %j", async (text, problem, mend) => {
    const failure = await parseScript(text, "a.yaml").catch((error) => error)
    expect(failure).toMatchObject({ code: "MODEL_SCRIPT_INVALID", mend })
    expect(failure.message).toContain(problem)
  })
})

describe("loadScript()", () => {
  it("reads a file", async () => {
    const file = join(folder, "ok.yaml")
    await writeFile(file, "unused: ignore\nturns:\n  - text: from a file\n")
    expect((await loadScript(file)).turns).toHaveLength(1)
  })

  it("says what it cannot read", async () => {
    const file = join(folder, "none.yaml")
    await expect(loadScript(file)).rejects.toMatchObject({
      code: "MODEL_SCRIPT_UNREADABLE",
      details: { file, reason: "ENOENT" },
    })
  })
})

describe("checkScript() and checkTurn()", () => {
  it("refuse data as they refuse text", () => {
    const wrong = { txt: "x" } as never
    expect(() => checkScript({ turns: [wrong] }, "mine")).toThrow(
      'the scripted model "mine": turns[0] has the unknown key "txt"',
    )
    expect(() => checkTurn(wrong)).toThrow('has the unknown key "txt"')
  })
})
