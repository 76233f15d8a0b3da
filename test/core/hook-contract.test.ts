import { chmodSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createClock } from "../../core/clock.ts"
import type { EventBody } from "../../core/event.ts"
import { HOOKS, type HookEvent, type HookPayloads } from "../../core/hook.ts"
import { createHookRunner, type FromAgent } from "../../core/hook-runner.ts"
import type { HookForm } from "../../core/hook-source.ts"
import { EXITS } from "../../core/hook-table.ts"
import { type RegisteredHook, registerSources } from "../../core/registry.ts"
import { HOOK_ROWS, type HookEnding, type HookMeaning, type HookRow } from "../contract/hooks.ts"
import { folder } from "../harness.ts"

const CALL = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "t1" }
const PAYLOADS: HookPayloads = {
  SessionStart: { source: "startup" },
  UserPromptSubmit: { prompt: "Go", origin: "human" },
  PreToolUse: CALL,
  PermissionRequest: { ...CALL, reason: "no rule", suggestions: [] },
  PermissionDenied: { ...CALL, reason: "no" },
  PostToolUse: { ...CALL, tool_response: "out" },
  PostToolUseFailure: { ...CALL, error: "exit 1" },
  PreCompact: { trigger: "auto" },
  PostCompact: { trigger: "auto" },
  SubagentStart: { prompt: "Go" },
  SubagentStop: { last_message: "done", stop_hook_active: false },
  Stop: { last_message: "done", stop_hook_active: false },
  SessionEnd: { reason: "completed" },
  Notification: { kind: "permission_prompt", message: "waits" },
  RunStart: { recipe: "r" },
  StepStart: { step_id: "a", kind: "sh" },
  StepEnd: { step_id: "a", kind: "sh", ok: true },
  RunEnd: { recipe: "r", status: "ok" },
  FileChanged: { path: "/a" },
  ConfigChange: { scope: "user", source: "user_settings" },
}

let server: Server
let base: string
/** What the server answers, by path. */
const answers = new Map<string, { status: number; body?: string }>()

