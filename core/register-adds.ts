/**
 * What a plugin adds → the same in words: for people, and to compare one start or one generation with the next.
 *
 * Invariant: the same contribution gives the same words in the same order.
 */
import { HOOKS, type HookEvent } from "./hook.ts"
import type { Contribution, Plugin } from "./plugin.ts"

/** All that it adds: `tool Read`, `hook PreToolUse`, `rule deny Bash(rm *)` … */
export function addsOf(contribution: Contribution): string[] {
  const named = (kind: string, list: { name: string }[] | undefined) =>
    (list ?? []).map(({ name }) => `${kind} ${name}`)
  const { permissions = {} } = contribution
  const rules = (["deny", "ask", "allow"] as const).flatMap((list) =>
    (permissions[list] ?? []).map((rule) => `rule ${list} ${rule}`),
  )
  const judges = (["classify", "safety"] as const).filter((key) => permissions[key] !== undefined)
  return [
    ...named("tool", contribution.tools),
    ...Object.keys(contribution.hooks ?? {}).map((event) => `hook ${event}`),
    ...rules,
    ...judges.map((key) => (key === "safety" ? "safety classifier" : "classifier")),
    ...named("model", contribution.models),
    ...named("agent", contribution.agents),
    ...named("recipe", contribution.recipes),
    ...named("context", contribution.context),
    ...named("compaction", contribution.compaction),
  ]
}

/** With what a plugin guards; its absence would let through what it was there to stop. */
export function guardsOf(plugin: Plugin | undefined, added: Contribution | undefined): string[] {
  // Also of one whose form is wrong: what it meant to guard is not guarded.
  const [hooks, permissions] = [added?.hooks ?? {}, added?.permissions ?? {}]
  const rules = (behavior: "deny" | "ask") => [permissions[behavior] ?? []].flat().map((rule) => `${behavior} ${rule}`)
  const gates = Object.entries(hooks).filter(([event]) => HOOKS[event as HookEvent]?.kind === "gate")
  return [
    ...rules("deny"),
    ...rules("ask"),
    ...gates.flatMap(([event, hook]) => [hook].flat().map((one) => `hook ${event}${matcherOf(one)}`)),
    ...(plugin?.required ? ["what it is required for"] : []),
  ]
}

function matcherOf(hook: unknown): string {
  const matcher = (hook as { matcher?: unknown } | null | undefined)?.matcher
  return matcher === undefined ? "" : `(${String(matcher)})`
}
