/**
 * What `sous check` finds about permission rules: each shape with the sentence it gets, and plain rules that get none.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { checkRules } from "../../../core/cli/check-rule.ts"
import { ruleGround } from "../../../core/cli/check-rule-view.ts"
import type { RuleSource } from "../../../core/permission/decision.ts"
import { defaultPlugins } from "../../../plugins/default.ts"

const cwd = realpathSync(mkdtempSync(join(tmpdir(), "sous-check-")))
afterAll(() => rmSync(cwd, { recursive: true }))

const tools = defaultPlugins.flatMap(({ tools: list = [] }) => list)
const ground = ruleGround(tools, { cwd, env: { HOME: "/home/me" }, isPartial: false })

type Written = readonly [RuleSource["behavior"], string]

async function look(rules: readonly Written[], more: Partial<RuleSource> = {}, isUntrusted = false) {
  const sources = rules.map(([behavior, text], index): RuleSource => {
    return { behavior, text, scope: "project", file: "/p/settings.json", line: index + 1, column: 7, ...more }
  })
  return (await checkRules(sources, { ...ground, isUntrusted })).map(({ level, line, problem, mend }) => {
    return `${level} ${line} ${problem}; ${mend}`
  })
}

const COMPOUND = "a compound command is held against rules part by part"
const CASES: readonly [...Written, ...RegExp[]][] = [
  ["allow", "Bask(npm install)", /^warning .*no tool "Bask", so it allows nothing; write "Bash\(npm install\)"$/],
  ["deny", "Raed(.env)", /no tool "Raed", so it guards nothing; write "Read\(\.env\)"$/],
  ["allow", "WebSearch", /^note .*no tool here is named "WebSearch"/],
  ["allow", "Bash(done)", /"done" is a word of the shell's syntax/],
  ["allow", "Bash(for i:*)", /"for" is a word/],
  ["allow", "Bash(for * in *; do *; done*)", /"for" is a word/],
  ["deny", "Bash(if test; then rm:*)", /"if" is a word/],
  ["allow", "Bash(git -C :* push:*)", /":\*" stands for .*; write "Bash\(git -C \* push:\*\)"$/],
  ["allow", "Bash(curl http://localhost:*/health)", /^note .*the colon is a colon; $/],
  [
    "allow",
    'Bash(grep -E "\\.\\(ts|tsx\\)$")',
    /^note .*parentheses are escaped.*write "Bash\(grep -E "\\\.\(ts\|tsx\)\$"\)"$/,
  ],
  [
    "allow",
    "Bash(cd src && npm run build)",
    new RegExp(`${COMPOUND} \\("cd src", "npm run build"\\).*write instead "Bash\\(npm run build\\)"$`),
  ],
  ["allow", "Bash(* | jq *)", /^warning .*a list or pipeline .* fits nothing; write a rule for each part$/],
  ["allow", "Bash(make * > log.txt)", /a redirect is no part of the command/],
  ["allow", "Bash(sleep * &)", /in the background/],
  ["allow", "Bash(DATABASE_URL=* npx prisma *)", /name the program before its first star, so it allows nothing/],
  ["allow", 'Bash(PATH="/opt/bin:$PATH" make all)', /^note .*very value of PATH in front/],
  ["allow", "Bash(npm ci\nnpm test)", /^note .*line break/, new RegExp(COMPOUND)],
  [
    "allow",
    "Bash(docker rm $(docker ps -q))",
    /^note .*command substitution/,
    /^warning .*inside of it; also write "Bash\(docker ps -q\)"/,
  ],
  ["allow", '"/opt/My App/run"', /is no tool name/],
  ["allow", 'Bash("/opt/My App/run" now)', /a program is matched without the quotes/],
  [
    "deny",
    "Edit(/etc/**)",
    /one slash starts at the project, so it guards nothing in the system's \/etc; write "Edit\(\/\/etc\/\*\*\)"/,
  ],
  ["allow", "Bash(find c:\\\\Users\\\\me -name x)", /^warning .*a path of Windows/],
  ["allow", "Bash(.venv\\Scripts\\python.exe -c:*)", /without its backslashes/],
  ["allow", "Bash(curl 'x?id=__TRACKED_VAR__')", /"__TRACKED_VAR__" is a placeholder/],
  ["allow", "Bash(curl -H 'Authorization: Bearer abcdef0123456789' x)", /what looks like a token in a header/],
  ["allow", "Bash", /^warning .*lets any command run without a question/],
  ["allow", "Bash(*)", /^warning .*lets any command run/],
  ["allow", "Bash(node:*)", /^note .*whatever it is handed; mode auto/],
  ["allow", "Bash(rm -rf /var/tmp/x)", /^note .*deleted without a question/],
  ["allow", "WebFetch(github.com)", /names no domain, so it allows nothing; write "WebFetch\(domain:github\.com\)"$/],
  ["deny", "Read(!src/**)", /a path that begins with ! fits nothing/],
  ["allow", "Bash( ls )", /blanks inside its parentheses; write "Bash\(ls\)"/],
  ["allow", "Bash(case * in *) *;; esac*)", /"case" is a word/, /^note .*do not pair/],
  ["allow", "Bash(cat /Users/ann/notes/a.txt)", /^note .*one machine or person/],
  ["allow", "Bash(ls", /^warning .*not closed/],
  ["deny", "Bash(ls", /^error .*not closed/],
]

