/**
 * An engine for the tests of recipes: real journal, hooks and spend; what steps are done with is in the test's hands.
 */
import { execFile } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { onTestFinished } from "vitest"
import { z } from "zod"
import type { AgentOutcome, AgentRequest } from "../../../core/agent.ts"
import type { Called, ToolUse } from "../../../core/call.ts"
import type { Engine } from "../../../core/engine.ts"
import type { EventBody } from "../../../core/event.ts"
import type { Hooks } from "../../../core/hook.ts"
import { createHookRunner } from "../../../core/hook-runner.ts"
import { createBreaker } from "../../../core/permission/breaker.ts"
import type { RunParts } from "../../../core/recipe/context.ts"
import { type RunRecipeOptions, runRecipe } from "../../../core/recipe/run.ts"
import { createSpend } from "../../../core/recipe/spend.ts"
import { createRegistry } from "../../../core/registry.ts"
import { type AgentScope, createScope } from "../../../core/scope.ts"
import type { AgentStep, Budget, Recipe, StepResult } from "../../../core/step.ts"
import { defineTool, type Tool } from "../../../core/tool.ts"

/** A folder of this test's own, gone when it has ended. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sous-recipe-"))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export interface TestClock {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Moves the time on, and wakes whoever slept until then. */
  advance(ms: number): Promise<void>
  sleeping(): number
}

export function createTestClock(): TestClock {
  let now = 1_700_000_000_000
  const sleepers = new Set<{ until: number; wake: () => void }>()
  return {
    now: () => now,
    sleeping: () => sleepers.size,
    sleep(ms, signal) {
      return new Promise((wake, reject) => {
        const sleeper = { until: now + ms, wake }
        sleepers.add(sleeper)
        signal?.addEventListener("abort", () => {
          sleepers.delete(sleeper)
          reject(signal.reason)
        })
      })
    },
    async advance(ms) {
      now += ms
      for (const sleeper of sleepers) {
        if (sleeper.until > now) continue
        sleepers.delete(sleeper)
        sleeper.wake()
      }
      await new Promise((go) => setImmediate(go))
    },
  }
}

/** An agent as a function from its step to its answer; what it throws is thrown by the loop. */
export type FakeAgent = (
  step: AgentStep<any>,
  request: AgentRequest,
) => Promise<StepResult | string> | StepResult | string

export interface TestRun {
  engine: Engine
  clock: TestClock
  folder: string
  /** The run's own working directory. */
  cwd: string
  events: (EventBody & { step?: string })[]
  run<O>(recipe: Recipe<any, O, any>, options?: RunRecipeOptions): ReturnType<typeof runRecipe<O>>
  /** `path ok` or `path cause` of each step, in the order in which they ended. */
  ended(): string[]
}

export interface TestRunOptions {
  agent?: FakeAgent
  /** Refuses calls, by their command or path. */
  deny?: (text: string, rules: unknown) => boolean
  tools?: Tool[]
  hooks?: Hooks
  recipes?: Recipe[]
  budget?: Budget
}

export function testRun(options: TestRunOptions = {}): TestRun {
  const folder = tempFolder()
  const cwd = tempFolder()
  const clock = createTestClock()
  const events: TestRun["events"] = []
  const registry = createRegistry()
  registry.add("test", { tools: options.tools ?? [shellTool, writeTool], hooks: options.hooks ?? {} })
  registry.add("recipes", { recipes: options.recipes ?? [] })
  const frozen = registry.freeze()
  const emit: Engine["emit"] = (body, from) => void events.push({ ...body, ...(from?.step ? { step: from.step } : {}) })
  const signal = new AbortController().signal
  const engine = {
    runId: "run-1",
    folder,
    cwd,
    roots: [cwd],
    clock,
    signal,
    registry: frozen,
    agents: [],
    mode: "default",
    rules: [],
    rulesWith: (more: readonly object[]) => more,
    refresh: () => undefined,
    plugins: { age: 0, take: () => {}, hold: () => () => {} },
    barredModes: [],
    secrets: { pattern: undefined },
    childEnv: {},
    hooks: createHookRunner(frozen.hooks, { emit, signal, clock }),
    spend: createSpend(options.budget ?? {}, { clock }),
    breaker: createBreaker({ limit: 10, attended: false }),
    emit,
  } as unknown as Engine
  const parts: RunParts = {
    createScope,
    runAgent: (_engine, request) => answer(options.agent ?? (() => "done"), request),
    callTool: (scope, use) => call(scope, use, options.deny ?? (() => false)),
  }
  return {
    engine,
    clock,
    folder,
    cwd,
    events,
    run: (recipe, runOptions = {}) => runRecipe(engine, recipe, { ...runOptions, parts }),
    ended: () =>
      events.flatMap((event) =>
        event.type === "step_finished" ? [`${event.id} ${event.ok ? "ok" : event.failure?.cause}`] : [],
      ),
  }
}

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** A model's answer of 100 tokens in and 10 out, paid from the step's budget. */
async function answer(agent: FakeAgent, request: AgentRequest): Promise<AgentOutcome> {
  const outcome = { stop: "completed" as const, text: "", usage: NOTHING, turns: 1, denials: [] }
  const { spend, signal, step } = request
  const reservation = await spend.reserve({ inputTokens: 100, maxOutput: 10, signal })
  if ("spent" in reservation) {
    return { ...outcome, stop: "budget", result: { ok: false, cause: "budget", error: reservation.spent } }
  }
  reservation.settle({ ...NOTHING, input: 100, output: 10 })
  const given = await agent(step, request)
  return { ...outcome, result: typeof given === "string" ? { ok: true, value: given } : given }
}

async function call(scope: AgentScope, use: ToolUse, deny: NonNullable<TestRunOptions["deny"]>): Promise<Called> {
  const tool = scope.tools.get(use.name)!
  const result = { type: "tool_result" as const, tool_use_id: use.id }
  const { command, file_path } = use.input as { command?: string; file_path?: string }
  if (deny(command ?? file_path ?? "", scope.engine.rules)) {
    const reason = "No rule allows it; add --allow-run"
    const denied = { behavior: "deny" as const, source: "approval" as const, reason, trace: [] }
    return { result, text: reason, isError: true, denied, cause: "denied", injected: [] }
  }
  const output = await (tool.execute(use.input, {
    cwd: scope.cwd,
    env: scope.env,
    signal: scope.signal,
  } as never) as Promise<any>)
  const { content, isError = false, data } = typeof output === "string" ? { content: output } : (output as any)
  return {
    result,
    text: content,
    isError,
    injected: [],
    ...(data ? { data } : {}),
    ...(isError ? { cause: "tool" } : {}),
  }
}

/** A shell that runs what it is given. */
export const shellTool = defineTool({
  name: "Shell",
  description: "Runs a command",
  role: "shell",
  input: z.object({ command: z.string(), timeout: z.number() }),
  execute: ({ command }, { cwd, env, signal }) =>
    new Promise((done) => {
      const options = { cwd, env: { PATH: "/usr/bin:/bin", ...env }, signal }
      execFile("bash", ["--norc", "-c", command], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : undefined
        const data = { stdout, stderr, ...(code === undefined ? {} : { code }) }
        done({ content: stdout + stderr, isError: error !== null, data })
      })
    }),
})

export const writeTool = defineTool({
  name: "Save",
  description: "Writes a file",
  role: "write",
  input: z.object({ file_path: z.string(), content: z.string() }),
  async execute({ file_path, content }) {
    await mkdir(dirname(file_path), { recursive: true })
    await writeFile(file_path, content)
    return "written"
  },
})
