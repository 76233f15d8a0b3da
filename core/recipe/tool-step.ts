/**
 * The steps `sh`, `tool` and `write`: one call through the whole permission pipeline, by the tool's role or its name.
 *
 * Invariant: no tool is known here by name; a denied call is a failure with the cause `denied`, and it is remembered.
 */
import { resolve } from "node:path"
import type { Called } from "../call.ts"
import { SousError, suggest } from "../error.ts"
import type { ShResult, ShStep, StepResult, ToolStep, ToolStepResult, WriteStep } from "../step.ts"
import type { Tool, ToolRole } from "../tool.ts"
import type { Failure, Place, RunContext } from "./context.ts"

const COMMAND_TIMEOUT_MS = 600_000

/** Runs a command. A code that is not among `ok` is a failure, with the result as its partial value. */
export async function runSh(run: RunContext, step: ShStep, place: Place): Promise<StepResult<ShResult>> {
  const tool = findRole(place, "sh", "shell")
  const { cwd, env } = step
  const input = { command: step.command, timeout: step.timeoutMs ?? COMMAND_TIMEOUT_MS }
  const called = await call(run, { place, tool, input, cwd, env })
  const result = readShell(called, place)
  if (result === undefined) return failure(called)
  const accepted = step.ok ?? [0]
  if (accepted === "any" || accepted.includes(result.code)) return { ok: true, value: result }
  const last = lastLine(result.stderr) || lastLine(result.stdout)
  const error = `The command exited with ${result.code}${last && `: ${last}`}`
  return { ok: false, cause: "tool", error, partial: result }
}

/** Calls a tool by its name. */
export async function runTool(run: RunContext, step: ToolStep, place: Place): Promise<StepResult<ToolStepResult>> {
  place.engine.plugins.take()
  const { tools } = place.engine.registry
  const tool = tools.get(step.name)
  if (!tool) throw new SousError("STEP_TOOL_UNKNOWN", { tool: step.name, mend: suggest(step.name, tools.keys()) })
  const called = await call(run, { place, tool, input: step.input })
  const value = { text: called.text, ...(called.data === undefined ? {} : { data: called.data }) }
  return called.isError ? failure(called, value) : { ok: true, value }
}

/** Writes a file. */
export async function runWrite(run: RunContext, step: WriteStep, place: Place): Promise<StepResult<{ path: string }>> {
  const tool = findRole(place, "write", "write")
  const path = resolve(place.engine.cwd, step.path)
  const called = await call(run, { place, tool, input: { file_path: path, content: step.text } })
  return called.isError ? failure(called) : { ok: true, value: { path } }
}

function findRole({ engine }: Place, kind: string, role: ToolRole): Tool {
  engine.plugins.take()
  for (const tool of engine.registry.tools.values()) if (tool.role === role) return tool
  throw new SousError("STEP_ROLE_MISSING", { kind, role })
}

interface Call {
  place: Place
  tool: Tool
  input: unknown
  cwd?: string | undefined
  env?: Record<string, string> | undefined
}

async function call(run: RunContext, { place, tool, input, cwd, env }: Call): Promise<Called> {
  const { engine, spend, signal, path, each } = place
  const number = run.next()
  const scope = run.parts.createScope(engine, {
    agent: { id: `step-${number}`, type: "main", depth: 0, step: path, ...(each === undefined ? {} : { each }) },
    caller: "recipe",
    mode: engine.mode,
    spend,
    signal,
    ...(cwd === undefined ? {} : { cwd: resolve(engine.cwd, cwd) }),
    ...(env === undefined ? {} : { env }),
  })
  const release = engine.plugins.hold()
  await engine.refresh()
  const called = await run.parts.callTool(scope, { id: `step_${number}`, name: tool.name, input }).finally(release)
  if (called.cause === "denied") run.denials.push({ tool: tool.name, reason: called.denied?.reason ?? called.text })
  return called
}

function failure(called: Called, partial?: unknown): Failure {
  const cause = called.cause ?? "tool"
  return { ok: false, cause, error: called.text, ...(partial === undefined ? {} : { partial }) }
}

/** The facts that a shell tool gives; undefined when the command did not come to its end. */
function readShell(called: Called, { signal }: Place): ShResult | undefined {
  const { stdout = "", stderr = "", code } = (called.data ?? {}) as Partial<ShResult>
  if (typeof code !== "number" || signal.aborted) return undefined
  return { stdout, stderr, code }
}

function lastLine(text: string): string {
  return (text.trimEnd().split("\n").at(-1) ?? "").slice(0, 300)
}
