import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { build } from "esbuild"
import { describe, expect, it } from "vitest"
import { createClock } from "../../core/clock.ts"
import { secretValues } from "../../core/env.ts"
import type { EventBody } from "../../core/event.ts"
import { rewrite } from "../../core/hook.ts"
import { createHookRunner, type FromAgent, type HookRunnerOptions } from "../../core/hook-runner.ts"
import type { HookSource } from "../../core/hook-source.ts"
import { type RegisteredHook, registerSources } from "../../core/registry.ts"
import { after as atEnd, folder } from "../harness.ts"

const CALL = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "t1" }

/** A command hook of the native dialect on PreToolUse, unless it says otherwise. */
function source(command: string, more: Partial<HookSource> = {}): HookSource {
  const origin = { scope: "project" as const, file: ".hooks.json", line: 3 }
  return { event: "PreToolUse", dialect: "native", form: { type: "command", command }, origin, ...more }
}

function claude(command: string, more: Partial<HookSource> = {}): HookSource {
  return source(command, { dialect: "claude-code", ...more })
}

function setUp(
  hooks: (HookSource | RegisteredHook)[],
  more: { cwd?: string; env?: Record<string, string> } & Partial<HookRunnerOptions> = {},
) {
  const cwd = more.cwd ?? folder()
  const state = folder()
  const env = { PATH: process.env.PATH!, ...more.env }
  const events: EventBody[] = []
  const run = new AbortController()
  const registered = hooks.flatMap((hook) => ("origin" in hook ? registerSources([hook]) : [hook]))
  const runner = createHookRunner(registered, {
    emit: (body) => void events.push(body),
    signal: run.signal,
    clock: createClock(),
    outside: { projectDir: cwd, folder: state, childEnv: env, env },
    ...more,
  })
  atEnd(() => runner.close())
  const from: FromAgent = { sessionId: "s1", transcriptPath: "/t.jsonl", cwd, mode: "default" }
  const gate = (call: object = CALL, extra: Partial<FromAgent> = {}) =>
    runner.gate("PreToolUse", { ...CALL, ...call }, { ...from, ...extra })
  const told = () => events.flatMap((body) => (body.type === "hook" ? [body.outcome] : []))
  return { runner, gate, events, told, run, cwd, state, from }
}

