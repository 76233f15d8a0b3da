/**
 * The permission rules in force and those read now → the rules of a run from here on.
 *
 * Invariant: a deny or ask rule that was in force stays; an allow rule that was not in force does not come.
 */
import { dirname } from "node:path"
import type { RuleSource } from "../permission/decision.ts"
import { SETTINGS_SCOPES, type SettingsScope } from "./merge.ts"

/** What became of the rules. */
export interface TightenedRules {
  next: RuleSource[]
  /** Guards that are new. */
  added: RuleSource[]
  /** What no longer allows. */
  removed: RuleSource[]
  /** Guards that are no longer in the settings. */
  kept: RuleSource[]
  /** What would allow more. */
  waiting: RuleSource[]
}

/** Adds guards and takes away what allows. `blocked`: scopes of which nothing is taken away. */
export function tightenRules(
  now: readonly RuleSource[],
  fresh: readonly RuleSource[],
  { blocked }: { blocked: ReadonlySet<SettingsScope> },
): TightenedRules {
  const [known, wanted] = [byKey(now), byKey(fresh)]
  const added = fresh.filter((rule) => isGuard(rule) && !known.has(keyOf(rule)))
  const stays = (rule: RuleSource) =>
    isGuard(rule) || wanted.has(keyOf(rule)) || blocked.has(rule.scope as SettingsScope)
  // A rule that is still there is known by the place where it stands now.
  const staying = now.filter(stays).map((rule) => wanted.get(keyOf(rule)) ?? rule)
  const plain = (rules: readonly RuleSource[]) => rules.filter(({ ordered }) => !ordered)
  return {
    next: [...plain(staying), ...plain(added), ...SETTINGS_SCOPES.flatMap((scope) => listOf(scope, staying, fresh))],
    added,
    removed: now.filter((rule) => !stays(rule)),
    kept: now.filter((rule) => isGuard(rule) && !wanted.has(keyOf(rule))),
    waiting: fresh.filter((rule) => !isGuard(rule) && !known.has(keyOf(rule))),
  }
}

function isGuard({ behavior }: RuleSource): boolean {
  return behavior !== "allow"
}

function byKey(rules: readonly RuleSource[]): Map<string, RuleSource> {
  return new Map(rules.map((rule) => [keyOf(rule), rule]))
}

/** Rules of one key mean the same, wherever in their file they stand. */
function keyOf({ text, behavior, ordered, scope, file }: RuleSource): string {
  // What `/x` starts from: in these scopes it is the file's own folder.
  const anchor = file !== undefined && (scope === "user" || scope === "cli") ? dirname(file) : ""
  return JSON.stringify([behavior, ordered === true, scope, anchor, text])
}

/**
 * The ordered list of a scope: in the order in which it was, with each new guard in front of the entry that follows it
 * in the file. A new question never comes in front of a refusal that it would soften.
 */
function listOf(scope: SettingsScope, staying: readonly RuleSource[], fresh: readonly RuleSource[]): RuleSource[] {
  const own = (rule: RuleSource) => rule.ordered === true && rule.scope === scope
  const list = staying.filter(own)
  const wanted = fresh.filter(own)
  const known = new Set(list.map(keyOf))
  for (const [index, rule] of wanted.entries()) {
    if (!isGuard(rule) || known.has(keyOf(rule))) continue
    const after = new Set(wanted.slice(index + 1).map(keyOf))
    const next = list.findIndex((one) => after.has(keyOf(one)))
    const place = next < 0 ? list.length : next
    const refusal = list.findLastIndex(({ behavior }) => behavior === "deny") + 1
    list.splice(rule.behavior === "ask" ? Math.max(place, refusal) : place, 0, rule)
    known.add(keyOf(rule))
  }
  return list
}
