import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { combineModes, PERMISSION_MODES, stricterMode } from "../../../core/permission/mode.ts"
import type { PermissionMode } from "../../../core/tool.ts"
import { callOf, decideIn, type Folders, makeProject, rulesOf } from "./fixture.ts"

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
  await writeFile(join(folders.project, "a.txt"), "x\n")
  await mkdir(join(folders.project, "d"))
})
afterAll(() => folders.remove())

const STRICTNESS = { allow: 0, ask: 1, deny: 2 }

async function judge(
  modes: [PermissionMode, ...PermissionMode[]],
  tool: string,
  subject: string,
  allow: string[] = [],
) {
  const { mode, asksNobody, belowAuto } = combineModes(modes)
  const place = subject.replaceAll("OUTSIDE", folders.outside)
  const facts = { mode, belowAuto, canAsk: !asksNobody }
  return await decideIn(folders, callOf(tool, place), rulesOf({ allow }, folders), facts)
}

describe("stricterMode()", () => {
  test.each(PERMISSION_MODES.flatMap((mode) => PERMISSION_MODES.map((asked) => [mode, asked] as const)))(
    "of %s and %s takes one that is never the looser",
    (mode, asked) => {
      const rank = (one: PermissionMode) => PERMISSION_MODES.indexOf(one)
      expect(rank(stricterMode(mode, asked))).toBe(Math.min(rank(mode), rank(asked)))
      expect(stricterMode(mode, undefined)).toBe(mode)
    },
  )
})

describe("combineModes()", () => {
  const CALLS: [tool: string, subject: string][] = [
    ["Read", "src/a.ts"],
    ["Read", "OUTSIDE/o.txt"],
    ["Write", "src/new.ts"],
    ["Write", "OUTSIDE/new.ts"],
    ["Write", ".npmrc"],
    ["Bash", "ls"],
    ["Bash", "mkdir x"],
    ["Bash", "mytool a"],
    ["Bash", "python3 x.py"],
    ["Bash", "make build"],
    ["WebFetch", "https://example.com/"],
  ]
  const RULES = ["Bash(*)", "Bash(python3 *)", "Bash(make build)"]
  const pairs = PERMISSION_MODES.flatMap((run) => PERMISSION_MODES.map((asked) => [run, asked] as const))

  test.each(pairs)(
    "a run in %s with a file that asks for %s lets nothing pass that the run would not",
    async (run, asked) => {
      for (const [tool, subject] of CALLS) {
        for (const rules of [[], RULES]) {
          const alone = await judge([run], tool, subject, rules)
          const below = await judge([run, asked], tool, subject, rules)
          // What auto leaves open its classifier judges: stopped or not, that is never more than a question.
          expect(STRICTNESS[below.behavior], `${tool} ${subject}`).toBeGreaterThanOrEqual(STRICTNESS[alone.behavior])
        }
      }
    },
  )
})

describe("decide() by mode", () => {
  const EXPECTED: [mode: PermissionMode, expected: string, tool: string, subject: string][] = [
    ["acceptEdits", "allow mode", "Write", "n.txt"],
    ["acceptEdits", "allow mode", "Write", "src/../n.txt"],
    ["acceptEdits", "allow mode", "Write", ".env"],
    ["acceptEdits", "ask approval", "Write", "OUTSIDE/n.txt"],
    ["acceptEdits", "ask approval", "Write", "out/n.txt"],
    ["acceptEdits", "ask protected", "Write", ".vscode/x.json"],
    ["acceptEdits", "allow mode", "Bash", "mkdir -p d1/d2"],
    ["acceptEdits", "allow mode", "Bash", "touch d/t && mv d/t d/u"],
    ["acceptEdits", "allow mode", "Bash", "cp -r src d"],
    ["acceptEdits", "allow mode", "Bash", "rm -rf d"],
    ["acceptEdits", "allow mode", "Bash", "rmdir d"],
    ["acceptEdits", "allow mode", "Bash", "sed -i s/a/b/ a.txt"],
    ["acceptEdits", "allow mode", "Bash", "LANG=C nice mkdir d6; ls"],
    ["acceptEdits", "allow mode", "Bash", "echo x > r1"],
    ["acceptEdits", "ask approval", "Bash", "FOO=1 mkdir d6"],
    ["acceptEdits", "ask approval", "Bash", "mkdir OUTSIDE/d"],
    ["acceptEdits", "ask approval", "Bash", "cp a.txt OUTSIDE/c"],
    ["acceptEdits", "ask approval", "Bash", "mv a.txt out/c"],
    ["acceptEdits", "ask approval", "Bash", "echo x > OUTSIDE/r"],
    ["acceptEdits", "ask approval", "Bash", "rm -rf *.x"],
    ["acceptEdits", "ask approval", "Bash", "rm -rf ."],
    ["acceptEdits", "ask approval", "Bash", "sed -i 's/a/b/w x' a.txt"],
    ["acceptEdits", "ask approval", "Bash", "sed -i '1e id' a.txt"],
    ["acceptEdits", "ask approval", "Bash", "chmod 600 a.txt"],
    ["acceptEdits", "ask approval", "Bash", "ln -s a.txt l"],
    ["acceptEdits", "ask approval", "Bash", "mkdir d1 && mytool a"],
    ["acceptEdits", "ask protected", "Bash", "mkdir .idea"],
    ["acceptEdits", "deny floor", "Bash", "rm -rf ~"],
    ["plan", "deny plan", "Write", "n.txt"],
    ["plan", "deny plan", "Bash", "mkdir d1"],
    ["plan", "deny plan", "Bash", "mytool a"],
    ["plan", "allow classifier", "Bash", "git log --oneline | head -3"],
    ["plan", "allow classifier", "Read", "src/a.ts"],
    ["plan", "ask approval", "Read", "OUTSIDE/o.txt"],
    ["dontAsk", "deny mode", "Write", "n.txt"],
    ["dontAsk", "deny mode", "Read", "OUTSIDE/o.txt"],
    ["dontAsk", "deny protected", "Write", ".npmrc"],
    ["dontAsk", "allow classifier", "Read", "a.txt"],
  ]

  test.each(EXPECTED)("%s: %s · %s %j", async (mode, expected, tool, subject) => {
    const { behavior, source, reason } = await judge([mode], tool, subject)
    expect(`${behavior} ${source}`, reason).toBe(expected)
  })

  test("plan: no rule lets a change pass", async () => {
    const { source } = await judge(["plan"], "Write", "n.txt", ["Edit", "Write"])
    expect(source).toBe("plan")
  })
})
