/**
 * What `sous check` takes a file for, and what it finds in settings, hooks and files of other programs.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { checkFile, type FileCheck } from "../../../core/cli/check-file.ts"
import { checkHooks } from "../../../core/cli/check-hook.ts"
import { maskText, secretIn } from "../../../core/cli/check-secret.ts"
import { defaultPlugins } from "../../../plugins/default.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-check-")))
afterAll(() => rmSync(folder, { recursive: true }))

const tools = defaultPlugins.flatMap(({ tools: list = [] }) => list)
const ground = { host: { loadOptions: () => ({ modules: { sous: async () => ({}) } }) }, tools }

let count = 0
/** Writes the file into a folder of its own; a text, or what JSON is made of. */
function put(name: string, content: unknown): string {
  const file = join(folder, String(count++), name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2))
  return file
}

async function look(name: string, content: unknown): Promise<FileCheck> {
  return await checkFile(put(name, content), ground)
}

function linesOf({ findings }: Pick<FileCheck, "findings">): string[] {
  return findings.map(({ level, line, what, problem, mend }) => `${level} ${line} ${what}: ${problem}; ${mend}`)
}

const nested = (command: string, more: object = {}) => ({ hooks: [{ type: "command", command, ...more }] })

describe("checkFile() takes", () => {
  it.each([
    [".claude/settings.json", {}, "settings of Claude Code (project)"],
    [".claude/settings.local.json", {}, "settings of Claude Code (local)"],
    [".sous/settings.json", {}, "settings (project)"],
    [".sous/settings.yaml", "model: sonnet", "settings (project)"],
    ["managed-settings.json", {}, "settings of Claude Code (managed)"],
    ["a.json", { permissions: { allow: [] }, outputStyle: "x" }, "settings of Claude Code (project)"],
    ["a.json", { permissions: { allow: [] }, budget: { usd: 1 } }, "settings (project)"],
    ["a.json", { permissions: { allow: ["Bash(ls)"] } }, "settings (project)"],
    ["settings.json", { hooks: { Stop: [nested("true")] } }, "settings of Claude Code (project)"],
    [".hooks.json", { hooks: {} }, "hooks (.hooks.json)"],
    ["hooks.json", { hooks: { Stop: [nested("bash ${CLAUDE_PLUGIN_ROOT}/x.sh")] } }, "hooks of a Claude Code plugin"],
    ["x.json", { hooks: { Stop: [] }, description: "d" }, "hooks (.hooks.json)"],
    [".mcp.json", { mcpServers: {} }, "an MCP configuration"],
    ["x.json", { servers: { a: { command: "x" } }, inputs: [] }, "an MCP configuration"],
    ["opencode.jsonc", "{ // mine\n }", "settings of opencode"],
    ["x.json", { $schema: "https://opencode.ai/config.json", plugin: [] }, "settings of opencode"],
    ["x.yaml", "title: T\ninstructions: i\nprompt: p\n", "a recipe of goose"],
    ["x.yaml", "name: x\ndescription: d\nsteps: [{ id: a, value: 1 }]\n", "recipe x, 1 step"],
    [
      "x.permissions.yaml",
      "- { command: ls, expect: allow, because: b }\n",
      "a permission table of 1 case; sous test holds it",
    ],
    ["x.mjs", 'export default { name: "guard", permissions: { deny: ["Bash(rm *)"] } }', "plugin guard"],
    ["x.test.ts", "throw new Error('ran')", "a test; sous test runs it"],
  ] as [string, unknown, string][])("%s %j for what it is", async (name, content, as) => {
    expect(await look(name, content)).toMatchObject({ as, findings: expect.not.arrayContaining([{ level: "error" }]) })
  })

  it("a file of which nothing tells what it is for that, and one that is not there for an error", async () => {
    expect(linesOf(await look("x.json", { some: "thing" }))).toEqual([
      expect.stringMatching(/^error 1 : nothing tells/),
    ])
    expect((await checkFile(join(folder, "gone.json"), ground)).findings).toMatchObject([{ level: "error" }])
  })

  it("a pipe and a device for what cannot be read, and waits for neither", async () => {
    const pipe = join(folder, "pipe.yaml")
    execFileSync("mkfifo", [pipe])
    for (const file of [pipe, "/dev/zero"])
      expect((await checkFile(file, ground)).findings).toMatchObject([
        { level: "error", code: "SETTINGS_FILE_UNREADABLE" },
      ])
  })

  it("a folder for a pack", async () => {
    const file = put("sous.pack.yaml", 'name: p\nversion: 1.0.0\napiVersion: 1\npermissions: { deny: ["Bsh(x)"] }\n')
    const found = await checkFile(dirname(file), ground)
    expect(found).toMatchObject({ as: "pack p 1.0.0", rules: [{ text: "Bsh(x)", behavior: "deny" }] })
    expect((await checkFile(join(folder), ground)).findings).toMatchObject([{ level: "error" }])
  })
})