describe("checkRules()", () => {
  it.each(CASES)("says of %s %j what is odd about it", async (behavior, text, ...expected) => {
    const found = await look([[behavior, text]])
    expect(found).toHaveLength(expected.length)
    for (const one of expected) expect(found).toContainEqual(expect.stringMatching(one))
  })

  it.each([
    ["allow", "Bash(npm run build)"],
    ["allow", "Bash(git *)"],
    ["allow", "Bash(npm test:*)"],
    ["deny", "Bash(curl * | sh)"],
    ["deny", "Bash(rm -rf:*)"],
    ["ask", "Bash(git push *)"],
    ["allow", "Edit(/src/**)"],
    ["deny", "Read(//etc/**)"],
    ["allow", "Read(~/notes/**)"],
    ["allow", "WebFetch(domain:example.com)"],
    ["allow", "mcp__github__get_me"],
    ["allow", 'Bash(git commit -m "done (at last)")'],
    ["allow", "Agent(reviewer)"],
    ["allow", "Task"],
  ] as Written[])("says nothing of %s %s", async (behavior, text) => {
    expect(await look([[behavior, text]])).toEqual([])
  })

  it("masks what looks like a secret in what it prints", async () => {
    const { settleFindings } = await import("../../../core/cli/check-finding.ts")
    const text = "Bash(curl -H 'apikey: eyJhbGciOiJIUzI1.eyJyb2xlIjoic2Vy.c2lnbmF0dXJl' x)"
    const source: RuleSource = { behavior: "allow", text, scope: "project", file: "/p/settings.json" }
    const report = settleFindings({ files: [], findings: await checkRules([source], ground) })
    expect(JSON.stringify(report)).toContain("[masked]")
    expect(JSON.stringify(report)).not.toContain("eyJ")
  })

  it("finds what stands twice, what a broader rule includes, and what a guard takes away", async () => {
    const found = await look([
      ["allow", "Bash(npm run *)"],
      ["allow", "Bash(npm run lint)"],
      ["allow", "Bash(npm view *)"],
      ["allow", "Bash(npm view left-pad)"],
      ["allow", "Bash(npm view left-pad)"],
      ["allow", "Bash(git push --force *)"],
      ["deny", "Bash(git push *)"],
    ])
    expect(found).toEqual([
      expect.stringMatching(/^note 5 it stands on line 4 already; remove it$/),
      expect.stringMatching(
        /^note 3 what it fits includes "Bash\(npm view left-pad\)" on line 4, .* on line 5; remove/,
      ),
      expect.stringMatching(/^warning 6 it never counts: the deny rule "Bash\(git push \*\)" on line 7 refuses all/),
      expect.stringMatching(/^note 1 it lets a program run whatever it is handed/),
    ])
  })

  it("asks nobody to remove what two packs bring alike", async () => {
    const brought = (by: string): RuleSource => ({ behavior: "deny", text: "Bash(git push *)", scope: "plugin", by })
    expect(await checkRules([brought("one"), brought("two")], ground)).toEqual([])
  })

  it("does not take a wrapper's rule for one that includes what it runs", async () => {
    const found = await look([
      ["allow", "Bash(timeout:*)"],
      ["allow", "Bash(timeout 10 python3:*)"],
    ])
    expect(found.filter((one) => one.includes("includes"))).toEqual([])
  })

  it("says once that rules of a project nobody trusts do not count", async () => {
    const found = await look(
      [
        ["allow", "Bash(ls)"],
        ["allow", "Bash(pwd)"],
        ["deny", "Bash(rm *)"],
      ],
      {},
      true,
    )
    expect(found).toEqual([expect.stringMatching(/^note 1 .*until somebody trusts.*\(so do "Bash\(pwd\)" on line 2\)/)])
  })
})
