/**
 * Plugins that take the place of others while an agent works → its tools, from its next turn on.
 *
 * Invariant: what an agent may use is narrowed as it was at its start; what was sent before is sent again byte for byte,
 * unless the tools did change, and that is said.
 */
import { selectTools } from "./agent-setup.ts"
import { declareTools } from "./context/assemble.ts"
import type { Conversation } from "./context/conversation.ts"
import type { Engine } from "./engine.ts"
import { isSousError } from "./error.ts"
import { offeredTools } from "./plan-mode.ts"
import type { AgentScope } from "./scope.ts"
import type { Tool } from "./tool.ts"

/** An agent whose tools may change. */
export interface Renewed {
  engine: Engine
  scope: AgentScope
  conversation: Conversation
  /** The tools that its step names; left out: all. */
  entries: readonly string[] | undefined
  /** Makes the tools of its scope of those that it was given. */
  finish(tools: ReadonlyMap<string, Tool>): ReadonlyMap<string, Tool>
}

/**
 * Keeps the plugins of an agent in use, and takes over others where a turn begins. A subagent goes on with what its
 * parent has, which waits for it.
 */
export function followPlugins(agent: Renewed): { renew(): void; release(): void } {
  const { plugins } = agent.engine
  let { age } = plugins
  let release = plugins.hold()
  return {
    release: () => release(),
    renew() {
      plugins.take()
      if (plugins.age === age || agent.scope.agent.depth > 0) return
      age = plugins.age
      const before = release
      release = plugins.hold()
      replaceTools(agent)
      before()
    },
  }
}

function replaceTools({ engine, scope, conversation, entries, finish }: Renewed): void {
  const before = scope.tools
  scope.tools = finish(select(engine, before, entries))
  if (!conversation.redeclare(declareTools(offeredTools(scope, engine)))) return
  const [gone, added] = [without(before, scope.tools), without(scope.tools, before)]
  const parts = [...said("added", added), ...said("removed", gone)]
  const message = `The tools of this agent changed (${parts.join("; ") || "what they say of themselves"}), so its next request is read without the cache`
  engine.emit({ type: "notice", level: "info", message }, scope.agent)
}

/** A tool that a step names may be gone by now. */
function select(
  engine: Engine,
  before: ReadonlyMap<string, Tool>,
  entries: Renewed["entries"],
): ReadonlyMap<string, Tool> {
  const { tools } = engine.registry
  try {
    return selectTools(engine, tools, entries).tools
  } catch (error) {
    if (!isSousError(error)) throw error
    const left = [...before.keys()].flatMap((name) => tools.get(name) ?? [])
    return selectTools(engine, new Map(left.map((tool) => [tool.name, tool])), undefined).tools
  }
}

function without(one: ReadonlyMap<string, Tool>, other: ReadonlyMap<string, Tool>): string[] {
  return [...one.keys()].filter((name) => !other.has(name))
}

function said(what: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${what} ${names.join(", ")}`]
}