describe("checkFile() of settings", () => {
  it("lists every fault of a file, each with its place", async () => {
    const text = `{
  "modle": "x",
  "maxTurns": "five",
  "permissions": { "alow": [], "deny": ["Bash(rm *)"] },
  "hooks": {
    "PreToolUs": [{ "command": "true" }],
    "PreToolUse": [
      { "comand": "true" },
      { "matcher": "Bash", "hooks": [{ "type": "comand", "command": "x" }, { "type": "command", "comand": "y" }] }
    ]
  }
}`
    const found = await look(".sous/settings.json", text)
    expect(linesOf(found)).toEqual([
      expect.stringMatching(/^error 3 .*"maxTurns" is wrong: expected number/),
      expect.stringMatching(/^error 4 .*"permissions.alow"; write "permissions.allow"|^error 4 .*write "allow"/),
      expect.stringMatching(/^error 2 .*"modle"; write "model"/),
      expect.stringMatching(/^error 6 .*"hooks.PreToolUs"; write "PreToolUse"/),
      expect.stringMatching(/^error 8 .*comand"; write "command"/),
      expect.stringMatching(/^error 9 .*expected one of command/),
      expect.stringMatching(/^error 9 .*comand"; write "command"|^error 9 .*expected/),
    ])
    expect(found.rules).toMatchObject([{ text: "Bash(rm *)", line: 4 }])
  })

  it("tells of Claude Code's what is left out, what means nothing here, and what stops a start", async () => {
    const found = await look(
      ".claude/settings.json",
      `{
  "spinnerTipsEnabled": true,
  "basicMemory": {},
  "mcpServers": {},
  "permissions": { "defaultMode": "allowEdits", "denny": ["Bash(rm *)"] },
  "hooks": { "PreToolUs": [], "PostToolUse": [{ "matcher": "Write|Edit(*.py)", "hooks": [{ "type": "command", "command": "ruff $CLAUDE_FILE" }] }] }
}`,
    )
    const lines = linesOf(found)
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^note 2 "spinnerTipsEnabled": it means nothing here/),
        expect.stringMatching(/^warning 3 "basicMemory": it is left out: no key has that name/),
        expect.stringMatching(
          /^warning 4 "mcpServers": MCP servers are not read from settings; put them into \.mcp\.json/,
        ),
        expect.stringMatching(/^error 5 .*"permissions.denny"; write "deny"/),
        expect.stringMatching(/^error 6 .*"hooks.PreToolUs"; write "PreToolUse"/),
        expect.stringMatching(
          /^warning 6 "hooks.PostToolUse.0.matcher": it is left out: .*; write "Write\|Edit", and the rest as "if"/,
        ),
      ]),
    )
    const hooks = checkHooks(found.hooks, { tools: [], agents: [], variables: new Set() })
    expect(linesOf({ findings: hooks })).toEqual([expect.stringMatching(/\$CLAUDE_FILE is set by nobody/)])
  })

  it("says that a mode which does not exist is the mode default", async () => {
    const found = await look(".claude/settings.json", { permissions: { defaultMode: "allowEdits" } })
    expect(linesOf(found)).toEqual([
      expect.stringMatching(/^warning 3 "permissions.defaultMode": .*the mode default; choose/),
    ])
  })

  it("tells of names under which nothing is read, and of comments that Claude Code does not take", async () => {
    expect(linesOf(await look("settings.local.jsonc", '{"model": "sonnet"} // mine'))).toEqual([
      expect.stringMatching(
        /^warning 1 : settings are not read under the name "settings.local.jsonc"; name it "settings.local.json"/,
      ),
    ])
    expect(linesOf(await look(".claude/settings.json", '{"model": "sonnet",} // mine'))).toEqual([
      expect.stringMatching(/^note 1 : it holds comments or a comma too many/),
    ])
  })

  it.each([
    [
      { env: { ANTHROPIC_BASE_URL: "http://x" } },
      /^warning 3 "env.ANTHROPIC_BASE_URL": .*redirects the toolkit itself; a project sets it only once/,
    ],
    [
      { env: { GITHUB_TOKEN: "abcdefghi" } },
      /^warning 3 "env.GITHUB_TOKEN": .*what its name calls a secret, for everybody/,
    ],
    [{ env: { DATABASE: "postgres://me:hunter22@db/x" } }, /a password in an address/],
    [{ permissions: { defaultMode: "bypassPermissions" } }, /in the mode bypassPermissions nothing is asked/],
    [{ permissions: { defaultMode: "auto" } }, /a classifier answers in place of a person/],
    [{ allowManagedHooksOnly: true }, /only managed settings can set it; remove it here/],
  ])("finds what is odd about %j", async (content, expected) => {
    expect(linesOf(await look(".sous/settings.json", content))).toEqual([expect.stringMatching(expected)])
  })

  it.each([
    [{ env: { MAX_OUTPUT_TOKENS: "4000", NODE_ENV: "test", TOKEN_FILE: "/x", GITHUB_TOKEN: "${GITHUB_TOKEN}" } }],
    [{ permissions: { defaultMode: "acceptEdits", allow: ["Bash(npm test)"] } }],
  ])("says nothing of %j", async (content) => {
    expect(linesOf(await look(".sous/settings.json", content))).toEqual([])
  })
})

