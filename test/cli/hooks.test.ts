/**
 * Hooks from outside: what `sous hooks` and `sous check` say about them, and that a run has them.
 */
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const GUARD = `input=$(cat)
case "$CLAUDE_TOOL_INPUT" in *rm*) echo "no deletes" >&2; exit 1;; *ls*) echo "look around"; exit 2;; esac
`
const FILE = `{"hooks": {
  "PreToolUse": [
    {"matcher": "Bash", "command": "bash guard.sh", "description": "guard"}
  ]
}}`
const CLAUDE = `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
  {"type": "command", "command": "cat >/dev/null; echo no >&2; exit 2", "if": "Bash(git push *)"},
  {"type": "prompt", "prompt": "Is it safe?"}
]}], "PostToolBatch": [{"hooks": [{"type": "command", "command": "true"}]}]}}`

describe("sous hooks list", () => {
  it("says of each hook where it stands and what keeps it from running", async () => {
    place.put("project/.hooks.json", FILE)
    place.put("project/guard.sh", GUARD)
    place.put("home/.config/sous/settings.json", CLAUDE)
    const untrusted = await place.run(["hooks", "list"])
    expect(untrusted.code).toBe(0)
    expect(untrusted.stdout).toContain("not run  PreToolUse(Bash)  native  project  .hooks.json:3\n    guard\n")
    expect(untrusted.stdout).toContain("    not run: nobody has trusted this project\n")
    const { stdout } = await place.run(["hooks", "list", "--trust"])
    expect(stdout).toContain("active   PreToolUse(Bash)  native  project  .hooks.json:3\n")
    expect(stdout).toContain("active   PreToolUse(Bash)  claude-code  user  ")
    expect(stdout).toContain("    prompt: Is it safe?\n")
    expect(stdout).toMatch(/not raised here {2}PostToolBatch {2}.*settings\.json:4\n/)
    expect((await place.run(["hooks", "--trust"])).stdout).toBe(stdout)
  })

  it("prints JSON for machines, and no value of a header", async () => {
    place.put(
      "home/.config/sous/.hooks.json",
      `{"hooks": {"Stop": [{"url": "http://127.0.0.1:9/x", "headers": {"Authorization": "Bearer hidden"}}]}}`,
    )
    const { stdout } = await place.run(["hooks", "list", "--json"])
    expect(stdout).not.toContain("hidden")
    const file = join(place.home, ".config/sous/.hooks.json")
    expect(JSON.parse(stdout)).toEqual({
      hooks: [
        {
          event: "Stop",
          dialect: "native",
          type: "http",
          does: "http://127.0.0.1:9/x",
          scope: "user",
          file,
          line: 1,
          column: 21,
          active: true,
          problems: [],
        },
      ],
      notRaised: [],
    })
  })

  it("lists hooks of plugins, and says that there is nothing", async () => {
    expect((await place.run(["hooks", "list"])).stdout).toBe("No hooks\n")
    place.put(
      "project/p.mjs",
      `export default { name: "mine", hooks: { Stop: { description: "watch", handler() {} } } }`,
    )
    const { stdout } = await place.run(["hooks", "list", "--plugin", "./p.mjs"])
    expect(stdout).toBe("active   Stop  native  plugin  mine\n    watch\n")
  })

  it("points at scripts that are not there and matchers that fit nothing", async () => {
    place.put("project/plain.sh", "exit 0")
    place.put(
      "home/.config/sous/.hooks.json",
      `{"hooks": {"PostToolUse": [
        {"matcher": "Edti", "command": "bash gone.sh"},
        {"matcher": "mcp__memory", "command": "./plain.sh"},
        {"matcher": "mcp__memory__.*|NotHere", "command": "none", "args": []},
        {"matcher": "Edit|NotHere", "command": "echo ok"}],
       "SessionStart": [{"matcher": "start", "command": "true"}]}}`,
    )
    const { stdout } = await place.run(["hooks", "list", "--json"])
    const problems = JSON.parse(stdout).hooks.map((row: { problems: string[] }) => row.problems)
    expect(problems).toEqual([
      [
        `there is no file "gone.sh" in "${place.project}"`,
        'its matcher "Edti" fits nothing here (did you mean "Edit"?)',
      ],
      [
        '"./plain.sh" is not executable',
        'its matcher "mcp__memory" fits nothing here (write "mcp__memory__.*" for all tools of that server)',
      ],
      ['there is no program "none"'],
      [],
      ['its matcher "start" fits nothing here'],
    ])
  })

  it.each([
    [["lits"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous hooks list"'],
    [["remove"], "CLI_ARGUMENT_UNEXPECTED", "sous hooks test EVENT"],
    [["list", "all"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous hooks list" alone'],
    [["list", "--tool", "Bash"], "CLI_ARGUMENT_UNEXPECTED", "sous hooks test EVENT"],
    [["test"], "CLI_ARGUMENT_MISSING", "sous hooks test PreToolUse"],
    [["test", "PreToolUs"], "CLI_ARGUMENT_UNEXPECTED", 'write "PreToolUse"'],
    [["test", "PostToolBatch"], "CLI_ARGUMENT_UNEXPECTED", "PostToolBatch is not"],
    [["test", "PreToolUse"], "CLI_ARGUMENT_MISSING", "--tool"],
    [["test", "Stop", "--tool", "Bash"], "CLI_ARGUMENT_UNEXPECTED", "Stop is no call of a tool"],
    [["test", "Stop", "--payload", '{"last_mesage":"x"}'], "CLI_VALUE_INVALID", 'write "last_message"'],
    [["test", "Stop", "--payload", '{"hook_event_name":"PreToolUse"}'], "CLI_VALUE_INVALID", "a payload of Stop"],
    [["test", "Stop", "--payload", "gone.json"], "CLI_VALUE_INVALID", "ENOENT"],
    [["test", "PreToolUse", "--tool", "Bash", "--payload", "{}"], "CLI_FLAGS_CONFLICT", "--payload"],
  ])("refuses %j", async (args, code, says) => {
    const ended = await place.run(["hooks", ...args])
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toContain(code)
    expect(ended.stderr).toContain(says)
  })
})

describe("sous hooks test", () => {
  const test = async (...args: string[]) => (await place.run(["hooks", "test", ...args, "--trust"])).stdout

  it("prints hook by hook what each says, and what comes of it", async () => {
    place.put("project/.hooks.json", FILE)
    place.put("project/guard.sh", GUARD)
    place.put("home/.config/sous/settings.json", CLAUDE)
    const blocked = await test("PreToolUse", "--tool", "Bash", "--input", "rm -rf build")
    expect(blocked).toMatch(/^block {4}guard {2}.*\.hooks\.json:3 {2}exit 1 {2}\d+ ms\n {9}no deletes\n/)
    expect(blocked).toMatch(/not run {2}PreToolUse\(Bash\).*settings\.json:3\n {9}it puts a question to a model/)
    expect(blocked).toContain("=> PreToolUse: block\n         no deletes\n")
    const injected = await test("PreToolUse", "--tool", "Bash", "--input", "ls")
    expect(injected).toContain("=> PreToolUse goes on\n   added to the conversation\n         look around\n")
    // The condition of the other hook fits this call alone.
    const pushed = await test("PreToolUse", "--tool", "Bash", "--input", "git push origin")
    expect(pushed).toMatch(/^block {4}PreToolUse\(Bash\) .*exit 2/)
    expect(await test("PreToolUse", "--tool", "Read", "--input", "rm.txt")).toContain("=> PreToolUse goes on")
  })

  it("says of an untrusted project's hooks that they did not run", async () => {
    place.put("project/.hooks.json", `{"hooks": {"Stop": [{"command": "touch ran"}]}}`)
    const { stdout } = await place.run(["hooks", "test", "Stop"])
    expect(stdout).toMatch(/^not run {2}Stop .*\n {9}nobody has trusted this project\n=> Stop goes on\n$/)
    expect((await place.run(["check", "ran"])).stdout).toContain("ran")
  })

  it("gives hooks the payload from a file, and prints JSON for machines", async () => {
    place.put("project/.hooks.json", `{"hooks": {"Stop": [{"command": "cat >&2; exit 1"}]}}`)
    place.put("project/stop.json", `{"hook_event_name": "Stop", "last_message": "it is done"}`)
    const { hooks, outcome, payload } = JSON.parse(await test("Stop", "--payload", "stop.json", "--json"))
    expect(payload).toEqual({ last_message: "it is done", stop_hook_active: false })
    expect(hooks).toMatchObject([{ outcome: "block", exit: 1, origin: { scope: "project", line: 1 } }])
    expect(JSON.parse(outcome.reasons[0])).toMatchObject({ hook_event_name: "Stop", last_message: "it is done" })
    expect(outcome.decision).toBe("block")
  })

  it("waits for hooks that a run would not wait for, and tells of those that fail", async () => {
    place.put(
      "project/.hooks.json",
      `{"hooks": {"PostToolUse": [{"command": "echo late; exit 2", "async": true}, {"command": "exit 9"}]}}`,
    )
    const out = await test("PostToolUse", "--tool", "Bash", "--input", "ls")
    expect(out).toContain("added to the conversation\n         late\n")
    expect(out).toMatch(/failed {3}PostToolUse .*exit 9/)
    expect(out).toMatch(/! {8}Hook "PostToolUse.* failed: /)
  })

  it("is refused inside of a run", async () => {
    const { code, stderr } = await place.run(["hooks", "test", "Stop"], { more: { SOUS_SESSION_ID: "x" } })
    expect(code).toBe(2)
    expect(stderr).toContain("CLI_INSIDE_RUN")
  })
})

describe("sous check", () => {
  it("looks at settings and hooks, also of a project that nobody has trusted", async () => {
    place.put("project/.hooks.json", FILE)
    const bad = await place.run(["check"])
    expect(bad.code).toBe(1)
    expect(bad.stdout).toMatch(/^error {4}\.hooks\.json:3:\d+ {2}PreToolUse hook "Bash": there is no file "guard\.sh"/m)
    place.put("project/guard.sh", GUARD)
    const good = await place.run(["check", "--json"])
    expect(good.code).toBe(0)
    expect(JSON.parse(good.stdout)).toMatchObject({ ok: true, files: [{ as: "hooks (project)" }] })
    place.put("project/.hooks.json", FILE.replace("command", "comand"))
    const broken = await place.run(["check", "--json"])
    expect(broken.code).toBe(1)
    expect(JSON.parse(broken.stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([
        expect.objectContaining({ level: "error", code: "SETTINGS_KEY_UNKNOWN", line: 3, mend: 'write "command"' }),
      ]),
    })
  })
})

describe("sous check of rules and plugins", () => {
  it("fails for a guard with which no run would start", async () => {
    place.put("project/.sous/settings.json", '{"permissions":{"deny":["Bash(ls"]}}')
    const { code, stdout } = await place.run(["check", "--json"])
    expect(code).toBe(1)
    const finding = { level: "error", code: "PERMISSION_RULE_INVALID", mend: 'write "Bash(ls)"' }
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, findings: [finding] })
  })

  it("warns of a rule that fits nothing, and fails for a plugin that is left out", async () => {
    place.put("project/.sous/settings.json", '{"permissions":{"deny":["Bsh(ls)"]}}')
    const warned = await place.run(["check"])
    expect(warned).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^warning {2}.*deny rule "Bsh\(ls\)": there is no tool .* write "Bash\(ls\)"/),
    })
    place.put("project/guard.mjs", 'export default { name: "guard", hooks: { PreToolUs: () => {} } }')
    const { code, stdout } = await place.run(["check", "--plugin", "./guard.mjs"])
    expect(code).toBe(1)
    expect(stdout).toContain('Plugin left out: Cannot register a hook of plugin "guard": there is no event "PreToolUs"')
  })
})

