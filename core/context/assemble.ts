/**
 * What stands before a conversation: the system text, the tools in a stable order, the context sources' first words.
 *
 * Invariant: for one scope it comes out the same every time; nothing in it depends on what was said.
 */

import type { Engine } from "../engine.ts"
import { reasonOf } from "../error.ts"
import type { TextBlockParam } from "../message.ts"
import type { ToolDeclaration } from "../model.ts"
import { within } from "../patience.ts"
import type { PermissionCall } from "../permission/decision.ts"
import { createReadGuard } from "../permission/read-guard.ts"
import type { ContextStart } from "../plugin.ts"
import type { AgentScope } from "../scope.ts"
import type { Tool } from "../tool.ts"
import { inputJsonSchema } from "../tool-input.ts"
import type { Pin } from "./history.ts"

/** Used when neither the call nor an agent definition brings a system prompt. */
export const SYSTEM_PROMPT = `You are an agent at work in a person's folder, with the tools you are given.
Look before you act: read what matters, then change as little as the task needs, then check the result.
Use several tools in one message when the calls do not depend on each other.
A denied call is an answer: do not try to reach the same end another way.
Say what you did and what you did not do, in a few plain sentences.`

/** The system text as one block with the cache breakpoint of the stable prefix. */
export function assembleSystem(base: string | undefined, appended: string | undefined): TextBlockParam[] {
  const text = [base ?? SYSTEM_PROMPT, appended].filter(Boolean).join("\n\n")
  return [{ type: "text", text, cache_control: { type: "ephemeral" } }]
}

/** The tools as the model is shown them, sorted by name. */
export function declareTools(tools: Iterable<Tool>): ToolDeclaration[] {
  return [...tools]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((tool) => ({ name: tool.name, description: tool.description, input_schema: inputJsonSchema(tool) }))
}

/** What of an agent the context sources are asked with. */
export type ContextScope = Pick<AgentScope, "agent" | "cwd" | "signal" | "startedIn" | "tools"> & {
  engine: Pick<Engine, "agents" | "contextPlaces" | "emit" | "places" | "registry" | "roots" | "rules">
}

/** What the context sources say before the prompt, and which of it is pinned. A source that fails is left out, and told. */
export async function assembleOpening(scope: ContextScope): Promise<{ content: TextBlockParam[]; pins: Pin[] }> {
  const { engine } = scope
  const start = contextStart(scope)
  const parts = await Promise.all(
    engine.registry.context.map(async (source) => {
      const text = await askSource(scope, source, async () => textOf(await source.start?.(start)))
      return text === undefined || text.trim() === "" ? [] : [{ text, source }]
    }),
  )
  const told = parts.flat()
  return {
    content: told.map(({ text }) => ({ type: "text", text })),
    pins: told.flatMap(({ source }, block) => (source.pinned ? [{ block, source: source.name }] : [])),
  }
}

function textOf(said: unknown): string | undefined {
  if (said === undefined || said === null || typeof said === "string") return said ?? undefined
  throw new Error(`it said something of the type ${typeof said}, and not a text`)
}

/** How long a source may take, ms. */
const PATIENCE_MS = 10_000

/** What a source says; undefined, and a warning, when it fails or hangs. That the run is stopped is no news. */
export async function askSource<T>(
  { engine, agent, signal }: Pick<ContextScope, "engine" | "agent" | "signal">,
  source: Pick<Registered, "name" | "plugin">,
  ask: () => Promise<T | undefined> | T | undefined,
): Promise<T | undefined> {
  try {
    return await within(PATIENCE_MS, `the context source ${source.name}`, ask)
  } catch (error) {
    if (signal.aborted) return undefined
    const message = `The context source "${source.name}" of plugin "${source.plugin}" failed: ${reasonOf(error)}`
    engine.emit({ type: "notice", level: "warning", message }, agent)
    return undefined
  }
}

type Registered = Engine["registry"]["context"][number]

/** Where and for whom a conversation is, as sources are told. */
export function contextStart(scope: ContextScope): ContextStart {
  const { engine } = scope
  const delegates = [...scope.tools.values()].some(({ role }) => role === "subagent")
  return {
    cwd: scope.cwd,
    startedIn: scope.startedIn,
    roots: engine.roots,
    signal: scope.signal,
    agents: delegates ? engine.agents : [],
    depth: scope.agent.depth,
    places: engine.contextPlaces,
    mayRead: createReadGuard(engine.rules, () => READING, { ...engine.places, cwd: scope.cwd, paths: new Map() }),
    warn: (message) => engine.emit({ type: "notice", level: "warning", message }, scope.agent),
  }
}

/** The call that a source's reading counts as: one that nothing was asked or answered about. */
const READING: PermissionCall = { tool: "", ruleName: "", input: {}, targets: [], readOnly: true }