const read = (...parts: string[]) => readFileSync(join(...parts), "utf8")

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** What is held in buffers once nobody's buffers are gone. */
function heldBytes(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** True while a process of that id lives. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return !/^State:\s+Z/m.test(existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/status`, "utf8") : "State: Z")
}

describe("a command's surroundings", () => {
  it("has the call in its environment under both names, and none of the provider's keys", async () => {
    const { gate, cwd } = setUp([source("cat >/dev/null; env -0 > seen")])
    await gate()
    const env = Object.fromEntries(
      read(cwd, "seen")
        .split("\0")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )
    for (const prefix of ["CLAUDE", "SOUS"]) {
      expect(env).toMatchObject({
        [`${prefix}_TOOL_NAME`]: "Bash",
        [`${prefix}_TOOL_INPUT`]: '{"command":"ls"}',
        [`${prefix}_SESSION_ID`]: "s1",
        [`${prefix}_PROJECT_DIR`]: cwd,
      })
    }
    expect(env).not.toHaveProperty("ANTHROPIC_API_KEY")
  })

  it("gets the event as JSON, and then the end of its input", async () => {
    const { gate, cwd } = setUp([source("cat > seen")])
    await gate()
    expect(JSON.parse(read(cwd, "seen"))).toEqual({
      hook_event_name: "PreToolUse",
      session_id: "s1",
      transcript_path: "/t.jsonl",
      cwd,
      permission_mode: "default",
      ...CALL,
    })
  })

  it("is not taken to agree when its answer stands behind more blanks than are kept", async () => {
    const { gate } = setUp([source(`head -c 1200000 /dev/zero | tr '\\0' '\\n'; echo '{"decision": "deny"}'`)])
    const { decision, reasons } = await gate()
    expect(decision).toBe("block")
    expect(reasons[0]).toContain("too many for an answer")
  })

  it("gives both names to fields that the protocols call differently", async () => {
    const { runner, cwd, from } = setUp([source("cat > seen", { event: "Stop" })])
    await runner.gate("Stop", { last_message: "done", stop_hook_active: false }, from)
    expect(JSON.parse(read(cwd, "seen"))).toMatchObject({ last_message: "done", last_assistant_message: "done" })
  })

  it("puts a large input into a file that goes away, and leaves the variable out", async () => {
    const script =
      'cat >/dev/null; cp "$CLAUDE_TOOL_INPUT_FILE" seen; echo "${CLAUDE_TOOL_INPUT-none} $(ls -l "$SOUS_TOOL_INPUT_FILE" | cut -c 1-10)" > variable'
    const { gate, cwd, state } = setUp([source(script)])
    const tool_input = { command: "x".repeat(200_000) }
    await gate({ tool_input })
    expect(JSON.parse(read(cwd, "seen"))).toEqual(tool_input)
    expect(read(cwd, "variable")).toBe("none -rw-------\n")
    expect(readdirSync(state)).toEqual([])
  })

  it("stands in the project when it is native, and where the agent is when it is not", async () => {
    const cwd = folder({ "sub/x": "" })
    const { gate } = setUp([source("pwd > native"), claude('pwd > "$CLAUDE_PROJECT_DIR/foreign"')], { cwd })
    await gate({}, { cwd: join(cwd, "sub") })
    expect(read(cwd, "native").trim()).toBe(cwd)
    expect(read(cwd, "foreign").trim()).toBe(join(cwd, "sub"))
    await gate({}, { cwd: join(cwd, "gone") })
    expect(read(cwd, "foreign").trim()).toBe(cwd)
  })

  it("starts a program with its arguments as they are, the project filled in", async () => {
    const form = { type: "command" as const, command: "cp", args: ["${CLAUDE_PROJECT_DIR}/a b", "$HOME;x"] }
    const { gate, cwd } = setUp([source("", { form })], { cwd: folder({ "a b": "text" }) })
    await gate()
    expect(read(cwd, "$HOME;x")).toBe("text")
  })

  it("reads no ~/.bashrc, whoever started the run", async () => {
    const home = folder({ ".bashrc": "echo from bashrc >&2; exit 1\n" })
    const cwd = folder({ "check.sh": "exit 0\n" })
    const { gate } = setUp([source("bash check.sh"), source("true")], { cwd, env: { HOME: home } })
    expect((await gate()).decision).toBe("pass")
  })

  it("finds a missing script however its path is written, and leaves alone what it cannot see through", async () => {
    const seen = [
      "bash check.sh",
      'python3 -u "$CLAUDE_PROJECT_DIR"/check.py --strict',
      "node ${CLAUDE_PROJECT_DIR}/check.mjs | cat",
      "FOO=1 /usr/bin/env python3 './check.py'",
      "python3 ~/check.py",
    ]
    for (const command of seen) {
      const { gate, told } = setUp([claude(command)], { env: { HOME: "/nowhere" } })
      expect((await gate()).decision, command).toBe("pass")
      expect(told(), command).toEqual(["failed"])
    }
    const unseen = ['bash -c "exit 2"', "sh -c 'exit 2'", "bash $(echo no.sh) || exit 2", "cd . && exit 2"]
    for (const command of unseen) expect((await setUp([claude(command)]).gate()).decision, command).toBe("block")
  })

  it("masks secrets in what it says, and keeps them out of the record", async () => {
    const secrets = secretValues({ MY_TOKEN: "tiger-tiger-1" })
    const { gate, events } = setUp([source("echo tiger-tiger-1; exit 2")], { secrets })
    expect((await gate()).injected).toEqual(["[masked MY_TOKEN]"])
    expect(JSON.stringify(events)).not.toContain("tiger-tiger-1")
  })
})

describe("bounds", () => {
  it("ends a hook that hangs with all that it started", async () => {
    const script = "(trap '' TERM; echo $BASHPID > child; sleep 60) & echo $$ > parent; sleep 60"
    const { gate, cwd } = setUp([source(script, { timeoutMs: 300 })])
    const started = performance.now()
    expect((await gate()).reasons[0]).toContain("it did not answer within 0.3 s")
    expect(performance.now() - started).toBeLessThan(5000)
    for (const name of ["parent", "child"]) expect(isAlive(Number(read(cwd, name)))).toBe(false)
  })

  it("leaves no grandchild behind that holds the output open", async () => {
    const { gate, cwd } = setUp([source("sleep 60 & echo $! > child; exit 0")])
    expect((await gate()).decision).toBe("pass")
    expect(isAlive(Number(read(cwd, "child")))).toBe(false)
  })

  it("is held up by none that left its process group, and hears what was said before", async () => {
    const { gate, cwd } = setUp([
      source("setsid sleep 60 & echo $! > child; echo no >&2; exit 1", { timeoutMs: 20_000 }),
    ])
    const started = performance.now()
    expect((await gate()).reasons).toEqual(["no"])
    expect(performance.now() - started).toBeLessThan(5000)
    try {
      process.kill(-Number(read(cwd, "child")), "SIGKILL")
    } catch {
      // It had not left yet, and was ended with the others.
    }
  })

  it("survives a hook that closes its input", async () => {
    const { gate } = setUp([source("exec 0<&-; sleep 0.05; echo read nothing >&2; exit 1")])
    const { decision, reasons } = await gate({ tool_input: { command: "x".repeat(3_000_000) } })
    expect([decision, ...reasons]).toEqual(["block", "read nothing"])
  })

  it("keeps little of what a hook prints without end", async () => {
    const before = heldBytes()
    const { gate, state } = setUp([source("head -c 50000000 /dev/zero | tr '\\0' x; exit 2")])
    const [injected] = (await gate()).injected
    await expect.poll(() => heldBytes() - before).toBeLessThan(4_000_000)
    expect(injected!.length).toBeLessThanOrEqual(10_000)
    const [file] = readdirSync(state)
    expect(injected).toContain(join(state, file!))
    expect(read(state, file!)).toHaveLength(2 ** 20)
  })

  it("is called off with the run, and takes its processes along", async () => {
    const { gate, run, cwd, told } = setUp([claude("echo $$ > parent; : > started; sleep 60")])
    const asked = gate()
    while (!existsSync(join(cwd, "started"))) await new Promise((resolve) => setTimeout(resolve, 5))
    run.abort(new Error("stop"))
    expect((await asked).decision).toBe("pass")
    expect(told()).toEqual(["failed"])
    expect(isAlive(Number(read(cwd, "parent")))).toBe(false)
  })
})

describe("several hooks", () => {
  it("runs those of the process first, then all external ones together with what those made", async () => {
    // Each waits for the other's sign: one after the other they would wait for good.
    const meet = (own: string, other: string) =>
      source(
        `cat >/dev/null; echo "$CLAUDE_TOOL_INPUT" > ${own}; until [ -e ${other} ]; do sleep 0.01; done; echo ${own}; exit 2`,
        { timeoutMs: 10_000 },
      )
    const plugin: RegisteredHook = { event: "PreToolUse", plugin: "p", handler: () => rewrite({ command: "ls -a" }) }
    const { gate, cwd } = setUp([meet("one", "two"), plugin, meet("two", "one")])
    const outcome = await gate()
    expect(outcome.injected).toEqual(["one", "two"])
    expect(outcome.input).toEqual({ command: "ls -a" })
    expect(JSON.parse(read(cwd, "one"))).toEqual({ command: "ls -a" })
    expect(outcome.judged.size).toBe(3)
  })

  it("combines in the order of configuration, whichever ends first", async () => {
    const { gate, told } = setUp([
      source("sleep 0.2; echo late; exit 2"),
      source("echo early; exit 2"),
      source("echo no >&2; exit 1"),
    ])
    expect(await gate()).toMatchObject({ decision: "block", injected: ["late", "early"], reasons: ["no"] })
    expect(told()).toEqual(["inject", "inject", "block"])
  })

  it("runs a handler once that is configured twice, and twice when it differs", async () => {
    const origin = { scope: "user" as const, file: "/home/.hooks.json", line: 9 }
    const count = "echo x >> count"
    const { gate, cwd } = setUp([
      source(count),
      source(count, { origin, description: "again" }),
      source(count, { onFailure: "allow" }),
    ])
    await gate()
    await gate()
    expect(read(cwd, "count")).toBe("x\n".repeat(4))
  })

  it("applies the first of two rewrites and blocks for the second, naming both", async () => {
    const rewriting = (command: string, description: string) =>
      source(`echo '{"input": {"command": "${command}"}}'`, { description })
    const outcome = await setUp([rewriting("ls -a", "first"), rewriting("ls -b", "second"), source("true")]).gate()
    expect(outcome).toMatchObject({ decision: "block", input: { command: "ls -a" } })
    expect(outcome.reasons[0]).toMatch(
      /"second" of \.hooks\.json:3 and hook "first" of \.hooks\.json:3 rewrite the same input/,
    )
    expect([...outcome.judged].map(({ description }) => description)).toEqual(["first"])
    const agreed = await setUp([rewriting("ls -a", "first"), rewriting("ls -a ", "x")]).gate()
    expect(agreed.decision).toBe("block")
  })

  it("forgets what was allowed before a rewrite, and keeps what came with it", async () => {
    const allowing = claude(`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`)
    const rewriting = claude(
      `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"rm -rf /"}}}'`,
    )
    const both = claude(
      `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls -a"}}}'`,
    )
    for (const order of [
      [allowing, rewriting],
      [rewriting, allowing],
    ]) {
      expect(await setUp(order).gate()).toMatchObject({ decision: "pass", input: { command: "rm -rf /" } })
    }
    expect(await setUp([both, allowing]).gate()).toMatchObject({ decision: "allow", input: { command: "ls -a" } })
  })

  it("replaces a result by the first of two that came together, and says so", async () => {
    const replacing = (text: string) => source(`echo '{"result": "${text}"}'`, { event: "PostToolUse" })
    const { runner, from, events } = setUp([replacing("one"), replacing("two")])
    const outcome = await runner.fold("PostToolUse", { ...CALL, tool_response: "out" }, from)
    expect(outcome.result).toBe("one")
    expect(events.some((body) => body.type === "notice" && body.message.includes("at the same time"))).toBe(true)
  })

  it("takes the first answer and ends the others", async () => {
    const slow = source("echo $$ > slow; sleep 60", { event: "PermissionRequest" })
    const quick = source(`until [ -e slow ]; do sleep 0.01; done; echo '{"decision": "allow"}'`, {
      event: "PermissionRequest",
    })
    const { runner, from, cwd } = setUp([slow, quick])
    const question = { ...CALL, reason: "r", suggestions: [] }
    const first = await runner.first("PermissionRequest", question, from, new AbortController().signal)
    expect(first).toEqual({ owner: ".hooks.json:3", answer: { kind: "allow" } })
    const pid = Number(read(cwd, "slow"))
    await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false)
  })
})