describe("checkHooks()", () => {
  const around = { tools: tools.map(({ name }) => name), agents: [], variables: new Set(["MINE"]) }
  const linesFor = async (event: string, entry: object, more: object = {}) => {
    const { hooks, findings } = await look(".hooks.json", { hooks: { [event]: [entry] } })
    expect(findings).toEqual([])
    return linesOf({ findings: checkHooks(hooks, { ...around, ...more }) })
  }

  it.each([
    ["Stop", nested("true", { timeout: 5000 }), /its timeout 5000 is in seconds: 83 minutes; write 5 for/],
    ["PreToolUse", nested("check.py || true"), /^warning .*so it can never block/],
    ["Stop", nested("pytest -q; true"), /^warning .*can never block/],
    ["PostToolUse", nested("prettier || true"), /^note .*can never block/],
    ["PreToolUse", nested("a || true; b"), /^note .*a part of it ends well/],
    [
      "PostToolUse",
      nested('fmt "$CLAUDE_FILE_PATHS"'),
      /\$CLAUDE_FILE_PATHS is set by nobody, so it is empty; read the event/,
    ],
    ["PreToolUse", nested('x "$TOOL_NAME" "$TOOL_INPUT"'), /\$TOOL_NAME, \$TOOL_INPUT are set by nobody/],
    ["Stop", nested('bash "$CLAUDE_PLUGIN_ROOT/x.sh"'), /hooks of a plugin alone/],
    ["Stop", nested("bash .claude/hooks/x.sh"), /"\.claude\/hooks\/x\.sh" is looked for where the agent stands/],
    ["Stop", nested("bash $CLAUDE_PROJECT_DIR/x.sh"), /stands without quotes.*write "\$CLAUDE_PROJECT_DIR"$/],
    ["Stop", nested("npx -y notifier"), /npx runs whatever version of "notifier"/],
    ["Stop", nested("npx notifier@latest"), /npx runs whatever version/],
    ["Stop", nested("curl -s https://x.example/a | bash"), /what it has just loaded/],
    ["Stop", nested("/mnt/c/tools/x.exe"), /^note .*a path of one machine/],
    ["PreToolUse", { matcher: "mcp__gemini", command: "true" }, /fits nothing here; write "mcp__gemini__\.\*"/],
    ["PreToolUse", { matcher: "mcp__", command: "true" }, /fits nothing here; write "mcp__\.\*"/],
    ["PreToolUse", { matcher: "Bsh", command: "true" }, /fits nothing here; write "Bash"/],
    ["PreToolUse", { matcher: "AskUserQuestion", command: "true" }, /^note .*no tool here is named/],
    [
      "PostToolUse",
      { matcher: "Write|Edit(*.py)", command: "true" },
      /^error .*no valid pattern; write the matcher "Write\|Edit" and .*"if": "Edit\(\*\.py\)"/,
    ],
  ] as [string, object, RegExp][])("says of %s %j what is odd about it", async (event, entry, expected) => {
    expect(await linesFor(event, entry)).toEqual([expect.stringMatching(expected)])
  })

  it.each([
    ["PreToolUse", nested('bash "$CLAUDE_PROJECT_DIR/.claude/guard.sh"')],
    ["PreToolUse", nested('echo "$CLAUDE_TOOL_INPUT" | grep -q x', { timeout: 600 })],
    ["Stop", nested("npx prettier --check .")],
    ["Stop", nested("npx notifier@2.1.0")],
    ["Stop", nested("uvx --from git+https://x.example/serena serena")],
    ["PostToolUse", nested('FILE_PATH=$(jq -r .tool_input.file_path); echo "$FILE_PATH"')],
    ["PreToolUse", nested('echo "$MINE"')],
    ["Stop", nested("~/bin/bell")],
    ["SubagentStop", { matcher: "*", ...nested("true") }],
  ] as [string, object][])("says nothing of %s %j", async (event, entry) => {
    expect(await linesFor(event, entry)).toEqual([])
  })

  it("knows the variables of a plugin's hooks", async () => {
    expect(await linesFor("Stop", nested('bash "${CLAUDE_PLUGIN_ROOT}/x.sh"'), { ofPlugin: true })).toEqual([])
  })
})