describe("a run", () => {
  const TURNS = `turns:\n  - tool: { Bash: { command: ls } }\n  - text: done\n`
  const run = (...args: string[]) => place.run(["-p", "go", "--model", "script:turns.yaml", "--trust", ...args])

  it("has the hooks of the files", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put("project/guard.sh", GUARD.replace("*ls*", "*never*").replace("*rm*", "*ls*"))
    place.put("project/.hooks.json", FILE)
    const { stdout } = await run("--json")
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    const told = events.filter(({ type }) => type === "hook")
    expect(told).toMatchObject([{ event: "PreToolUse", hook: "guard", outcome: "block", reason: "no deletes" }])
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({ isError: true })
  })

  it("does not start with a guard whose script is not there, or with a file that is broken", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put("project/.hooks.json", FILE)
    const missing = await run()
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain("HOOK_SCRIPT_MISSING")
    expect(missing.stderr).toContain(`.hooks.json:3, which would block all that it guards: there is no file "guard.sh"`)
    place.put("project/.hooks.json", FILE.replace("PreToolUse", "PreTolUse"))
    const broken = await run()
    expect(broken.code).toBe(2)
    expect(broken.stderr).toContain('write "PreToolUse"')
  })

  it("starts with a warning where a guard watches nothing, or cannot run here", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put(
      "project/.hooks.json",
      `{"hooks": {"PreToolUse": [
        {"matcher": "bash", "command": "exit 1"},
        {"matcher": "Bash", "type": "mcp_tool", "server": "s", "tool": "t"}]}}`,
    )
    const { code, stderr } = await run()
    expect(code).toBe(0)
    expect(stderr).toContain('.hooks.json:2 with the matcher "bash" does not see what it seems to watch')
    expect(stderr).toMatch(/The PreToolUse hook of .*\.hooks\.json:3 never runs: handlers of the type mcp_tool/)
  })

  it("lets no agent write the script of a hook, whatever is allowed", async () => {
    const input = `{ command: "cp other.sh guard.sh" }`
    place.put(
      "project/turns.yaml",
      `turns:\n  - tool: { Bash: ${input} }\n  - tool: { Write: { file_path: new.sh, content: x } }\n  - text: done\n`,
    )
    place.put("project/guard.sh", "exit 0")
    place.put("project/other.sh", "echo mine")
    place.put("project/.hooks.json", FILE)
    const { stdout } = await run("-A", "--json")
    const results = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === "tool_result")
    expect(results).toMatchObject([{ isError: true }, { isError: false }])
    expect(results[0].preview).toContain("it configures agents")
  })

  it("starts with a warning where the hook may fail", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put("project/.hooks.json", FILE.replace('"description"', '"onFailure": "allow", "description"'))
    const { code, stderr } = await run()
    expect(code).toBe(0)
    expect(stderr).toMatch(/The PreToolUse hook of .*\.hooks\.json:3 will fail: there is no file "guard\.sh"/)
  })

  it("starts a script by its path when it may be executed", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put("project/.hooks.json", FILE.replace("bash guard.sh", "./guard.sh"))
    const file = place.put("project/guard.sh", `#!/bin/bash\necho stop >&2; exit 1\n`)
    expect((await run()).stderr).toContain('"./guard.sh" is not executable')
    chmodSync(file, 0o755)
    expect((await run("--json")).stdout).toContain('"outcome":"block"')
  })
})