beforeAll(async () => {
  server = createServer((request, response) => {
    const { status, body = "" } = answers.get(request.url!)!
    request.resume().on("end", () => {
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** A handler that ends like this. */
function formOf(ends: HookEnding, cwd: string, id: number): HookForm {
  const sh = (script: string): HookForm => ({ type: "command", command: `cat >/dev/null; ${script}` })
  if ("exit" in ends) {
    const { exit, stdout = "", stderr = "" } = ends
    return sh(`printf %s ${quoted(stdout)}; printf %s ${quoted(stderr)} >&2; exit ${exit}`)
  }
  if ("prints" in ends) {
    return sh(`printf %s ${quoted(ends.start ?? "")}; head -c ${ends.prints} /dev/zero | tr '\\0' x`)
  }
  if ("signal" in ends) return sh(`kill -${ends.signal.slice(3)} $$`)
  if ("hangs" in ends) return sh(`printf %s ${quoted(ends.stdout ?? "")}; sleep 60`)
  if ("status" in ends) {
    answers.set(`/${id}`, ends)
    return { type: "http", url: `${base}/${id}` }
  }
  if ("unreachable" in ends) return { type: "http", url: "http://127.0.0.1:1/" }
  if ("launch" in ends) return launchOf(ends.launch, cwd)
  throw new Error("only a plugin ends like this")
}

function launchOf(launch: string, cwd: string): HookForm {
  const command = (text: string): HookForm => ({ type: "command", command: text })
  writeFileSync(join(cwd, "no.sh"), "exit 0\n")
  chmodSync(join(cwd, "no.sh"), 0o644)
  writeFileSync(join(cwd, "broken.sh"), "if true; then (\n")
  switch (launch) {
    case "missing script":
      return command("python3 .claude/hooks/check.py")
    case "missing program":
      return { type: "command", command: "/nowhere/check", args: ["--strict"] }
    case "not executable":
      return command("./no.sh")
    case "syntax error":
      return command("bash broken.sh")
    default:
      return command("/nowhere/check")
  }
}

function hookOf({ event, dialect, where, ends, onFailure }: HookRow, cwd: string, id: number): RegisteredHook {
  const timeoutMs = "hangs" in ends ? 80 : 20_000
  if (where !== "plugin") {
    const origin = { scope: "project" as const, file: where === ".hooks.json" ? where : `${where}.json`, line: id + 1 }
    const form = formOf(ends, cwd, id)
    return registerSources([{ event, dialect, form, timeoutMs, origin, ...(onFailure ? { onFailure } : {}) }])[0]!
  }
  const handler = () => {
    if ("throws" in ends) throw new Error(ends.throws)
    if ("hangs" in ends) return new Promise<never>(() => {})
    return "returns" in ends ? (ends.returns as never) : undefined
  }
  return { event, plugin: "guard", timeoutMs, handler }
}

/** Fires the event with one hook, and says what came of it in the words of the table. */
async function outcomeOf(row: HookRow, id: number) {
  const cwd = folder()
  const events: EventBody[] = []
  const stops: string[] = []
  const hook = hookOf(row, cwd, id)
  const env = { PATH: process.env.PATH! }
  const runner = createHookRunner([hook], {
    emit: (body) => void events.push(body),
    signal: new AbortController().signal,
    clock: createClock(),
    outside: { projectDir: cwd, folder: cwd, childEnv: env, env },
  })
  const from: FromAgent = {
    sessionId: "s1",
    transcriptPath: "/t.jsonl",
    cwd,
    mode: "default",
    stop: (reason) => void stops.push(reason),
  }
  const meaning = await fire(runner, row.event, from)
  for (const body of events) {
    if (body.type === "notice" && body.level === "warning") meaning.warning = body.message
    if (body.type === "notice" && body.level === "info") meaning.says = body.message
  }
  if (stops.length > 0) meaning.stop = stops.join("\n")
  return { meaning, told: events.filter(({ type }) => type === "hook") }
}

async function fire(runner: ReturnType<typeof createHookRunner>, event: HookEvent, from: FromAgent) {
  const payload = PAYLOADS[event] as never
  const meaning: HookMeaning = {}
  switch (HOOKS[event].kind) {
    case "gate": {
      const { decision, reasons, injected, ...rest } = await runner.gate(event as never, payload, from)
      if (decision === "block" || decision === "ask") meaning[decision] = reasons.join("\n")
      if (decision === "allow") meaning.allow = true
      if (injected.length > 0) meaning.inject = injected.join("\n")
      if ("input" in rest) meaning.input = rest.input
      return meaning
    }
    case "fold": {
      const { injected, blocked, result, env } = await runner.fold(event as never, payload, from)
      if (injected.length > 0) meaning.inject = injected.join("\n")
      if (blocked !== undefined) meaning.block = blocked
      if (result !== undefined) meaning.result = result
      if (env !== undefined) meaning.env = env
      return meaning
    }
    case "first": {
      const { answer } = (await runner.first(event as never, payload, from, new AbortController().signal)) ?? {}
      if (answer?.kind === "block") meaning.block = answer.reason
      if (answer?.kind === "allow") {
        meaning.allow = true
        if (answer.input !== undefined) meaning.input = answer.input
        if (answer.rules !== undefined) meaning.rules = [...answer.rules]
      }
      return meaning
    }
    default:
      await runner.observe(event as never, payload, from)
      return meaning
  }
}

const contains = (meaning: HookMeaning) =>
  Object.fromEntries(
    Object.entries(meaning).map(([key, value]) => [
      key,
      typeof value === "string" ? expect.stringContaining(value) : value,
    ]),
  )

describe("the contract table of hooks", () => {
  it("has more than sixty rows, one for each event that is raised, and every exit code of both dialects", () => {
    expect(HOOK_ROWS.length).toBeGreaterThan(60)
    const raised = Object.keys(HOOKS).filter((event) => event !== "FileChanged" && event !== "StepEnd")
    expect(raised.filter((event) => !HOOK_ROWS.some((row) => row.event === event))).toEqual([])
    for (const dialect of ["native", "claude-code"] as const) {
      const exits = HOOK_ROWS.flatMap(({ dialect: own, ends }) =>
        own === dialect && "exit" in ends ? [ends.exit] : [],
      )
      const codes = Object.keys(EXITS[dialect]).filter((code) => code !== "other")
      for (const code of codes) expect(exits).toContain(Number(code))
    }
  })

  it.each(
    HOOK_ROWS.map((row, id) => ({
      ...row,
      id,
      title: `${row.dialect} ${row.event} in ${row.where}: ${JSON.stringify(row.ends).slice(0, 100)}${row.onFailure ? ` onFailure ${row.onFailure}` : ""}`,
    })),
  )("$title", async ({ id, ...row }) => {
    const { meaning, told } = await outcomeOf(row, id)
    expect(meaning).toEqual(contains(row.means))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ event: row.event, durationMs: expect.any(Number) })
    if (row.where !== "plugin") expect(told[0]).toMatchObject({ origin: { line: id + 1 } })
  })
})
