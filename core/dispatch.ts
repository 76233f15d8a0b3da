/**
 * One tool_use in, exactly one tool_result out, through named stages; a refusal travels the same road as a result.
 *
 * Invariant: `callTool` never rejects, and no guard is passed by an input that it has not judged.
 *
 * Trail: 2 of 6, from loop.ts, next permission/decide.ts.
 */

import { join, sep } from "node:path"
import { type Called, interruptedText, Refusal, type ToolUse } from "./call.ts"
import { reasonOf, suggest } from "./error.ts"
import { keepFiles } from "./keep-files.ts"
import { untilAborted } from "./patience.ts"
import { createReadGuard } from "./permission/read-guard.ts"
import { createWebRules } from "./permission/web.ts"
import { type Judged, judgeCall, type Permitted, permitCall } from "./permit.ts"
import { leavePlanMode } from "./plan-mode.ts"
import { type AgentScope, granteeOf, hookSource } from "./scope.ts"
import { type Executed, settle, toolResult } from "./settle.ts"
import type { Cause } from "./step.ts"
import { looksAhead, type Tool, type ToolContext, type ToolOutput, type ToolProgress } from "./tool.ts"
import { checkInput } from "./tool-input.ts"

/** What was settled about a call a moment before it starts. */
export interface Early {
  /** Checked. */
  input: unknown
  judged: Judged
}

/**
 * Runs one tool_use: find → check → decide, ask, PreToolUse → keep files → execute → PostToolUse → settle. `early`: the first two
 * steps of it, done for this very call by `findEarly`.
 */
export async function callTool(scope: AgentScope, use: ToolUse, early?: Early): Promise<Called> {
  const { engine } = scope
  const started = engine.clock.now()
  engine.emit({ type: "tool_use", id: use.id, name: use.name, input: use.input }, scope.agent)
  let called: Called
  try {
    const tool = findTool(scope, use)
    const checked = early === undefined ? await checkInput(tool, use) : early.input
    const permitted = await permitCall(scope, tool, { ...use, input: checked }, early?.judged)
    const executed = await execute(scope, tool, { ...use, input: permitted.input }, permitted)
    const settled = await settle(scope, tool, use, executed)
    if (!settled.isError) noteTouched(scope, tool, permitted)
    if (tool.role === "exitPlan" && !settled.isError) leavePlanMode(scope, permitted.modeAfterPlan)
    called = await afterUse(scope, { ...use, input: permitted.input }, settled, permitted.injected)
  } catch (error) {
    called = refuse(use, error)
  }
  const { text, isError, data } = called
  engine.emit(
    {
      type: "tool_result",
      id: use.id,
      name: use.name,
      isError,
      chars: text.length,
      preview: text.slice(0, 2000),
      durationMs: engine.clock.now() - started,
      ...(data === undefined ? {} : { data }),
    },
    scope.agent,
  )
  return called
}

/**
 * Looks whether a call may start while its message still streams: it changes nothing, may overlap, and is allowed
 * without a question. Tells nobody and asks nobody. Undefined: it has to wait.
 */
export async function findEarly(scope: AgentScope, use: ToolUse): Promise<Early | undefined> {
  const tool = scope.tools.get(use.name)
  if (tool === undefined || use.broken !== undefined) return undefined
  try {
    const input = await checkInput(tool, use)
    // A stream may break and be sent again: what spends (a subagent) is not started twice for that.
    if (tool.role === "subagent") return undefined
    const { readOnly, concurrencySafe } = await looksAhead(tool, input, scope)
    if (!readOnly || !concurrencySafe) return undefined
    const judged = await judgeCall(scope, tool, input)
    return judged.decision.behavior === "allow" ? { input, judged } : undefined
  } catch {
    return undefined
  }
}

/** True when a call may overlap with its neighbours. A call that cannot be checked does nothing, so it may. */
export async function mayOverlap(scope: AgentScope, use: ToolUse): Promise<boolean> {
  const tool = scope.tools.get(use.name)
  if (tool === undefined || use.broken !== undefined) return true
  try {
    return (await looksAhead(tool, await checkInput(tool, use), scope)).concurrencySafe
  } catch {
    return true
  }
}

/** The result of a call that never started, because the run was interrupted. */
export function interruptedCall(use: ToolUse): Called {
  return failed(use, interruptedText("before"), "cancelled")
}

function findTool(scope: AgentScope, use: ToolUse): Tool {
  const tool = scope.tools.get(use.name)
  if (tool) return tool
  const mend = suggest(use.name, scope.tools.keys())
  throw new Refusal(`There is no tool "${use.name}": ${mend}`, "tool")
}

/** How long a tool may take to end by itself after an abort, ms; then its call is given up. */
const ABORT_GRACE_MS = 4000

