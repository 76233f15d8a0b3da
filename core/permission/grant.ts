/**
 * What persons and hosts have allowed while a run goes on: for a conversation, for a step of it, for the project.
 *
 * Invariant: a grant is an allow rule and no more, so that it beats no ask or deny rule; a subagent has none of its
 * parent's but those of the project.
 */
import type { Grantee, GrantReach, RuleSource } from "./decision.ts"

/** The grants of one run. */
export interface Grants {
  /** Those that count for whoever makes a call. */
  of(grantee: Grantee): readonly RuleSource[]
  /** Adds rules, so far as they are new there; returns these. */
  add(grantee: Grantee, reach: GrantReach, rules: readonly string[]): readonly RuleSource[]
}

/** Nothing is remembered: each question is asked anew. */
export const NO_GRANTS: Grants = { of: () => [], add: () => [] }

/** Makes grants, none yet. `now`: ms since the epoch. */
export function createGrants(options: { now(): number }): Grants {
  const project: RuleSource[] = []
  const conversations = new Map<string, RuleSource[]>()
  const steps = new Map<string, RuleSource[]>()
  return {
    of(grantee) {
      const own = conversations.get(grantee.id) ?? []
      const step = steps.size === 0 ? [] : stepKeys(grantee).flatMap((key) => steps.get(key) ?? [])
      return step.length === 0 && project.length === 0 ? own : [...own, ...step, ...project]
    },
    add(grantee, reach, rules) {
      const list = listOf(grantee, reach)
      const granted = new Date(options.now()).toISOString()
      const scope = reach === "project" ? "local" : "session"
      const fresh = [...new Set(rules)].filter((text) => !list.some((rule) => rule.text === text))
      const added = fresh.map((text): RuleSource => ({ text, behavior: "allow", scope, granted }))
      list.push(...added)
      return added
    },
  }

  function listOf(grantee: Grantee, reach: GrantReach): RuleSource[] {
    if (reach === "project") return project
    const path = reach === "step" ? (grantee.each ?? grantee.step) : undefined
    const [lists, key] = path === undefined ? [conversations, grantee.id] : [steps, stepKey(grantee, path)]
    if (!lists.has(key)) lists.set(key, [])
    return lists.get(key)!
  }
}

/** Agents of one kind at a step share its grants: main agents among themselves, subagents with those of their type. */
function stepKey({ depth, type }: Grantee, path: string): string {
  return `${depth === 0 ? "" : type}\0${path}`
}

/** The step of an agent and all that hold it; the keys of items may have slashes of their own. */
function stepKeys(grantee: Grantee): string[] {
  const { step } = grantee
  if (step === undefined) return []
  const keys = [stepKey(grantee, step)]
  for (let end = step.lastIndexOf("/"); end > 0; end = step.lastIndexOf("/", end - 1)) {
    keys.push(stepKey(grantee, step.slice(0, end)))
  }
  return keys
}