describe("what narrows a hook", () => {
  it("asks `if` about the input as rewritten, and never runs it without a call", async () => {
    const asked: unknown[] = []
    const fits = async (rule: string, call: unknown) => {
      asked.push([rule, call])
      return rule === "Bash(ls *)"
    }
    const plugin: RegisteredHook = { event: "PreToolUse", plugin: "p", handler: () => rewrite({ command: "ls -a" }) }
    const { gate, told, runner, from } = setUp([
      plugin,
      source("exit 1", { if: "Bash(rm *)" }),
      source("echo note; exit 2", { if: "Bash(ls *)" }),
      source("exit 1", { event: "Stop", if: "Bash(ls *)" }),
    ])
    expect(await gate({}, { fits })).toMatchObject({ decision: "pass", injected: ["note"] })
    expect(asked).toEqual(
      ["Bash(rm *)", "Bash(ls *)"].map((rule) => [rule, { name: "Bash", input: { command: "ls -a" } }]),
    )
    expect(told()).toEqual(["rewrite", "inject"])
    expect(runner.has("Stop")).toBe(false)
    expect((await gate({}, {})).injected, "without a way to tell").toEqual([])
    expect(from.fits).toBeUndefined()
  })

  it("runs once what is to run once", async () => {
    const { gate, told } = setUp([source("true", { once: true }), source("exit 0")])
    await gate()
    await gate()
    expect(told()).toEqual(["pass", "pass", "pass"])
  })

  it("starts nothing that is suppressed, or of a kind that is not here yet", () => {
    const form = { type: "mcp_tool" as const, server: "s", tool: "t" }
    expect(
      setUp([source("exit 1", { suppressed: "hooks are disabled" }), source("", { form })]).runner.has("PreToolUse"),
    ).toBe(false)
  })

  it("gates by dialect when it is asked to", async () => {
    const { runner, gate, told } = setUp([source("exit 1"), claude("exit 0")])
    expect([runner.has("PreToolUse", [], "native"), runner.has("Stop", [], "native")]).toEqual([true, false])
    expect((await gate({}, { dialect: "claude-code" })).decision).toBe("pass")
    expect((await gate({}, { dialect: "native" })).decision).toBe("block")
    expect(told()).toEqual(["pass", "block"])
  })
})

