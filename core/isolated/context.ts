/**
 * What a call may know and do besides its result: the tool's context, as far as it can be had from another process.
 *
 * Invariant: what a tool asks about rules is answered by the host, while the tool stands still; nothing of an answer is
 * guessed in here.
 */
import { readSync, writeSync } from "node:fs"
import { createNotebook } from "../notes.ts"
import { createDecoder, encodeFrame } from "../pack/isolate-frame.ts"
import type { CallContext, ChildMessage, SideQuestion } from "../pack/isolate-message.ts"
import type { Notebook, ToolContext } from "../tool.ts"

/** What all calls of this process share. */
export interface Surroundings {
  send(message: ChildMessage): void
  /** Descriptor of the channel for questions. */
  side: number
  /** What tools deferred to the end of their run, by number. */
  cleanups: (() => void | Promise<void>)[]
  states: AgentStates
}

/** What tools keep for each agent. */
export type AgentStates = (agent: string) => Map<symbol, unknown>

/** Agents whose state is kept, at most: the host does not say when one has ended. */
const MOST_AGENTS = 200

export function createAgentStates(): AgentStates {
  const states = new Map<string, Map<symbol, unknown>>()
  return (agent) => {
    const state = states.get(agent) ?? new Map<symbol, unknown>()
    states.delete(agent)
    states.set(agent, state)
    for (const oldest of states.keys()) {
      if (states.size <= MOST_AGENTS) break
      states.delete(oldest)
    }
    return state
  }
}

/** Notes live as long as the process: nothing of it is kept with the session. */
const NOTES = Symbol("notes")

/** The context of one call. */
export function toolContext(
  sent: CallContext,
  { id, signal, send, side, cleanups, states }: Surroundings & { id: number; signal: AbortSignal },
): ToolContext {
  const { judged, hasWeb, agents, ...plain } = sent
  const state = states(`${sent.sessionId}/${sent.agent.id}`)
  if (!state.has(NOTES)) state.set(NOTES, createNotebook())
  const ask = (about: SideQuestion["about"], value: string) => askHost(side, { id, about, value: String(value) })
  return {
    ...plain,
    agents,
    judged: new Map(judged),
    signal,
    mayRead: (path) => ask("mayRead", path),
    ...(hasWeb ? { web: { names: (host) => ask("namesHost", host), guards: (url) => ask("guardsUrl", url) } } : {}),
    setCwd: (path) => send({ type: "cwd", id, path: String(path) }),
    progress: (text) => send({ type: "progress", id, text: String(text) }),
    defer: (cleanup) => send({ type: "defer", id, cleanup: cleanups.push(cleanup) - 1 }),
    state<T>(key: symbol, create: () => T): T {
      if (!state.has(key)) state.set(key, create())
      return state.get(key) as T
    },
    notes: state.get(NOTES) as Notebook,
    subagent: async () => {
      throw new Error("A plugin in a process of its own cannot start a subagent")
    },
  }
}

/** Stands still until the host has answered. */
function askHost(side: number, question: SideQuestion): boolean {
  const frame = encodeFrame(question)
  for (let sent = 0; sent < frame.length; ) sent += writeSync(side, frame, sent)
  let answer: unknown
  const decoder = createDecoder((message) => {
    answer = message
  })
  const piece = Buffer.alloc(256)
  while (answer === undefined) {
    const length = readSync(side, piece)
    if (length === 0) throw new Error("The host is gone")
    // A copy: what is held until the rest comes must not be written over.
    decoder.push(Buffer.from(piece.subarray(0, length)))
  }
  return (answer as { answer: boolean }).answer
}
