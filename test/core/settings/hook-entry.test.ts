import { expect, test } from "vitest"
import { HOOKS } from "../../../core/hook.ts"
import { parseDocument } from "../../../core/settings/document.ts"
import { readHooks } from "../../../core/settings/hook-entry.ts"
import { FOREIGN_EVENTS } from "../../../core/settings/hook-schema.ts"

async function read(hooks: string) {
  const { value, at } = await parseDocument("/p/.hooks.json", `{"hooks":\n${hooks}}`)
  return readHooks({ scope: "project", file: "/p/.hooks.json", hooks: (value as { hooks: any }).hooks, at })
}
const sources = async (hooks: string) => (await read(hooks)).drafts.map(({ source }) => source)

test("readHooks() reads a flat entry as a native hook, with its place", async () => {
  expect(await sources(`{"PreToolUse": [\n {"matcher": "Bash", "command": "bash a.sh", "description": "A"}]}`)).toEqual(
    [
      {
        event: "PreToolUse",
        dialect: "native",
        matcher: "Bash",
        form: { type: "command", command: "bash a.sh" },
        description: "A",
        origin: { scope: "project", file: "/p/.hooks.json", line: 3, column: 2 },
      },
    ],
  )
})

test("readHooks() reads each handler of a nested entry as a claude-code hook of its own", async () => {
  const read = await sources(`{"Stop": [{"matcher": "x", "hooks": [
    {"type": "command", "command": "a", "timeout": 5, "onFailure": "continue", "once": true},
    {"type": "agent", "prompt": "look", "asyncRewake": true, "statusMessage": "looks"}]}]}`)
  const shared = { event: "Stop", dialect: "claude-code", matcher: "x" }
  expect(read).toEqual([
    {
      ...shared,
      form: { type: "command", command: "a" },
      timeoutMs: 5000,
      onFailure: "allow",
      origin: { scope: "project", file: "/p/.hooks.json", line: 3, column: 5 },
    },
    {
      ...shared,
      form: { type: "agent", prompt: "look" },
      async: "rewake",
      statusMessage: "looks",
      origin: { scope: "project", file: "/p/.hooks.json", line: 4, column: 5 },
    },
  ])
})

test("readHooks() lets an entry, its group or its handler choose another protocol", async () => {
  const read = await sources(`{"Stop": [
    {"command": "a", "dialect": "claude-code"},
    {"dialect": "native", "hooks": [{"type": "command", "command": "b", "once": true},
      {"type": "command", "command": "c", "dialect": "claude-code"}]}]}`)
  expect(read.map(({ dialect, once }) => [dialect, once])).toEqual([
    ["claude-code", undefined],
    ["native", true],
    ["claude-code", undefined],
  ])
})

test.each([
  [
    `{"url": "https://a.example/x", "headers": {"A": "$B"}}`,
    { type: "http", url: "https://a.example/x", headers: { A: "$B" } },
  ],
  [`{"prompt": "is it safe?", "model": "m"}`, { type: "prompt", prompt: "is it safe?", model: "m" }],
  [`{"command": "node", "args": ["a.mjs"]}`, { type: "command", command: "node", args: ["a.mjs"] }],
  [`{"type": "mcp_tool", "server": "s", "tool": "t"}`, { type: "mcp_tool", server: "s", tool: "t" }],
])("readHooks() tells the kind of the flat entry %s by its keys", async (entry, form) => {
  expect((await sources(`{"PreToolUse": [${entry}]}`)).map((source) => source.form)).toEqual([form])
})

test.each([
  ["30", 30_000],
  ["0.5", 500],
  [`"30s"`, 30_000],
  [`"250ms"`, 250],
  [`"2m"`, 120_000],
  [`"1 h"`, 3_600_000],
])("readHooks() takes the timeout %s", async (timeout, timeoutMs) => {
  expect((await sources(`{"Stop": [{"command": "a", "timeout": ${timeout}}]}`))[0]).toMatchObject({ timeoutMs })
})

test.each(["-1", "0", `"abc"`, `"30"`, `"-5s"`, `"0s"`, "100000", `"48h"`, "null", "[30]"])(
  "readHooks() refuses the timeout %s",
  async (timeout) => {
    await expect(read(`{"Stop": [\n{"command": "a", "timeout": ${timeout}}]}`)).rejects.toMatchObject({
      code: "SETTINGS_VALUE_INVALID",
      details: { key: "hooks.Stop.0.timeout", line: 3, column: 18 },
    })
  },
)

