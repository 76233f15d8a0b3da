/**
 * The scripts and the `.hooks.json` that people know from articles about hooks: they work as they are written there.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { loadSettings } from "sous"
import { expect, test } from "vitest"
import { folder, lastResults, runPrompt } from "../harness.ts"

const SCRIPTS = ".claude/hooks"

const FILES = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "src/a.ts": "let a = 1\n",
  ".hooks.json": `{
  "hooks": {
    "SessionStart": [
      { "command": "bash .claude/hooks/session-init.sh", "description": "Initialize session environment" }
    ],
    "PreToolUse": [
      {
        "matcher": "Bash",
        "command": "bash .claude/hooks/validate-command.sh",
        "description": "Validate bash commands before execution"
      }
    ],
    "PostToolUse": [
      { "matcher": "Edit", "command": "bash .claude/hooks/post-edit.sh", "description": "Run linter after file edits" },
      { "command": "bash .claude/hooks/audit.sh" }
    ]
  }
}
`,
  [`${SCRIPTS}/session-init.sh`]: `#!/bin/bash
echo "export BUILD_KIND=debug" >> "$CLAUDE_ENV_FILE"
echo "The project lies in $CLAUDE_PROJECT_DIR"
exit 2
`,
  [`${SCRIPTS}/validate-command.sh`]: `#!/bin/bash
TOOL_NAME="$CLAUDE_TOOL_NAME"
TOOL_INPUT="$CLAUDE_TOOL_INPUT"

if [[ "$TOOL_NAME" == "Bash" ]] && echo "$TOOL_INPUT" | grep -q "rm.*-rf"; then
  echo "Blocked: destructive delete detected" >&2
  exit 1
fi

exit 0
`,
  [`${SCRIPTS}/post-edit.sh`]: `#!/bin/bash
TOOL_NAME="$CLAUDE_TOOL_NAME"

if [[ "$TOOL_NAME" == "Edit" ]]; then
  echo "Reminder: run 'npm test' to verify this change doesn't break anything"
  exit 2
fi

exit 0
`,
  [`${SCRIPTS}/audit.sh`]: `#!/bin/bash
echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) | Tool: $CLAUDE_TOOL_NAME | Input: $CLAUDE_TOOL_INPUT" \\
  >> "$CLAUDE_PROJECT_DIR/.claude/tool-audit.log"

exit 0
`,
}

const TURNS = [
  { tool: { Read: { file_path: "src/a.ts" } } },
  {
    content: [
      { tool: { Bash: { command: "rm -rf src" } } },
      { tool: { Bash: { command: "echo $BUILD_KIND" } } },
      { tool: { Edit: { file_path: "src/a.ts", old_string: "1", new_string: "2" } } },
    ],
  },
  { text: "done" },
]

test("a session-init, a guard, a reminder and an audit log work from a .hooks.json", async () => {
  const cwd = folder(FILES)
  const { hooks } = await loadSettings({ cwd, env: {}, home: folder(), trust: true })
  const { bodies, result } = await runPrompt(
    { turns: TURNS },
    { cwd, kit: { hooks: hooks.sources, projectDir: cwd }, flags: { allow: { all: true } } },
  )
  expect(result.status).toBe("ok")
  expect(JSON.stringify(bodies[0].messages)).toContain(`The project lies in ${cwd}`)
  expect(lastResults(bodies[2])).toMatchObject([
    { isError: true, text: expect.stringContaining("Blocked: destructive delete detected") },
    { isError: false, text: "debug" },
    { isError: false },
  ])
  expect(existsSync(join(cwd, "src/a.ts"))).toBe(true)
  const texts = bodies[2].messages.at(-1).content.flatMap((block: any) => (block.type === "text" ? [block.text] : []))
  expect(texts).toEqual(["Reminder: run 'npm test' to verify this change doesn't break anything"])
  const log = readFileSync(join(cwd, ".claude/tool-audit.log"), "utf8").trim().split("\n")
  expect(log.map((line) => line.replace(/^\S+Z/, "Z"))).toEqual([
    'Z | Tool: Read | Input: {"file_path":"src/a.ts"}',
    'Z | Tool: Bash | Input: {"command":"echo $BUILD_KIND"}',
    'Z | Tool: Edit | Input: {"file_path":"src/a.ts","old_string":"1","new_string":"2"}',
  ])
})

test("of a project that nobody has trusted none of them starts", async () => {
  const cwd = folder(FILES)
  const { hooks, warnings } = await loadSettings({ cwd, env: {}, home: folder() })
  const { events } = await runPrompt(
    { turns: [{ tool: { Read: { file_path: "src/a.ts" } } }, { text: "done" }] },
    { cwd, kit: { hooks: hooks.sources, projectDir: cwd } },
  )
  expect(events.filter(({ type }) => type === "hook")).toEqual([])
  expect(existsSync(join(cwd, ".claude/tool-audit.log"))).toBe(false)
  expect(warnings.join()).toContain(`hooks of "${join(cwd, ".hooks.json")}"`)
})
