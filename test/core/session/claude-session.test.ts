import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { checkConversation } from "sous/testing"
import { describe, expect, it } from "vitest"
import { readClaudeSession } from "../../../core/session/claude-session.ts"
import { folder, serve, testKit } from "../../harness.ts"

const ID = "5f0c7a1e-7f0b-4f43-9b62-0d5c1b7f6a11"

/** Lines as that program writes them: one for each block of an answer, results on lines of their own. */
function lines(...list: object[]): string {
  let last: string | null = null
  return list
    .map((one, index) => {
      const uuid = (one as { uuid?: string }).uuid ?? `u${index}`
      const line = {
        parentUuid: last,
        isSidechain: false,
        sessionId: ID,
        version: "2.1.240",
        timestamp: TS,
        uuid,
        ...one,
      }
      if (!line.isSidechain) last = uuid
      return `${JSON.stringify(line)}\n`
    })
    .join("")
}
const TS = "2026-01-01T00:00:00.000Z"
const user = (content: unknown, more: object = {}) => ({ type: "user", message: { role: "user", content }, ...more })
const part = (id: string, block: object, more: object = {}) => ({
  type: "assistant",
  message: { id, role: "assistant", model: "claude-opus-4", content: [block] },
  ...more,
})
const text = (text: string) => ({ type: "text", text })
const use = (id: string) => ({
  type: "tool_use",
  id,
  name: "Read",
  input: { file_path: "a" },
  caller: { type: "direct" },
})
const result = (id: string) =>
  user([{ tool_use_id: id, type: "tool_result", content: `result of ${id}` }], { toolUseResult: {} })

async function read(source: string) {
  const file = join(folder({ [`${ID}.jsonl`]: source }), `${ID}.jsonl`)
  const { entries } = await readClaudeSession(file)
  const messages = entries.slice(1).map(({ message }) => message as any)
  checkConversation(messages)
  expect(readFileSync(file, "utf8")).toBe(source)
  return { entries, messages, words: messages.map(wordsOf) }
}
const wordsOf = ({ role, content }: any) =>
  `${role}: ${content.map((block: any) => block.text ?? block.id ?? `=${block.tool_use_id}`).join(" ")}`