describe("hooks that nobody waits for", () => {
  it("holds up nothing, decides nothing, and adds what it says later", async () => {
    const waits = "until [ -e go ]; do sleep 0.01; done; echo found; exit 2"
    const { gate, cwd } = setUp([source(waits, { async: true }), source("exit 1", { async: true })])
    let hear = (_: [string, boolean]) => {}
    const late = new Promise<[string, boolean]>((resolve) => {
      hear = resolve
    })
    const outcome = await gate({}, { late: (text, { wake }) => hear([text, wake]) })
    expect(outcome).toMatchObject({ decision: "pass", injected: [] })
    writeFileSync(join(cwd, "go"), "")
    expect(await late).toEqual(["found", false])
  })

  it("is waited for by whoever wants to see what comes of it", async () => {
    const { gate, runner, told } = setUp([source("sleep 0.1; echo found; exit 2", { async: true })])
    await gate()
    expect(told()).toEqual([])
    await runner.settle()
    expect(told()).toEqual(["inject"])
  })

  it("wakes the agent when it is there for that", async () => {
    const late = new Promise<[string, boolean]>((resolve) => {
      const { gate } = setUp([claude("echo tests fail >&2; exit 2", { async: "rewake" })])
      void gate({}, { late: (text, { wake }) => resolve([text, wake]) })
    })
    expect(await late).toEqual(["tests fail", true])
  })

  it("is ended with the run, and bounded in number", async () => {
    const hooks = Array.from({ length: 20 }, (_, i) => claude(`echo $$ > pid${i}; sleep ${60 + i}`, { async: true }))
    const { gate, runner, cwd, told, events } = setUp(hooks)
    await gate()
    const pids = () => readdirSync(cwd).filter((name) => name.startsWith("pid") && read(cwd, name) !== "")
    await expect.poll(() => pids().length, { timeout: 10_000 }).toBe(16)
    expect(events.filter((body) => body.type === "notice" && body.message.includes("at work already"))).toHaveLength(4)
    await runner.close()
    for (const name of pids()) expect(isAlive(Number(read(cwd, name)))).toBe(false)
    expect(told()).toHaveLength(20)
  })
})