test.each([
  [`{"PreTolUse": []}`, "hooks.PreTolUse", 'write "PreToolUse"'],
  [`{"toString": [{"command": "a"}]}`, "hooks.toString", "choose one of"],
  [`{"pre_run_command": []}`, "hooks.pre_run_command", /^choose one of SessionStart, /],
  [`{"Stop": [{"comand": "a"}]}`, "hooks.Stop.0.comand", 'write "command"'],
  [`{"Stop": [{"command": "a", "matchr": "x"}]}`, "hooks.Stop.0.matchr", 'write "matcher"'],
  [`{"Stop": [{"hooks": [], "timeout": 3}]}`, "hooks.Stop.0.timeout", 'write "timeout" on each handler in "hooks"'],
  [`{"Stop": [{"hooks": [], "mather": "x"}]}`, "hooks.Stop.0.mather", 'write "matcher"'],
  [
    `{"Stop": [{"hooks": [{"type": "command", "command": "a", "matcher": "x"}]}]}`,
    "hooks.Stop.0.hooks.0.matcher",
    'write "matcher" beside "hooks"',
  ],
  [
    `{"Stop": [{"hooks": [{"type": "command", "command": "a", "onFailur": "block"}]}]}`,
    "hooks.Stop.0.hooks.0.onFailur",
    'write "onFailure"',
  ],
])("readHooks() refuses the unknown key of %s with the right one", async (hooks, key, mend) => {
  await expect(read(hooks)).rejects.toMatchObject({
    code: "SETTINGS_KEY_UNKNOWN",
    details: { key, line: 2 },
    mend: expect.stringMatching(mend) as string,
  })
})

test.each([
  [`{"Stop": {}}`, "hooks.Stop", "expected a list of hooks"],
  [`{"Stop": ["a"]}`, "hooks.Stop.0", "expected an object with a command, or with hooks"],
  [`{"Stop": [{}]}`, "hooks.Stop.0", "expected a command, a url or a prompt"],
  [`{"Stop": [{"command": 3}]}`, "hooks.Stop.0.command", "expected string, received number"],
  [`{"Stop": [{"command": ""}]}`, "hooks.Stop.0.command", "too small"],
  [`{"Stop": [{"command": ["a"]}]}`, "hooks.Stop.0.command", "expected string, received array"],
  [`{"Stop": [{"command": "a", "matcher": ["x"]}]}`, "hooks.Stop.0.matcher", "expected string, received array"],
  [`{"Stop": [{"command": "a", "onFailure": "maybe"}]}`, "hooks.Stop.0.onFailure", "expected one of"],
  [`{"Stop": [{"type": "shell", "command": "a"}]}`, "hooks.Stop.0.type", "expected one of command, http"],
  [`{"Stop": [{"hooks": {}}]}`, "hooks.Stop.0.hooks", "expected array"],
  [`{"Stop": [{"hooks": ["a"]}]}`, "hooks.Stop.0.hooks.0", "expected an object with a type"],
  [`{"Stop": [{"hooks": [{"command": "a"}]}]}`, "hooks.Stop.0.hooks.0", "expected a type: command"],
  [`{"PreToolUse": [{"command": "a", "if": "Bash(("}]}`, "hooks.PreToolUse.0.if", "expected one permission rule"],
  [`{"Stop": [{"url": "ftp://a/"}]}`, "hooks.Stop.0.url", "expected an http or https address"],
  [`{"Stop": [{"url": "nowhere"}]}`, "hooks.Stop.0.url", "expected an http or https address"],
  [`{"Stop": [{"url": "https://me:secret@a/"}]}`, "hooks.Stop.0.url", "put secrets into headers"],
])("readHooks() refuses %s with its place", async (hooks, key, problem) => {
  await expect(read(hooks)).rejects.toMatchObject({
    code: "SETTINGS_VALUE_INVALID",
    details: { key, problem: expect.stringContaining(problem) as string, line: 2 },
  })
})

test("readHooks() keeps hooks of events that are not raised here apart, and checks them all the same", async () => {
  const { drafts, notRaised } = await read(`{"PostToolBatch": [{"hooks": [{"type": "command", "command": "a"}]}]}`)
  expect(drafts).toEqual([])
  expect(notRaised).toEqual([
    { event: "PostToolBatch", origin: { scope: "project", file: "/p/.hooks.json", line: 2, column: 31 } },
  ])
  await expect(read(`{"PostToolBatch": [{"comand": "a"}]}`)).rejects.toMatchObject({ code: "SETTINGS_KEY_UNKNOWN" })
})

test("readHooks() knows each event by one name only: raised here or not", () => {
  expect(FOREIGN_EVENTS.filter((name) => name in HOOKS)).toEqual([])
})
