/** Events of a made-up run, without the fields that no renderer reads. */
import type { EventBody, RunEvent, RunResult } from "sous"

const usage = { input: 900, output: 100, cacheRead: 11_000, cacheWrite: 0 }

export function event(body: EventBody, place: { step?: string; agent?: string } = {}): RunEvent {
  return { v: 1, ts: new Date().toISOString(), run: "r1", ...place, ...body }
}

export function toolUse(
  id: string,
  input: unknown,
  place: { step?: string; agent?: string } = { agent: "a1" },
): RunEvent {
  return event({ type: "tool_use", id, name: "Bash", input }, place)
}

export function toolResult(id: string, preview: string, options: { isError?: boolean; agent?: string } = {}): RunEvent {
  const { isError = false, agent = "a1" } = options
  const chars = preview.length
  return event({ type: "tool_result", id, name: "Bash", isError, chars, preview, durationMs: 2100 }, { agent })
}

export function stepStarted(id: string, kind: string, items?: number): RunEvent {
  return event({ type: "step_started", id, kind, title: "", ...(items === undefined ? {} : { items }) })
}

export function stepFinished(id: string, kind: string, error?: string): RunEvent {
  const failure = error === undefined ? {} : { failure: { cause: "tool" as const, error } }
  return event({ type: "step_finished", id, kind, ok: !error, durationMs: 1500, usage, preview: "", ...failure })
}

export function result(changes: Partial<RunResult> = {}): RunResult {
  return {
    run: "r1",
    recipe: "review",
    status: "ok",
    exit: 0,
    steps: [],
    usage,
    usd: 0.0123,
    turns: 4,
    durationMs: 12_300,
    denials: [],
    tolerated: 0,
    folder: "/state",
    ...changes,
  }
}