describe("SessionStart", () => {
  it("sets what a shell makes of the file that it is given", async () => {
    const script = [
      "cat >/dev/null",
      `echo "export STAGE='dev box'" >> "$CLAUDE_ENV_FILE"`,
      `echo 'export PATH="/opt/tool/bin:$PATH"' >> "$SOUS_ENV_FILE"`,
      `echo 'PLAIN=$((1 + 1))' >> "$CLAUDE_ENV_FILE"`,
    ].join("; ")
    const { runner, from, state } = setUp([
      claude(script, { event: "SessionStart" }),
      source('echo STAGE=prod >> "$SOUS_ENV_FILE"', { event: "SessionStart" }),
      source("true", { event: "SessionStart" }),
    ])
    const { env } = await runner.fold("SessionStart", { source: "startup" }, from)
    expect(env).toEqual({ STAGE: "prod", PATH: `/opt/tool/bin:${process.env.PATH}`, PLAIN: "2" })
    expect(readdirSync(state)).toEqual([])
  })
})

describe("an HTTP handler", () => {
  it("gets the event as a body, and only those variables in headers that it may name", async () => {
    const seen: { headers: object; body: string }[] = []
    const server = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      seen.push({ headers: request.headers, body })
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    atEnd(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const headers = { authorization: "Bearer $HOOK_TOKEN", "x-other": "a${OTHER}b" }
    const form = { type: "http" as const, url, headers, headerEnv: ["HOOK_TOKEN"] }
    const { gate } = setUp([source("", { form })], { env: { HOOK_TOKEN: "t0ken", OTHER: "secret" } })
    expect((await gate()).decision).toBe("pass")
    expect(seen[0]!.headers).toMatchObject({
      authorization: "Bearer t0ken",
      "x-other": "ab",
      "content-type": "application/json",
    })
    expect(JSON.parse(seen[0]!.body)).toMatchObject({ hook_event_name: "PreToolUse", tool_input: { command: "ls" } })
  })

  it("gives up a server that is silent, and one that never ends", async () => {
    const server = createServer((request, response) => {
      request.resume()
      if (request.url === "/endless") {
        const timer = setInterval(() => response.write("x".repeat(100_000)), 1)
        response.on("close", () => clearInterval(timer))
      }
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    atEnd(() => {
      server.closeAllConnections()
      server.close()
    })
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const hook = (path: string, timeoutMs: number) =>
      source("", { form: { type: "http", url: base + path }, timeoutMs })
    expect((await setUp([hook("/silent", 100)]).gate()).reasons[0]).toContain("did not answer within 0.1 s")
    expect((await setUp([hook("/endless", 10_000)]).gate()).reasons[0]).toContain("longer than 1048576 bytes")
  })
})

describe("what is loaded", () => {
  it("loads no external part before an external hook fires", async () => {
    const shape = { bundle: true, format: "esm", platform: "node", packages: "external", splitting: true } as const
    const built = await build({
      ...shape,
      entryPoints: ["core/index.ts"],
      outdir: folder(),
      write: false,
      metafile: true,
    })
    const { outputs } = built.metafile
    const loaded = new Set<string>()
    const load = (file: string): void => {
      if (loaded.has(file)) return
      loaded.add(file)
      for (const { path, kind } of outputs[file]?.imports ?? []) if (kind !== "dynamic-import") load(path)
    }
    load(Object.keys(outputs).find((file) => outputs[file]!.entryPoint === "core/index.ts")!)
    const sources = [...loaded].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}))
    expect(sources).toContain("core/kit.ts")
    expect(sources.filter((file) => /hook-(outside|command|http|question|claude|launch)\.ts$/.test(file))).toEqual([])
  })
})
