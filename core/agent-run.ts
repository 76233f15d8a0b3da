/**
 * A loop that is set up, from its transcript and first message to its outcome; the way of every agent, main or sub.
 *
 * Invariant: it never ends ok without a value of the declared shape, and its transcript is closed whatever happens.
 */
import { join } from "node:path"
import { followPlugins } from "./agent-renew.ts"
import type { AgentOutcome, AgentSetup } from "./agent-setup.ts"
import { assembleOpening, assembleSystem, declareTools } from "./context/assemble.ts"
import { type Conversation, createConversation } from "./context/conversation.ts"
import { applyEntry, createHistory, type History } from "./context/history.ts"
import type { Engine } from "./engine.ts"
import { runLoop } from "./loop.ts"
import { compactCommand, type Heard, type LoopResult } from "./loop-state.ts"
import { honoursSchema, type Model } from "./model.ts"
import { createOutputShape, createSubmitTool, type OutputShape } from "./output.ts"
import { offeredTools, planReminder, withoutPlanExit } from "./plan-mode.ts"
import { registerHooks } from "./registry.ts"
import { type AgentScope, createScope, hookSource } from "./scope.ts"
import { createTranscript, type Transcript } from "./session/transcript.ts"
import { type LoopStop, STOPS } from "./stop.ts"
import type { Tool } from "./tool.ts"

/** Runs a loop that is set up; the way of every agent, main or sub. */
export async function startAgent(engine: Engine, setup: AgentSetup): Promise<AgentOutcome> {
  const model = await engine.openModel(setup.model)
  model.warm?.()
  const shape = setup.step.output === undefined ? undefined : createOutputShape(setup.step.output)
  let submitted: { value: unknown } | undefined
  const submit =
    shape && !honoursSchema(model, shape.schema)
      ? createSubmitTool(shape, (value) => (submitted = { value }))
      : undefined
  const scope = scopeFor(engine, setup, submit)
  const { transcript, history } = openTranscript(scope, { model, prompt: setup.step.prompt })
  scope.record = transcript.append
  const conversation = createConversation(frameFor(setup, { scope, model, shape, history }), transcript, {
    history,
    model: model.id,
    onBreak: (told) => engine.emit({ type: "cache_break", ...told }, scope.agent),
  })
  scope.notes = conversation.notes
  if (history.model !== undefined && history.model !== model.id) conversation.forgetThinking()
  if (setup.parent === undefined) scope.turn = () => conversation.turns
  const finish = (tools: AgentScope["tools"]) => toolsFor(setup, tools, submit)
  const plugins = followPlugins({ engine, scope, conversation, entries: setup.step.tools, finish })
  let reason = "fault"
  try {
    const blocked = await openConversation(scope, setup, conversation)
    const driven = { scope, conversation, model, shape, submitted: () => submitted, renew: plugins.renew }
    const result =
      blocked === undefined
        ? await drive(engine, setup, driven)
        : emptyResult("denied", `A hook blocked the prompt: ${blocked}`)
    reason = result.stop
    return outcomeOf(scope, result)
  } finally {
    // A subagent is no session of its own; it has SubagentStart and SubagentStop.
    if (setup.identity.depth === 0) await engine.hooks.observe("SessionEnd", { reason }, hookSource(scope))
    scope.record = undefined
    plugins.release()
    await closeTranscript(scope, { transcript, turns: conversation.turns })
  }
}

/** Characters of a prompt that a list of sessions shows. */
const FIRST_WORDS = 200

function openTranscript(scope: AgentScope, { model, prompt }: { model: Model; prompt: string }) {
  const { engine, agent } = scope
  const session = agent.depth === 0 ? engine.session : undefined
  const history = createHistory()
  for (const { type, ...fields } of session?.entries ?? []) applyEntry(history, type, fields)
  const last = session?.entries.at(-1)
  const after = last && { uuid: last.uuid, size: session!.size }
  const meta = { agent, model: model.id, cwd: scope.cwd }
  const transcript = createTranscript(scope.transcriptPath, meta, { clock: engine.clock, ...(after ? { after } : {}) })
  const words = prompt.slice(0, FIRST_WORDS)
  if (session) transcript.append("run", { run: engine.runId, folder: engine.folder, words })
  return { transcript, history }
}

