/**
 * The rules of a run → what a tool may ask about web addresses that it meets on its way: private hosts, redirects.
 *
 * Invariant: a wildcard names no host; what is asked here can make a tool stop, never lift what was decided.
 */
import type { ToolContext } from "../tool.ts"
import type { PermissionCall, RuleSource } from "./decision.ts"
import { cutPath } from "./path-pattern.ts"
import { fitsCall, fitsFlag, fitsHost, namesOf, refusesUnit } from "./refuse.ts"
import { compileGrant, type RuleSet } from "./rule.ts"
import { rulesFor } from "./rule-table.ts"
import type { CompiledRule } from "./specifier.ts"
import { hostOf, type UrlUnit } from "./unit.ts"

/** Answers for one call that may run; `call` and `grants` (those of its conversation) are made when they are needed. */
export function createWebRules(
  rules: RuleSet,
  call: () => PermissionCall,
  grants: () => readonly RuleSource[],
): NonNullable<ToolContext["web"]> {
  return {
    names: (host) => namesHost(rules, { names: namesOf(call()), grants: grants(), host }),
    guards: (url) => guardsUrl(rules, call(), urlUnit(url)),
  }
}

function namesHost(
  rules: RuleSet,
  { names, grants, host }: { names: readonly string[]; grants: readonly RuleSource[]; host: string },
): boolean {
  const isNamed = (value: string | undefined) => value !== undefined && !value.includes("*") && fitsHost(value, host)
  if (rules.allow.flags.some(({ kind, value }) => kind === "net" && isNamed(value))) return true
  const granted = grants.flatMap((grant) => compileGrant(grant, rules.anchors) ?? [])
  return [...rulesFor(rules.allow, names), ...orderedFor(rules, names), ...speakingOf(granted, names)].some(
    (rule) => rule.source.behavior === "allow" && !rule.specifier?.includes("*") && rule.domain(host) === true,
  )
}

function guardsUrl(rules: RuleSet, call: PermissionCall, unit: UrlUnit): boolean {
  const names = namesOf(call)
  const own = call.targets.flatMap((target) => (target.kind === "url" ? [urlUnit(target.url)] : []))
  const cwd = cutPath("/")
  const asked = orderedFor(rules, names).filter(({ source }) => source.behavior !== "allow")
  const open = [...rulesFor(rules.deny, names), ...rulesFor(rules.ask, names), ...asked].filter(
    (rule) => !fitsCall(rule, call) && !own.some((one) => refusesUnit(rule, one, names, cwd)),
  )
  return (
    open.some((rule) => refusesUnit(rule, unit, names, cwd)) || rules.deny.flags.some((flag) => fitsFlag(flag, unit))
  )
}

function orderedFor(rules: RuleSet, names: readonly string[]): CompiledRule[] {
  return rules.ordered.flatMap((scope) => speakingOf(scope.rules, names))
}

function speakingOf(rules: readonly CompiledRule[], names: readonly string[]): CompiledRule[] {
  return rules.filter((rule) => names.some((name) => rule.speaksOf(name)))
}

function urlUnit(url: string): UrlUnit {
  return { kind: "url", host: hostOf(url), text: url, target: { kind: "url", url } }
}