describe("readClaudeSession()", () => {
  it("puts the parts of an answer together, and its results right behind it", async () => {
    const { words, messages, entries } = await read(
      lines(
        { type: "summary", summary: "Reads", leafUuid: "u9", uuid: undefined },
        user("look"),
        part("m1", { type: "thinking", thinking: "hm", signature: "s" }),
        part("m1", text("I look")),
        part("m1", use("a"), { uuid: "pa" }),
        result("a"),
        part("m1", use("b"), { parentUuid: "pa" }),
        result("b"),
        part("m2", text("It says so")),
        user([text("and now?")]),
      ),
    )
    expect(words).toEqual([
      "user: look",
      "assistant: I look a b",
      "user: =a =b",
      "assistant: It says so",
      "user: and now?",
    ])
    expect(messages[1].content[1]).toEqual({ type: "tool_use", id: "a", name: "Read", input: { file_path: "a" } })
    expect(entries.map(({ type, said }) => [type, said])).toEqual([
      ["session", undefined],
      ["user", [0]],
      ["assistant", undefined],
      ["user", undefined],
      ["assistant", undefined],
      ["user", [0]],
    ])
  })

  it("leaves out blocks that no model takes, and tells odd results as their JSON", async () => {
    const odd = { type: "tool_result", tool_use_id: "a", content: [null, { type: "image" }, text("fine")] }
    const { words, messages } = await read(
      lines(
        user([null, { type: "image" }, { type: "image", source: { type: "url", url: "file:///a" } }, text("look")]),
        part("m1", text("  ")),
        part("m1", { type: "text", text: null }),
        part("m1", { type: "tool_use", id: 5, name: null }),
        part("m1", { ...use("b c"), name: "two words" }),
        part("m1", use("a")),
        part("m1", use("a")),
        user([odd]),
        part("m2", { ...use("d"), input: "none" }),
        user([{ type: "tool_result", tool_use_id: "d", content: { a: 1 } }]),
      ),
    )
    expect(words).toEqual(["user: look", "assistant: a", "user: =a", "assistant: d", "user: =d"])
    expect(messages[2].content[0].content).toEqual([text("null"), text('{"type":"image"}'), text("fine")])
    expect([messages[3].content[0].input, messages[4].content[0].content]).toEqual([{}, '{"a":1}'])
  })

  it("leaves out subagents, branches that were left, and what never was a part of the conversation", async () => {
    const { words } = await read(
      lines(
        user("one", { uuid: "one" }),
        part("s1", text("of a subagent"), { isSidechain: true }),
        part("m1", text("left"), { uuid: "left" }),
        part("m2", text("kept"), { parentUuid: "one" }),
        { type: "system", subtype: "turn_duration" },
        part("e1", text("API Error"), { isApiErrorMessage: true }),
        user("only shown", { isVisibleInTranscriptOnly: true }),
        user("a caveat", { isMeta: true }),
      ),
    )
    expect(words).toEqual(["user: one", "assistant: kept", "user: a caveat"])
  })

  it("begins behind the last compaction", async () => {
    const { words, entries } = await read(
      lines(
        user("old"),
        part("m1", text("old answer")),
        { type: "system", subtype: "compact_boundary", parentUuid: null, logicalParentUuid: "u1" },
        user("This session goes on from: …", { isCompactSummary: true }),
        part("m2", text("new")),
      ),
    )
    expect(words).toEqual(["user: This session goes on from: …", "assistant: new"])
    expect(entries[1]).not.toHaveProperty("said")
  })

  it("answers calls that have no result, and drops results that nobody asked for", async () => {
    const source = lines(user("look"), result("zombie"), part("m1", use("a")), part("m1", use("b")), result("a"))
    const { words, messages } = await read(source)
    expect(words).toEqual(["user: look", "assistant: a b", "user: =a =b"])
    expect(messages[2].content[1]).toMatchObject({ is_error: true, content: expect.stringMatching(/^Interrupted/) })
  })

  it("opens wherever the file was cut off, and with a broken line in it", async () => {
    const source = lines(
      user("look"),
      part("m1", text("I look")),
      part("m1", use("a")),
      result("a"),
      part("m2", text("so")),
    )
    const file = join(folder(), `${ID}.jsonl`)
    const first = source.indexOf("\n")
    for (let length = first; length <= source.length; length += 7) {
      writeFileSync(file, source.slice(0, length))
      const { entries } = await readClaudeSession(file)
      checkConversation(entries.slice(1).map(({ message }) => message as any))
    }
    const broken = source.split("\n").with(1, "\0garbage").join("\n")
    expect((await read(broken)).words).toEqual(["user: look", "assistant: a", "user: =a", "assistant: so"])
  })

  it("refuses what is no such file", async () => {
    const place = folder({ "a.jsonl": "hello\n{}\n" })
    await expect(readClaudeSession(join(place, "a.jsonl"))).rejects.toMatchObject({ code: "SESSION_FILE_FOREIGN" })
    await expect(readClaudeSession(join(place, "b.jsonl"))).rejects.toMatchObject({ code: "SESSION_FILE_UNREADABLE" })
  })
})

describe("a session of Claude Code", () => {
  it("is found by its id, goes on as a copy of ours, and is left as it was", async () => {
    const cwd = folder({ "CLAUDE.md": "Speak plainly" })
    const home = folder()
    const projects = join(home, ".claude", "projects", cwd.replace(/[^A-Za-z0-9]/g, "-"))
    mkdirSync(projects, { recursive: true })
    const source = lines(user("look"), part("m1", use("a")), result("a"), part("m2", text("so")))
    writeFileSync(join(projects, `${ID}.jsonl`), source)
    const server = await serve([{ text: "on" }, { text: "and on" }])
    const kit = await testKit(server, { cwd, kit: { home } })
    for (const session of [{ resume: ID.slice(0, 8) }, { continue: true }]) {
      const { status } = await kit.prompt("go on", { model: "claude-opus-5-5", session }).result
      expect(status).toBe("ok")
    }
    const [first, second] = server.asked().map(({ body }) => body as any)
    expect(first.messages.slice(0, 4).map(wordsOf)).toEqual(["user: look", "assistant: a", "user: =a", "assistant: so"])
    // What a conversation of ours opens with comes with the first words here.
    expect(wordsOf(first.messages[4])).toMatch(/Speak plainly[\s\S]* go on$/)
    expect(second.messages).toHaveLength(7)
    expect(wordsOf(second.messages[6])).toBe("user: go on")
    expect(readFileSync(join(projects, `${ID}.jsonl`), "utf8")).toBe(source)
  })
})
