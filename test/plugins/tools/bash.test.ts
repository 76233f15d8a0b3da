import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { bashTool } from "../../../plugins/tools/bash.ts"
import { bashOutputTool } from "../../../plugins/tools/bash-output.ts"
import { killShellTool } from "../../../plugins/tools/kill-shell.ts"
import { createToolContext, isRunning, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

const bash = (command: string, more: object = {}) => runTool(bashTool, { command, ...more }, context)

describe("Bash tells", () => {
  test("the output and, in data, both streams and the code", async () => {
    const { text, isError, data } = await bash("echo out; echo err >&2")
    expect(isError).toBe(false)
    expect(text.split("\n").sort()).toEqual(["err", "out"])
    expect(data).toMatchObject({ stdout: "out\n", stderr: "err\n", code: 0, timedOut: false, interrupted: false })
  })

  test("a failure with its exit code", async () => {
    const { text, isError, data } = await bash("echo no; exit 3")
    expect({ text, isError }).toEqual({ text: "no\n[exit code 3]", isError: true })
    expect(data.code).toBe(3)
  })

  test("that there was no output", async () => {
    expect((await bash("true")).text).toBe("(no output)")
  })

  test("the signal that ended it, with the code that shells have for it", async () => {
    const { text, isError, data } = await bash("kill -9 $$")
    expect({ text, isError }).toEqual({ text: "[ended by SIGKILL]", isError: true })
    expect(data).toMatchObject({ code: 137, signal: "SIGKILL" })
  })

  test.each([
    ["grep x /dev/null", false],
    ["cd . && LANG=C grep x /dev/null", false],
    ["echo a | /bin/grep b", false],
    ["test -f /nowhere", false],
    ["[ 1 = 2 ]", false],
    ["echo a > a; echo b > b; diff a b", false],
    ["grep x /nowhere", true],
    ["grep '(' -E /dev/null", true],
    ["false", true],
    ["grep x /dev/null; false", true],
    ["ls /nowhere", true],
  ])("whether the exit of `%s` is a failure: %s", async (command, isError) => {
    const result = await bash(command)
    expect(result.data.code).toBeGreaterThan(0)
    expect(result.isError).toBe(isError)
    expect(result.text).toContain(`[exit code ${result.data.code}]`)
  })

  test("syntax errors, on the line where they are", async () => {
    const { text, isError } = await bash("echo one\nif")
    expect(isError).toBe(true)
    expect(text).toMatch(/line [23]/)
  })

  test("people the last line of a long call", async () => {
    await bash("for i in 1 2 3; do echo step $i; sleep 0.6; done")
    expect(context.progressed).toEqual(["step 3"])
  })
})

describe("Bash and its environment", () => {
  test("is the agent's, and names the session", async () => {
    const env = { ...context.env, COLOUR: "blue" }
    const { text } = await runTool(bashTool, { command: "echo $COLOUR $SOUS_SESSION_ID" }, { ...context, env })
    expect(text).toBe("blue session")
  })

  test("works without PATH", async () => {
    const { text } = await runTool(bashTool, { command: "echo here" }, { ...context, env: {} })
    expect(text).toBe("here")
  })

  test("has no input and no terminal", async () => {
    const { text } = await bash("cat; test -t 0 || echo none; (echo x > /dev/tty) 2>/dev/null || echo no tty")
    expect(text).toBe("none\nno tty")
  })
})

describe("Bash keeps the working directory", () => {
  test("from one call to the next, and says that it moved", async () => {
    mkdirSync(join(context.cwd, "sub dir"))
    const root = context.cwd
    const { text } = await bash("cd 'sub dir'; echo moved")
    expect(text).toBe(`moved\n[working directory: ${root}/sub dir]`)
    expect(context.cwd).toBe(join(root, "sub dir"))
    expect((await bash("pwd")).text).toBe(join(root, "sub dir"))
  })

  test("whatever ends the command, and with its exit code", async () => {
    mkdirSync(join(context.cwd, "sub"))
    expect((await bash("cd sub; exit 4")).data.code).toBe(4)
    expect(context.cwd.endsWith("/sub")).toBe(true)
  })

  test("inside of its folders only", async () => {
    const root = context.cwd
    const { text } = await bash("cd /; pwd")
    expect(text).toBe(`/\n[working directory: ${root} again, since / is outside of the folders that this run works in]`)
    expect((await bash("pwd")).text).toBe(root)
  })

  test("and goes back to its first folder when its own is gone", async () => {
    const root = context.cwd
    mkdirSync(join(root, "sub"))
    await bash("cd sub")
    rmSync(join(root, "sub"), { recursive: true })
    const { text } = await bash("pwd")
    expect(text).toBe(`${root}\n[working directory: ${root}, since ${root}/sub no longer exists]`)
    expect(context.cwd).toBe(root)
  })

  test("and leaves nothing behind in the run's folder", async () => {
    await bash("true")
    expect(readdirSync(context.runFolder)).toEqual([])
  })
})

describe("Bash bounds", () => {
  test("50 MB of output: a preview for the model, the whole in a file, little in memory", async () => {
    const before = process.memoryUsage().rss
    const { text, output, data } = await bash("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last")
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20)
    expect(text.length).toBeLessThan(20_000)
    expect(text.startsWith("first\nxxx")).toBe(true)
    expect(text.endsWith("xxx\nlast")).toBe(true)
    const { path, chars } = output.spilled!
    expect(text).toContain(`the whole output is in ${path}`)
    expect(chars).toBe(50_000_012)
    expect(statSync(path).size).toBe(50_000_012)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(data.stdout.length).toBeLessThan(31_000)
  })

  test("hands a recipe 1 MB of each stream, with a note where it was cut", async () => {
    const recipe = { ...context, caller: "recipe" as const }
    const { data } = await runTool(bashTool, { command: "head -c 2000000 /dev/zero | tr '\\0' x" }, recipe)
    expect(data.stdout).toHaveLength(1_000_000 + "\n[cut: 2,000,000 bytes in all]".length)
    expect(data.stdout.endsWith("[cut: 2,000,000 bytes in all]")).toBe(true)
  })

  test("never shows half of a character", async () => {
    const { text } = await bash("for i in $(seq 20000); do printf '😀'; done")
    expect(text).not.toContain("\ufffd")
    expect(text).toContain("😀")
  })

  test("keeps binary output in a file and says so", async () => {
    const { text, output } = await bash("printf 'a\\000\\377b'")
    const { path } = output.spilled!
    expect(text).toBe(`[binary output, 4 bytes, kept in ${path}]`)
    expect([...readFileSync(path)]).toEqual([97, 0, 255, 98])
  })

  test("time, ending all that the command started", async () => {
    const { text, isError, data } = await bash("sleep 30 & echo $!; wait", { timeout: 200 })
    expect(isError).toBe(true)
    expect(text).toContain("[ended after 0.2 s, with all it had started: raise timeout, or use run_in_background]")
    expect(data).toMatchObject({ timedOut: true, code: 143 })
    expect(isRunning(Number.parseInt(text, 10))).toBe(false)
  })

  test("what is left running, and says so", async () => {
    const { text, isError } = await bash("sleep 30 & echo $!")
    expect(isError).toBe(false)
    expect(text).toContain("[what it left running was ended: use run_in_background for what is to go on]")
    expect(isRunning(Number.parseInt(text, 10))).toBe(false)
  })

  test("an abort in the middle: what there is so far, and that it was interrupted", async () => {
    const controller = new AbortController()
    const ready = join(context.cwd, "ready")
    const call = runTool(
      bashTool,
      { command: `echo $$; touch ${ready}; sleep 30` },
      { ...context, signal: controller.signal },
    )
    while (!readdirSync(context.cwd).includes("ready")) await new Promise((resolve) => setTimeout(resolve, 5))
    controller.abort()
    const { text, isError, data } = await call
    expect(isError).toBe(true)
    expect(text).toContain("[interrupted: the run was stopped while this command ran]")
    expect(data.interrupted).toBe(true)
    expect(isRunning(Number.parseInt(text, 10))).toBe(false)
  })

  test("a command that cannot be started is told as what it is", async () => {
    const { text, isError } = await bash(`: ${"x".repeat(200_000)}`)
    expect(isError).toBe(true)
    expect(text).toContain("its arguments are too long; put them into a file")
  })
})

