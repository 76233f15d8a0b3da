/**
 * The parts of a call against everything that may allow them: each part has to be covered, by whatever covers it.
 *
 * Invariant: allowing never guesses; a part of a kind that nobody covers is not covered.
 */

import { coverCommand } from "./cover-command.ts"
import { type Coverage, type Covered, coverPath } from "./coverage.ts"
import type { PermissionCall, PermissionFacts } from "./decision.ts"
import { looksOnly } from "./looks-only.ts"
import { fitsHost, namesOf } from "./refuse.ts"
import type { Unit, UrlUnit } from "./unit.ts"

/** How the whole call is covered; undefined when a part of it is not. */
export function coverAll(units: readonly Unit[], coverage: Coverage): Covered | undefined {
  if (units.length === 0) return coverCall(coverage)
  const covered = units.map((unit) => coverUnit(unit, coverage))
  if (covered.some((one) => one === undefined)) return undefined
  // Reading alone says nothing of a tool that also does what no target shows.
  if (!coverage.call.readOnly && units.every(isRead)) return coverCall({ ...coverage, classifier: false })
  return covered.find((one) => one?.rule) ?? {}
}

/** The parts that are not covered. */
export function uncovered(units: readonly Unit[], coverage: Coverage): Unit[] {
  return units.filter((unit) => coverUnit(unit, coverage) === undefined)
}

/** True when nothing in the call changes anything, wherever it reads. */
export function isReadOnlyCall(call: PermissionCall, units: readonly Unit[], facts: PermissionFacts): boolean {
  const commands = units.filter((unit) => unit.kind === "command")
  if (commands.length === 0) return call.readOnly
  return commands.length === units.length && commands.every((unit) => looksOnly(unit, facts))
}

function isRead(unit: Unit): boolean {
  return unit.kind === "path" && unit.access === "read"
}

/** A call without targets, which only its bare name stands for. */
function coverCall({ call, rules, flags, classifier, allow }: Coverage): Covered | undefined {
  const all = flags ? rules.allow.flags.find(({ kind }) => kind === "all") : undefined
  const rule = all ?? allow(namesOf(call)).find(({ bare }) => bare)
  if (rule) return { rule: rule.source }
  return classifier && call.readOnly ? {} : undefined
}

function coverUnit(unit: Unit, coverage: Coverage): Covered | undefined {
  if (unit.kind === "command") return coverCommand(unit, coverage)
  if (unit.kind === "path") return coverPath(unit, coverage)
  if (unit.kind === "url") return coverUrl(unit, coverage)
  const rule = coverage.allow(namesOf(coverage.call)).find((one) => one.name(unit.name))
  if (rule) return { rule: rule.source }
  // What outlives the conversation is left to the safety classifier where there is one.
  return coverage.call.keepsNotes && coverage.mode === "all" ? {} : coverCall(coverage)
}

function coverUrl({ host }: UrlUnit, coverage: Coverage): Covered | undefined {
  if (host === undefined) return undefined
  const flags = coverage.flags ? coverage.rules.allow.flags : []
  const flag = flags.find(({ kind, value }) => kind === "net" && (value === undefined || fitsHost(value, host)))
  if (flag) return { rule: flag.source }
  const rule = coverage.allow(namesOf(coverage.call)).find((one) => one.domain(host))
  return rule ? { rule: rule.source } : coverCall({ ...coverage, classifier: false })
}
