/**
 * `sous explain` from outside: what it prints about a call, and the answers of a batch.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { finished, type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const SETTINGS = `{
  "permissions": {
    "allow": ["Bash(npm test *)"],
    "deny": ["Bash(git push *)"]
  }
}
`

describe("sous explain", () => {
  it("prints the rule with its place, the part that decided, and every source", async () => {
    const file = place.put("project/.sous/settings.json", SETTINGS)
    const { code, stdout } = await place.run(["explain", "Bash", "cd src && git push --force"])
    expect(code).toBe(0)
    expect(stdout).toContain("deny  Bash cd src && git push --force\n")
    expect(stdout).toContain("  rule         deny Bash(git push *)\n")
    expect(stdout).toContain(`  from         project, ${file}:4:14\n`)
    expect(stdout).toContain("  decided by   git push --force\n")
    expect(stdout).toContain("  deny         deny         Bash(git push *)\n  plan         not reached\n")
  })

  it("says what would allow it, and goes by flags, mode and folder", async () => {
    place.put("project/.sous/settings.json", SETTINGS)
    place.put("other/x", "")
    const explain = async (...args: string[]) => (await place.run(["explain", ...args])).stdout
    expect(await explain("Bash", "npm run x")).toMatch(
      /^ask {2}.*\n.*\n {2}decided by .*\n {2}to allow it {2}run again with --allow-run=npm, or add the rule "Bash\(npm run x\)"/,
    )
    expect(await explain("Bash", "npm run x", "--allow-run=npm")).toMatch(/^allow /)
    expect(await explain("Bash", "npm test x")).toMatch(/^ask /)
    expect(await explain("Bash", "npm test x", "--trust")).toMatch(/^allow /)
    expect(await explain("Bash", "npm run x", "--headless")).toMatch(/^deny /)
    expect(await explain("Bash", "npm run x", "--mode", "bypassPermissions")).toMatch(/^allow /)
    expect(await explain("Bash", "git push x", "--cwd", "../other")).toMatch(/^ask /)
    const settings = [
      "--settings",
      '{"permissions":{"deny":["Bash(ls *)"]}}',
      "--settings",
      '{"permissions":{"ask":["Bash(pwd)"]}}',
    ]
    expect(await explain("Bash", "ls x", ...settings)).toMatch(/^deny /)
    expect(await explain("Bash", "pwd", ...settings)).toMatch(/^ask /)
  })

  it.each(["settings", "settings.local"])(
    "starts a path rule of .sous/%s.json at the project's root, from below too",
    async (name) => {
      place.put(`project/.sous/${name}.json`, '{"permissions":{"deny":["Read(/secret.txt)"]}}')
      place.put("project/sub/secret.txt", "")
      const cwd = join(place.project, "sub")
      expect((await place.run(["explain", "Read", "../secret.txt"], { cwd })).stdout).toMatch(/^deny /)
      expect((await place.run(["explain", "Read", "secret.txt"], { cwd })).stdout).toMatch(/^allow /)
    },
  )

  it("says what git would run, and how it is allowed all the same", async () => {
    execFileSync("git", ["init", "-q"], { cwd: place.project })
    const explain = async (...args: string[]) => (await place.run(["explain", "Bash", "git status", ...args])).stdout
    expect(await explain()).toMatch(/^allow /)
    execFileSync("git", ["config", "core.fsmonitor", "./evil.sh"], { cwd: place.project })
    const names = `git may run a program there that the repository names ("core.fsmonitor" in ".git/config")`
    expect(await explain()).toMatch(/^ask /)
    expect(await explain()).toContain(`  because      No rule allows the command "git status": ${names}\n`)
    expect(await explain()).toMatch(
      / {2}to allow it {2}look at what .*, run again with --allow-run=git, or add the rule "Bash\(git status\)"\n/,
    )
    expect(await explain("--headless")).toMatch(/^deny /)
    expect(await explain("--mode", "plan")).toMatch(/^deny .*\n.*is not read-only: git may run/)
    expect(await explain("--allow-run=git")).toMatch(/^allow /)
    expect(await explain("--allowed-tools", "Bash(git status)")).toMatch(/^allow /)
  })

  it("prints JSON for machines", async () => {
    place.put("project/.sous/settings.json", SETTINGS)
    const { stdout } = await place.run(["explain", "Bash", '{"command":"ls; git push x"}', "--json"])
    const answer = JSON.parse(stdout)
    expect(answer).toMatchObject({
      tool: "Bash",
      input: { command: "ls; git push x" },
      behavior: "deny",
      source: "deny",
      rule: { text: "Bash(git push *)", scope: "project", line: 4, column: 14 },
      parts: ["git push x"],
    })
    expect(answer.trace).toHaveLength(11)
  })

  it("shows what nobody would see, and judges a tool that is not there by its name", async () => {
    expect((await place.run(["explain", "Bash", "echo a\u202eb\u001b[2J"])).stdout).toContain("a\\u{202e}b\\u{1b}[2J")
    const { stdout, stderr } = await place.run(["explain", "Bsh", '{"x":"y"}'])
    expect(stdout).toMatch(/^ask /)
    expect(stderr).toContain('No tool "Bsh" is here (did you mean "Bash"?)')
  })

  it.each([
    [["explain"], "CLI_ARGUMENT_MISSING"],
    [["explain", "", "ls"], "CLI_ARGUMENT_MISSING"],
    [["explain", "Bash", "{"], "CLI_VALUE_INVALID"],
    [["explain", "Bash", "ls", "--cwd", "nowhere"], "CLI_VALUE_INVALID"],
    [["explain", "Bash", "ls", "--mode", "plna"], "CLI_VALUE_INVALID"],
    [["explain", "Bash", "ls", "--settings", "nowhere.json"], "SETTINGS_FILE_UNREADABLE"],
    [["explain", "Bash", "ls", "--jsn"], "CLI_FLAG_UNKNOWN"],
    [["explain", "--batch", "--mode", "plan"], "CLI_FLAGS_CONFLICT"],
    [["explain", "Bash", "{}"], "TOOL_INPUT_INVALID"],
    [["explain", "Bash", "git", "push"], "CLI_ARGUMENT_UNEXPECTED"],
    [["explain", "--batch", "Bash"], "CLI_ARGUMENT_UNEXPECTED"],
    [["explain", "Bash", "ls", "--disallowed-tools", "Bash(rm"], "PERMISSION_RULE_INVALID"],
  ])("refuses %j with %s", async (args, code) => {
    const ended = await place.run(args)
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toContain(`code  ${code}`)
  })
})

describe("sous explain --batch", () => {
  const batch = async (lines: unknown[], more: { env?: Record<string, string> } = {}) => {
    const stdin = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n")
    const { code, stdout, stderr } = await place.run(["explain", "--batch"], { stdin, ...more })
    return {
      code,
      stderr,
      answers: stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    }
  }
  const bash = (text: string, permissions: object = {}) => ({
    id: text,
    tool: "Bash",
    input: { command: text },
    settings: { permissions, hooks: { anything: 1 } },
    cwd: place.project,
    home: place.home,
  })

  it("answers every line in order, with one decision each", async () => {
    const lines = [
      bash("git push", { allow: ["Bash(git *)"], deny: ["Bash(git push*)"] }),
      bash("git log", { allow: ["Bash(git *)"] }),
      { ...bash("make"), id: 7, headless: true },
      { ...bash("make"), id: { any: "id" }, mode: "bypassPermissions" },
      { ...bash("make", { defaultMode: "bypassPermissions" }), id: "no project can" },
      { ...bash("rm x", { rules: ["deny Bash(rm *)", "allow Bash(*)"] }), id: "ordered" },
      { id: "server", tool: "mcp__a__b", input: {}, settings: { permissions: { allow: ["mcp__a"] } } },
      { id: "outside", tool: "Read", input: { file_path: `${place.folder}/x` }, cwd: place.project },
      {
        id: "further",
        tool: "Read",
        input: { file_path: `${place.folder}/x` },
        cwd: place.project,
        settings: { permissions: { additionalDirectories: [".."] } },
      },
    ]
    const { code, answers } = await batch(lines)
    expect(answers.map(({ id }) => id)).toEqual(lines.map(({ id }) => id))
    expect(answers.map(({ behavior }) => behavior)).toEqual([
      "deny",
      "allow",
      "deny",
      "allow",
      "ask",
      "deny",
      "allow",
      "ask",
      "allow",
    ])
    expect(answers[0]).toMatchObject({
      source: "deny",
      rule: { text: "Bash(git push*)", scope: "project" },
      trace: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}],
    })
    expect(answers[2]).toMatchObject({
      source: "approval",
      rule: null,
      mend: expect.stringContaining("--allow-run=make"),
    })
    expect(code).toBe(0)
  })

  it("puts an error in the place of a wrong line, and ends with 1", async () => {
    const { code, answers } = await batch([
      "{",
      "[]",
      "",
      { id: 1, input: {} },
      { id: 2, tool: "Bash", input: {} },
      bash("rm x", { deny: ["Bash(rm *"] }),
      bash("x", { dney: ["Bash"] }),
      bash("x", { deny: "Bash" }),
      { ...bash("x"), id: 3, mode: "plna" },
      { ...bash("x"), id: 4, setting: {}, settings: undefined },
      bash("ls"),
    ])
    expect(answers.map(({ id, error, behavior }) => [id, error?.code ?? behavior])).toEqual([
      [null, "CLI_LINE_INVALID"],
      [null, "CLI_LINE_INVALID"],
      [1, "CLI_LINE_INVALID"],
      [2, "TOOL_INPUT_INVALID"],
      ["rm x", "PERMISSION_RULE_INVALID"],
      ["x", "CLI_LINE_INVALID"],
      ["x", "CLI_LINE_INVALID"],
      [3, "CLI_LINE_INVALID"],
      [4, "CLI_LINE_INVALID"],
      ["ls", "allow"],
    ])
    expect(answers.slice(0, -1).every(({ error }) => error.message && error.mend)).toBe(true)
    expect(code).toBe(1)
  })

  it("takes lines of 10 MB, and leaves out fields that decide nothing", async () => {
    const long = "x".repeat(10_000_000)
    const { code, answers } = await batch([
      { ...bash(`rm ${long}`, { deny: ["Bash(rm *)"] }), id: 1 },
      { id: 2, tool: "Write", input: { file_path: "a", content: long }, cwd: place.project, mode: "acceptEdits" },
      { id: 3, tool: "Edit", input: { file_path: "a" }, cwd: place.project },
      { id: 4, tool: "Edit", input: { old_string: "a", new_string: "b" } },
      `{"id":5,"note":"${"x".repeat(17_000_000)}"}`,
      bash("ls"),
    ])
    expect(answers.map(({ behavior, error }) => behavior ?? error.code)).toEqual([
      "deny",
      "allow",
      "ask",
      "TOOL_INPUT_INVALID",
      "CLI_LINE_INVALID",
      "allow",
    ])
    expect(code).toBe(1)
  }, 30_000)

  it("answers nothing to nothing, and ends when nobody reads", async () => {
    expect(await place.run(["explain", "--batch"])).toEqual({ code: 0, stdout: "", stderr: "" })
    const open = place.start(["explain", "--batch"], { isOpen: true })
    open.stdout.destroy()
    const lines = `${JSON.stringify(bash("ls"))}\n`.repeat(20_000)
    open.stdin.write(lines)
    expect(await finished(open)).toMatchObject({ code: 141, stderr: "" })
  })

  it("reads no settings and needs no HOME", async () => {
    place.put("home/.config/sous/settings.json", "broken")
    place.put("project/.sous/settings.json", "broken")
    const env = { PATH: process.env["PATH"] ?? "" }
    const { code, answers } = await batch([{ id: 1, tool: "Bash", input: { command: "ls" } }], { env })
    expect({ code, answers }).toMatchObject({ code: 0, answers: [{ behavior: "allow" }] })
  })

  it("answers a line before the next one comes, by the disk as it is then", async () => {
    const open = place.start(["explain", "--batch"], { isOpen: true })
    const ask = async (file: string) => {
      open.stdin.write(
        `${JSON.stringify({ id: file, tool: "Read", input: { file_path: file }, cwd: place.project })}\n`,
      )
      return JSON.parse(String((await once(open.stdout, "data"))[0])).behavior as string
    }
    place.put("outside/o.txt", "x")
    expect(await ask("link/o.txt")).toBe("allow")
    symlinkSync("../outside", join(place.project, "link"))
    expect(await ask("link/o.txt")).toBe("ask")
    open.stdin.end()
    expect((await finished(open)).code).toBe(0)
  })

  it("opens no file, and looks up nothing but the paths of the calls and the folders that they stand in", async () => {
    const log = join(place.folder, "log.jsonl")
    const spy = new URL("fixture/watch-files.mjs", import.meta.url).href
    place.put("project/src/a.ts", "x")
    const lines = [
      bash("cat src/a.ts | grep x > out.txt"),
      { ...bash(""), tool: "Read", input: { file_path: "src/new/b.ts" } },
    ]
    const stdin = lines.map((line) => JSON.stringify(line)).join("\n")
    const { code } = await place.run(["explain", "--batch"], {
      stdin,
      node: ["--import", spy],
      more: { WATCH_LOG: log },
    })
    expect(code).toBe(0)
    const calls = readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as [string, string])
    const seen = calls.filter(([, path]) => !path.startsWith(dirname(place.file)))
    expect([...new Set(seen.map(([name]) => name))].sort()).toEqual(["lstatSync", "realpathSync.native"])
    const own = ["src/a.ts", "out.txt", "src/new/b.ts", "src/new", "src", ""].map((path) => join(place.project, path))
    const below = [
      ".config/sous",
      ".config",
      ".local/state/sous",
      ".local/state",
      ".local/share/sous",
      ".local/share",
      ".local",
      ".claude/settings.json",
      ".claude",
    ]
    const standing = [place.home, ...below].map((path, i) => (i === 0 ? path : join(place.home, path)))
    expect(
      seen
        .map(([, path]) => path)
        .filter((path) => ![...own, ...standing, "/etc/sous", "/etc/claude-code", "/etc"].includes(path)),
    ).toEqual([])
  })
})