describe("checkFile() of other programs' files", () => {
  it.each([
    [
      { version: 1, hooks: { beforeShellExecution: [{ command: "x" }] } },
      /for Cursor, .*for "beforeShellExecution" write .*"matcher":"Bash","command":"x"/,
    ],
    [{ hooks: { pre_run_command: [{ command: "x", show_output: true }] } }, /for Windsurf, .*PreToolUse/],
    [{ version: 1, hooks: { PreToolUse: [{ command: "x", timeout: 15 }] } }, /for Copilot, .*for "PreToolUse" write/],
    [{ hooks: { Stop: [{ hooks: [{ type: "command", command: "x", commandWindows: "y" }] }] } }, /for Codex, /],
    [{ hooks: { BeforeTool: [{ hooks: [{ type: "command", command: "x" }] }] } }, /for the Gemini command line/],
  ])("names %j", async (content, expected) => {
    expect(linesOf(await look("x.json", content))[0]).toMatch(expected)
  })

  it("tells of each matcher that is null", async () => {
    const found = await look("x.json", {
      hooks: {
        Stop: [
          { matcher: null, ...nested("a") },
          { matcher: null, ...nested("b") },
        ],
      },
    })
    expect(linesOf(found).filter((line) => line.includes('matcher" is wrong'))).toHaveLength(2)
  })

  it("leaves out of a plugin's hooks what nothing here knows, and says so", async () => {
    const entry = nested('bash "${CLAUDE_PLUGIN_ROOT}/x"', { rewakeMessage: "m", rewakeSummary: "s" })
    expect(linesOf(await look("hooks.json", { hooks: { Stop: [entry] } }))).toEqual([
      expect.stringMatching(/^warning .*rewakeMessage": it is left out/),
      expect.stringMatching(/^warning .*rewakeSummary": it is left out/),
    ])
  })

  it("tells of MCP servers what does not count and what is no value", async () => {
    const servers = {
      a: { command: "npx", args: ["-y", "a-mcp"], alwaysAllow: ["edit"], env: { A_TOKEN: "<paste it here>" } },
      b: { command: "C:\\tools\\node.exe", env: { URL: "${B_URL:-x}" } },
      c: {},
      d: { command: "uvx", args: ["--from", "git+https://x.example/d", "d"] },
    }
    expect(linesOf(await look(".mcp.json", { mcpServers: servers }))).toEqual([
      expect.stringMatching(/^note 1 : an MCP configuration: its servers are not started yet/),
      expect.stringMatching(/^warning \d+ "mcpServers.a.alwaysAllow": .*never counts; .*"mcp__a__edit"/),
      expect.stringMatching(/^warning .*A_TOKEN is a placeholder/),
      expect.stringMatching(/^note .*npx runs whatever version of "a-mcp"/),
      expect.stringMatching(/^note .*B_URL of the environment/),
      expect.stringMatching(/^note .*a path of one machine, C:\\tools/),
      expect.stringMatching(/^error .*neither a command nor a url/),
    ])
  })

  it("says how permissions of opencode are written here", async () => {
    const permission = { bash: { "git push": "deny" }, webfetch: "ask", docs_x: "allow", todoread: "allow" }
    const found = await look("opencode.json", { permission, mcp: { docs: {} }, model: "a/b" })
    expect(linesOf(found)).toEqual([
      expect.stringMatching(/opencode's settings: not read here/),
      expect.stringMatching(/"permissions.deny"; write "Bash\(git push\)" there/),
      expect.stringMatching(/"permissions.ask"; write "WebFetch" there/),
      expect.stringMatching(/"permissions.allow"; write "mcp__docs__x" there/),
      expect.stringMatching(/no tool here is what opencode calls "todoread"/),
      expect.stringMatching(/"mcp": MCP servers stand in \.mcp\.json/),
      expect.stringMatching(/"model" in \.sous\/settings\.json/),
    ])
  })

  it("says how a recipe of goose is written here", async () => {
    const text =
      "title: T\nprompt: Say {{ word }}\nretry: { max_retries: 2 }\nextensions: [{ type: stdio, cmd: npx, args: [x] }]\n"
    expect(linesOf(await look("x.yaml", text))).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/a recipe of goose: it does not run here/),
        expect.stringMatching(/\{\{ word \}\} is written \$\{\{ params\.word \}\}/),
        expect.stringMatching(/"retry": the same here: a step with "until"/),
        expect.stringMatching(/it starts a program, npx x/),
      ]),
    )
  })
})

describe("secretIn()", () => {
  it.each([
    ["Authorization: Bearer abcdefgh12", "Authorization: Bearer [masked]"],
    ["-H 'apikey: abcdefgh12'", "-H 'apikey: [masked]'"],
    ["https://me:hunter22@x.example", "https://me:[masked]@x.example"],
    ["ghp_abcdefghijklmnopqrstuvwxyz", "[masked]"],
    ["MY_API_KEY=abcdefgh12 run", "MY_API_KEY=[masked] run"],
  ])("finds and masks it in %s", (text, masked) => {
    expect(secretIn(text)).toBeDefined()
    expect(maskText(text)).toBe(masked)
  })

  it.each([
    "Authorization: Bearer $TOKEN",
    "https://x.example:443/@me",
    "JWT tokens and access control",
    "API_KEY=${KEY}",
  ])("finds none in %s", (text) => {
    expect(secretIn(text)).toBeUndefined()
    expect(maskText(text)).toBe(text)
  })
})
