import { describe, expect, it } from "vitest"
import { allow, ask, block, inject, pass, rewrite } from "../../core/hook.ts"
import { parseAnswer } from "../../core/hook-answer.ts"
import { parseClaude } from "../../core/hook-claude.ts"

describe("parseAnswer()", () => {
  it.each([
    [undefined, {}],
    [pass(), {}],
    [block("no"), { decision: "block", reason: "no" }],
    [ask(), { decision: "ask" }],
    [allow("fine"), { decision: "allow", reason: "fine" }],
    [inject("note"), { inject: "note" }],
    [rewrite({ a: 1 }), { input: { value: { a: 1 } } }],
    [
      { kind: "allow", input: { a: 1 } },
      { decision: "allow", input: { value: { a: 1 } } },
    ],
  ])("reads %j in process", (raw, reply) => {
    expect(parseAnswer(raw, "PreToolUse")).toEqual(reply)
  })

  it.each([
    [{ exit: 0 }, {}],
    [{ exit: 0, stdout: "checked 3 files" }, {}],
    [{ exit: 0, stdout: "{ broken" }, {}],
    [{ exit: 0, stdout: '{"files": 3}' }, {}],
    [{ exit: 0, stdout: '{"decision": "deny", "files": 3}' }, {}],
    [
      { exit: 0, stdout: ' {"decision": "deny", "reason": "no"}\n' },
      { decision: "block", reason: "no" },
    ],
    [{ exit: 0, stdout: '{"decision": "block"}' }, { decision: "block" }],
    [
      { exit: 0, stdout: '{"decision": "ask", "inject": "note"}' },
      { decision: "ask", inject: "note" },
    ],
    [{ exit: 0, stdout: '{"input": {"a": 1}}' }, { input: { value: { a: 1 } } }],
    [
      { exit: 1, stdout: "ignored", stderr: "not on Friday\n" },
      { decision: "block", reason: "not on Friday" },
    ],
    [{ exit: 1 }, { decision: "block" }],
    [{ exit: 2, stdout: "note\n" }, { inject: "note" }],
  ])("reads %j as the native protocol does", (raw, reply) => {
    expect(parseAnswer(raw, "PreToolUse")).toEqual(reply)
  })

  it.each([
    [null, "it returned null"],
    [true, "it returned true"],
    ["no", 'it returned "no"'],
    [[], "it returned an array"],
    [{}, "it returned an object"],
    [{ kind: "deny" }, 'it answered "deny", which is no kind of answer'],
    [{ kind: "block", reason: 4 }, 'the "reason" of its answer is 4'],
    [{ kind: "inject" }, 'its answer "inject" has no text'],
    [{ kind: "rewrite" }, 'its answer "rewrite" has no input'],
    [{ exit: 3, stderr: "boom" }, "it ended with exit 3: boom"],
    [{ exit: 127 }, "it ended with exit 127"],
    [{ exit: 2, stderr: "bad syntax" }, "it ended with exit 2, and printed nothing to inject: bad syntax"],
    [{ exit: null }, "it ended with exit null"],
    [{ exit: "1" }, 'it ended with exit "1"'],
    [{ exit: 0, stdout: '{"decision": "constructor"}' }, 'its decision is "constructor"'],
    [{ exit: 0, stdout: '{"inject": {}}' }, 'the "inject" of its answer is an object'],
    [{ exit: 0, stdout: '{"input": {"__proto__": {"limit": 1}}}' }, 'its answer has a key "__proto__"'],
    [{ exit: 0, stdout: '{"input": {"\\u005f_proto__": 1}}' }, 'its answer has a key "__proto__"'],
    [{ kind: "result", content: "x" }, 'it answered "result", and PreToolUse takes'],
  ])("takes %j for a failure", (raw, message) => {
    expect(() => parseAnswer(raw, "PreToolUse")).toThrow(message)
  })

  it("takes an answer that the event's row does not list for a failure", () => {
    expect(() => parseAnswer({ exit: 1, stderr: "no" }, "SessionStart")).toThrow('it answered "block"')
    expect(() => parseAnswer({ exit: 2, stdout: "note" }, "RunStart")).toThrow('it answered "inject"')
    expect(() => parseAnswer(inject("note"), "RunEnd")).toThrow("RunEnd takes no answer")
  })

  it("lets exit 2 of a claude-code hook block, whatever is odd about its answer", () => {
    const odd = { exit: 2, stdout: '{"__proto__": 1}', stderr: "no" }
    expect(parseClaude(odd, "PreToolUse")).toEqual({ decision: "block", reason: "no" })
    expect(() => parseClaude({ ...odd, exit: 0 }, "PreToolUse")).toThrow('"__proto__"')
  })

  it("copies a rewritten input, so that the handler cannot change it any more", () => {
    const input = { command: "ls" }
    const reply = parseAnswer(rewrite(input), "PreToolUse")
    input.command = "rm -rf /"
    expect(reply.input).toEqual({ value: { command: "ls" } })
  })
})
