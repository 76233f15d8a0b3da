/**
 * A call → the parts that are judged one by one: simple commands, paths, hosts, names, and the call itself.
 *
 * Invariant: refusing needs one part, allowing needs all; a part that is not listed here is judged by nobody.
 */
import type { Target } from "../tool.ts"
import { analyseCommand } from "./command.ts"
import type { PermissionCall, PermissionFacts } from "./decision.ts"
import { absolutePaths, type Operand, operandsOf } from "./operand.ts"
import { createPlace, type Place } from "./place.ts"
import type { Analysis, Segment } from "./segment.ts"

/** A path that a call opens, and all places that it may be. */
export interface PathUnit extends Pick<Operand, "access" | "change" | "written" | "exact" | "recursive" | "loose"> {
  kind: "path"
  from: "tool" | Operand["from"]
  places: readonly Place[]
  target: Target
}

/** A shell command with the paths that it names. */
export interface CommandUnit {
  kind: "command"
  analysis: Analysis
  /** Of every segment, inner ones too. */
  paths: readonly PathUnit[]
  bySegment: ReadonlyMap<Segment, readonly PathUnit[]>
  target: Target
}

export interface UrlUnit {
  kind: "url"
  /** Lower case, without a last dot; undefined when it is no web address. */
  host: string | undefined
  text: string
  target: Target
}

export interface NameUnit {
  kind: "name"
  name: string
  target: Target
}

export type Unit = PathUnit | CommandUnit | UrlUnit | NameUnit

/** Takes the targets of a call apart. */
export function unitsOf(call: PermissionCall, facts: PermissionFacts): Unit[] {
  return call.targets.map((target): Unit => {
    if (target.kind === "command") return commandUnit(target, facts)
    if (target.kind === "url") return { kind: "url", host: hostOf(target.url), text: target.url, target }
    if (target.kind === "name") return { kind: "name", name: target.name, target }
    const { path, access } = target
    const resolved = facts.paths.get(path)
    const [lexical = path] = absolutePaths([facts.cwd], [path])
    const places = [createPlace(path, lexical, resolved)]
    const recursive = access === "read" && resolved?.directory === true && !call.skipsDenied
    return {
      kind: "path",
      from: "tool",
      access,
      change: false,
      written: path,
      exact: true,
      recursive,
      loose: false,
      places,
      target,
    }
  })
}

/** The paths of all units, those of commands included. */
export function pathsOf(units: readonly Unit[]): PathUnit[] {
  return units.flatMap((unit) => (unit.kind === "path" ? [unit] : unit.kind === "command" ? unit.paths : []))
}

function commandUnit(target: Target & { kind: "command" }, facts: PermissionFacts): CommandUnit {
  const analysis = analyseCommand(target.text, { cwd: facts.cwd, home: facts.home })
  const bySegment = new Map(analysis.all.map((segment) => [segment, segmentPaths(segment, facts, target)]))
  return { kind: "command", analysis, paths: [...bySegment.values()].flat(), bySegment, target }
}

/** The paths that one segment names. */
export function segmentPaths(segment: Segment, facts: PermissionFacts, target: Target): PathUnit[] {
  return operandsOf(segment)
    .filter(({ access, guesses }) => access !== "write" || !guesses.every((guess) => HARMLESS_WRITES.has(guess)))
    .map(({ guesses, emptied: _, ...operand }) => {
      // With an unknown folder the current one is as good a guess as any: for guards, it allows nothing.
      const bases = segment.bases ?? [facts.cwd]
      const sure = operand.exact && (segment.bases !== undefined || guesses.every((guess) => guess.startsWith("/")))
      const places = absolutePaths(bases, guesses).map((path) =>
        createPlace(operand.written, path, facts.paths.get(path)),
      )
      return { ...operand, kind: "path", exact: sure, places, target }
    })
}

const HARMLESS_WRITES = new Set(["/dev/null", "/dev/stdout", "/dev/stderr"])

function hostOf(url: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(url)
    return /^https?:$/.test(protocol) && hostname !== "" ? hostname.toLowerCase().replace(/\.$/, "") : undefined
  } catch {
    return undefined
  }
}