async function closeTranscript(
  { engine, agent }: AgentScope,
  { transcript, turns }: { transcript: Transcript; turns: number },
): Promise<void> {
  try {
    if (agent.depth > 0 || engine.session === undefined) return
    transcript.append("ended", { turns })
    // What a prompt has led to outlives a crash of the machine.
    await transcript.sync()
  } finally {
    await transcript.close()
  }
}

function scopeFor(engine: Engine, setup: AgentSetup, submit: Tool | undefined): AgentScope {
  const { identity } = setup
  const session = identity.depth === 0 ? engine.session : undefined
  const scope: AgentScope = createScope(engine, {
    agent: identity,
    caller: "model",
    mode: setup.mode,
    asked: setup.asked,
    parent: setup.parent,
    spend: setup.spend,
    signal: setup.signal,
    tools: toolsFor(setup, setup.tools, submit),
    filters: setup.filters,
    sessionId: session?.id ?? identity.id,
    transcriptPath: session?.file ?? join(engine.folder, "agents", `${identity.id}.jsonl`),
    ...(session ? { readRoots: session.readRoots, checkpoint: session.checkpoint } : {}),
    hooks: registerHooks(`step ${identity.step ?? ""}`.trim(), setup.step.hooks ?? {}),
    subagent: (request, call) => setup.delegate(scope, setup, { ...request, signal: call.signal }),
    ...(setup.parent === undefined ? {} : { env: setup.parent.env }),
    ...(setup.cwd === undefined ? {} : { cwd: setup.cwd }),
  })
  return scope
}

/** What an agent of this kind can use of its tools, and how it submits its result. */
function toolsFor(setup: AgentSetup, tools: AgentScope["tools"], submit: Tool | undefined): AgentScope["tools"] {
  // Only plan mode that a person gave can end by a plan.
  const fixed = setup.identity.depth > 0 || setup.asked.includes("plan")
  const allowed = fixed ? withoutPlanExit(tools) : tools
  return submit ? new Map([...allowed, [submit.name, submit]]) : allowed
}

interface Framed {
  scope: AgentScope
  model: Model
  shape: OutputShape | undefined
  history: History
}

/** A conversation that goes on keeps its system text, unless this start names another. */
function frameFor({ step }: AgentSetup, { scope, model, shape, history }: Framed) {
  const effort = step.effort ?? scope.engine.limits.effort
  const isNamed = step.system !== undefined || step.appendSystem !== undefined
  return {
    system: history.system.length > 0 && !isNamed ? history.system : assembleSystem(step.system, step.appendSystem),
    tools: declareTools(offeredTools(scope, scope.engine)),
    ...(effort === undefined ? {} : { effort }),
    ...(shape && honoursSchema(model, shape.schema) ? { outputSchema: shape.schema } : {}),
  }
}