describe("Bash in the background", () => {
  const output = (bash_id: string) => runTool(bashOutputTool, { bash_id }, context)
  const kill = (shell_id: string) => runTool(killShellTool, { shell_id }, context)

  async function outputWith(bash_id: string, words: string): Promise<string> {
    let all = ""
    while (!all.includes(words)) {
      all += (await output(bash_id)).text
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return all
  }

  test("returns an id at once; its output is read piece by piece, its end is told", async () => {
    const { data, text } = await bash("echo one; read -r x < go; echo two; exit 3", { run_in_background: true })
    expect(text).toContain('Started in the background as "bash_1"')
    expect(data.id).toBe("bash_1")
    writeFileSync(join(context.cwd, "go"), "")
    const all = await outputWith("bash_1", "[exit code")
    expect(all).toContain("[exit code 3]")
    expect(await output("bash_1")).toMatchObject({ text: "(no new output)\n[exit code 3]", isError: false })
  })

  test("KillShell ends a server and all it started", async () => {
    await bash("sleep 30 & echo child $!; exec sleep 30", { run_in_background: true })
    const all = await outputWith("bash_1", "child ")
    expect(all).toContain("[running]")
    expect((await kill("bash_1")).text).toBe('"bash_1" was ended')
    expect(isRunning(Number(/child (\d+)/.exec(all)?.[1]))).toBe(false)
    expect((await output("bash_1")).text).toContain("[ended by KillShell]")
    expect((await kill("bash_1")).text).toContain('"bash_1" had ended before')
  })

  test("everything ends with the run", async () => {
    await bash("echo child $$; exec sleep 30", { run_in_background: true })
    const all = await outputWith("bash_1", "child ")
    await context.release()
    expect(isRunning(Number(/child (\d+)/.exec(all)?.[1]))).toBe(false)
  })

  test("a long output is shortened, the whole stays in its file", async () => {
    await bash("echo first; head -c 200000 /dev/zero | tr '\\0' x; echo; echo last", { run_in_background: true })
    const all = await outputWith("bash_1", "[exit code 0]")
    expect(all).toContain("first")
    expect(all).toContain("last")
    expect(all).toMatch(/characters left out; the whole output is in .*bash_1-toolu_1.txt/)
  })

  test("an id that was never given is refused with the right one", async () => {
    expect((await output("bash_1")).text).toContain("there are none to choose from")
    await bash("true", { run_in_background: true })
    expect((await kill("bash_l")).text).toBe('There is no background command "bash_l": write "bash_1"')
  })

  test("another agent has commands of its own", async () => {
    await bash("true", { run_in_background: true })
    const other = createToolContext()
    expect((await runTool(bashOutputTool, { bash_id: "bash_1" }, other)).isError).toBe(true)
    await other.release()
  })
})