async function execute(scope: AgentScope, tool: Tool, use: ToolUse, permitted: Permitted): Promise<Executed> {
  if (scope.signal.aborted) throw new Refusal(interruptedText("before"), "cancelled")
  const kept = await keepFiles(scope, tool, use.id, permitted)
  const patience = untilAborted(scope.signal, { graceMs: ABORT_GRACE_MS })
  try {
    const running = consume(tool.execute(use.input, createToolContext(scope, use, permitted)), scope, use)
    return { output: await Promise.race([running, patience.over]) }
  } catch (error) {
    if (scope.signal.aborted) throw new Refusal(interruptedText("while"), "cancelled", { cause: error })
    const reason = reasonOf(error)
    return { output: { content: `${use.name} failed: ${reason}`, isError: true }, threw: reason }
  } finally {
    patience.forget()
    await kept()
  }
}

async function consume(
  execution: Promise<ToolOutput> | AsyncIterable<ToolProgress | ToolOutput>,
  scope: AgentScope,
  use: ToolUse,
): Promise<ToolOutput> {
  if (!(Symbol.asyncIterator in execution)) return await execution
  let output: ToolOutput = ""
  for await (const item of execution) {
    if (scope.signal.aborted) break
    if (typeof item === "object" && "progress" in item) reportProgress(scope, use, item.progress)
    else output = item
  }
  return output
}

/** Notes which files a call has read or changed, for what is told about them: no search has read a file, no result is one. */
function noteTouched({ touched, engine }: AgentScope, tool: Tool, { call, paths }: Permitted): void {
  if (tool.skipsDenied) return
  for (const target of call.targets) {
    const path = target.kind === "path" ? paths.get(target.path)?.real : undefined
    if (target.kind !== "path" || path === undefined || path.startsWith(engine.folder + sep)) continue
    touched.push({ path, access: target.access })
  }
}

function createToolContext(
  scope: AgentScope,
  use: ToolUse,
  { call, paths: judged }: Pick<Permitted, "call" | "paths">,
): ToolContext {
  const { engine } = scope
  const { memory, state } = engine.contextPlaces
  return {
    toolUseId: use.id,
    caller: scope.caller,
    judged,
    cwd: scope.cwd,
    setCwd: (path) => {
      scope.cwd = path
    },
    roots: engine.roots,
    mayRead: createReadGuard(engine.rules, () => call, {
      ...engine.places,
      cwd: scope.cwd,
      paths: judged,
    }),
    web: createWebRules(
      engine.rules,
      () => call,
      () => engine.grants.of(granteeOf(scope)),
    ),
    env: scope.env,
    signal: scope.signal,
    agent: scope.agent,
    sessionId: scope.sessionId,
    runFolder: engine.folder,
    ...(memory.auto ? { memoryFolder: join(state, "memory") } : {}),
    state: <T>(key: symbol, create: () => T) => {
      if (!scope.state.has(key)) scope.state.set(key, create())
      return scope.state.get(key) as T
    },
    notes: (name) => scope.notes(name),
    progress: (text) => reportProgress(scope, use, text),
    defer: engine.defer,
    subagent: (request) => scope.subagent(request, { signal: scope.signal }),
    agents: engine.agents,
  }
}

function reportProgress(scope: AgentScope, use: ToolUse, text: string): void {
  scope.engine.emit({ type: "tool_progress", id: use.id, text }, scope.agent)
}

async function afterUse(scope: AgentScope, use: ToolUse, called: Called, injected: string[]): Promise<Called> {
  const { hooks } = scope.engine
  const event = called.isError ? "PostToolUseFailure" : "PostToolUse"
  if (!hooks.has(event, scope.hooks)) return { ...called, injected }
  const fields = { tool_name: use.name, tool_input: use.input, tool_use_id: use.id }
  const from = hookSource(scope, use.id)
  const folded =
    event === "PostToolUse"
      ? await hooks.fold(event, { ...fields, tool_response: called.data ?? called.text }, from)
      : await hooks.fold(event, { ...fields, error: called.text }, from)
  const all = [...injected, ...folded.injected]
  if (folded.blocked !== undefined) all.push(`A hook objects to the result of ${use.name}: ${folded.blocked}`)
  if (folded.result === undefined) return { ...called, injected: all }
  return { ...called, text: folded.result, result: toolResult(use, folded.result, called.isError), injected: all }
}

function refuse(use: ToolUse, error: unknown): Called {
  if (!(error instanceof Refusal)) {
    const reason = reasonOf(error)
    return failed(use, `${use.name} could not be run: ${reason}`, "infra")
  }
  const called = failed(use, error.message, error.reason)
  return { ...called, injected: error.injected, ...(error.decision ? { denied: error.decision } : {}) }
}

function failed(use: ToolUse, text: string, cause: Cause): Called {
  return { result: toolResult(use, text, true), text, isError: true, cause, injected: [] }
}