/** Fires the opening hooks and lays down the first message. Returns the reason when a hook blocks it. */
async function openConversation(
  scope: AgentScope,
  setup: AgentSetup,
  conversation: Conversation,
): Promise<string | undefined> {
  const { hooks } = scope.engine
  const { prompt } = setup.step
  const isNew = conversation.messages.length === 0
  if (commandOf(setup) !== undefined) return undefined
  scope.request = prompt
  const injected: string[] = []
  const from = hookSource(scope)
  if (scope.agent.depth > 0) injected.push(...(await hooks.fold("SubagentStart", { prompt }, from)).injected)
  else {
    const started = await hooks.fold("SessionStart", { source: isNew ? "startup" : "resume" }, from)
    injected.push(...started.injected)
    if (started.env !== undefined) scope.env = { ...scope.env, ...started.env }
    const origin = setup.inbox ? "human" : "system"
    const gate = await hooks.gate("UserPromptSubmit", { prompt, origin }, from)
    if (gate.decision === "block") return gate.reasons.join("; ")
    injected.push(...gate.injected)
  }
  const reminder = planReminder(scope)
  const added = reminder === undefined ? injected : [...injected, reminder]
  const isOpened = !isNew && !(scope.agent.depth === 0 && scope.engine.session?.needsOpening)
  const { content, pins } = isOpened ? { content: [], pins: [] } : await assembleOpening(scope)
  const text = (text: string) => ({ type: "text" as const, text })
  const words = prompt === "" ? [] : [text(prompt)]
  conversation.append("user", [...content, ...words, ...added.map(text)], {
    ...(pins.length > 0 ? { pins } : {}),
    ...(words.length > 0 ? { said: [content.length] } : {}),
  })
  return undefined
}

/** What matters most, where all that a person asks for is a compaction. */
function commandOf({ identity, step }: AgentSetup): string | undefined {
  return identity.depth === 0 ? compactCommand(step.prompt) : undefined
}

interface Driven {
  scope: AgentScope
  conversation: Conversation
  model: Model
  shape: OutputShape | undefined
  submitted: () => { value: unknown } | undefined
  renew: () => void
}

async function drive(engine: Engine, setup: AgentSetup, driven: Driven): Promise<LoopResult> {
  const { scope, shape, submitted, conversation, model } = driven
  const { fallbackModel } = engine
  const focus = commandOf(setup)
  const loop = runLoop({
    scope,
    conversation,
    model,
    renew: driven.renew,
    maxTurns: setup.step.maxTurns ?? engine.limits.maxTurns,
    inbox: () => readInbox(scope, setup),
    fallback: async () => (fallbackModel === undefined ? undefined : await engine.openModel(fallbackModel)),
    ...(shape ? { output: { shape, submitted } } : {}),
    ...(focus === undefined ? {} : { compactOnly: focus }),
    ...(setup.step.compact === undefined ? {} : { compact: setup.step.compact }),
    ...(setup.verify ? { verify: setup.verify } : {}),
    ...(setup.step.attempts === undefined ? {} : { attempts: setup.step.attempts }),
  })
  for (;;) {
    const { done, value } = await loop.next()
    if (done) return value
    engine.emit(value, scope.agent)
  }
}

async function readInbox(scope: AgentScope, setup: AgentSetup): Promise<Heard> {
  const { hooks } = scope.engine
  const taken = setup.inbox?.() ?? []
  const heard: Heard = { said: [], told: scope.wakes.splice(0) }
  for (const prompt of taken) {
    const gate = await hooks.gate("UserPromptSubmit", { prompt, origin: "human" }, hookSource(scope))
    if (gate.decision === "block") {
      const message = `A hook blocked a queued message: ${gate.reasons.join("; ")}`
      scope.engine.emit({ type: "notice", level: "warning", message }, scope.agent)
    } else {
      scope.request += `\n\n${prompt}`
      heard.said.push(prompt)
      heard.told.push(...gate.injected)
    }
  }
  return heard
}

function emptyResult(stop: LoopStop, error: string): LoopResult {
  return { stop, error, text: "", turns: 0, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, usd: 0 }
}

function outcomeOf(scope: AgentScope, result: LoopResult): AgentOutcome {
  const { cause, says } = STOPS[result.stop]
  const denials = scope.denials.map(({ tool, reason }) => ({ tool, reason }))
  const { stop, text, usage, usd, turns } = result
  const outcome = { stop, text, usage, turns, denials, ...(usd === undefined ? {} : { usd }) }
  if (cause === undefined) return { ...outcome, result: { ok: true, value: result.value } }
  const error = result.error ?? says
  return { ...outcome, result: { ok: false, cause, error, ...(text === "" ? {} : { partial: text }) } }
}
