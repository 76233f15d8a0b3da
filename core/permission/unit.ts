/**
 * A call → the parts that are judged one by one: simple commands, paths, hosts, names, and the call itself.
 *
 * Invariant: refusing needs one part, allowing needs all; a part that is not listed here is judged by nobody.
 */
import type { Target } from "../tool.ts"
import { analyseCommand } from "./command.ts"
import type { DecidedTarget, PermissionCall, PermissionFacts } from "./decision.ts"
import { absolutePaths, type Operand, operandsOf } from "./operand.ts"
import { createPlace, type Place } from "./place.ts"
import type { Analysis, Segment } from "./segment.ts"

/** A path that a call opens, and all places that it may be. */
export interface PathUnit
  extends Pick<Operand, "access" | "change" | "written" | "exact" | "listed" | "recursive" | "loose" | "steers"> {
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
    return pathUnit(target, call, facts)
  })
}

/** What the call only hints at: for guards, and nothing that has to be allowed. */
export function hintsOf(call: PermissionCall, facts: PermissionFacts): PathUnit[] {
  const paths = (call.hints ?? []).filter((target) => target.kind === "path")
  return paths.map((target) => ({ ...pathUnit(target, call, facts), recursive: false, loose: true }))
}

function pathUnit(target: Target & { kind: "path" }, call: PermissionCall, facts: PermissionFacts): PathUnit {
  const { path, access } = target
  const resolved = facts.paths.get(path)
  const [lexical = path] = absolutePaths([facts.cwd], [path])
  const isFiltered = call.skipsDenied === true && facts.filtersReads === true
  return {
    kind: "path",
    from: "tool",
    access,
    change: false,
    written: path,
    exact: true,
    listed: true,
    recursive: access === "read" && resolved?.directory === true && !isFiltered,
    loose: false,
    places: [createPlace(path, lexical, { resolved, cwd: facts.cwd })],
    target,
  }
}

/** A path as what decided: of a command, the operand or the redirect. */
export function targetOfPath({ from, access, written, target }: PathUnit): DecidedTarget {
  return from === "tool" ? target : { kind: "path", access, path: written, part: from }
}

/** A simple command as what decided; when it is all there is, the command as it was written. */
export function targetOfSegment(segment: Segment, { analysis, target }: CommandUnit): DecidedTarget {
  const written = segment.tails[0] ?? segment.words.map(({ raw }) => raw).join(" ")
  const isAll = analysis.all.length === 1 || written === "" || written === analysis.text.trim()
  return isAll ? target : { kind: "command", text: written, part: "segment" }
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
  // With an unknown folder the current one is as good a guess as any: for guards, it allows nothing.
  const bases = segment.bases ?? [facts.cwd]
  const isThere = (path: string) => {
    const found = facts.paths.get(path)
    return found?.file === true || found?.directory === true
  }
  const paths: PathUnit[] = []
  for (const { guesses, emptied: _, top, unless, ...operand } of operandsOf(segment)) {
    const harmless = operand.access === "write" || operand.from === "redirect" ? HARMLESS[operand.access] : undefined
    if (harmless && guesses.every((guess) => harmless.has(guess))) continue
    if (unless && absolutePaths(bases, unless).some(isThere)) continue
    const sure = operand.exact && (segment.bases !== undefined || guesses.every((guess) => guess.startsWith("/")))
    const from = top
      ? [...bases, ...facts.roots.filter((root) => bases.some((base) => base.startsWith(`${root}/`)))]
      : bases
    const places = absolutePaths(from, guesses).map((path) =>
      createPlace(operand.written, path, { resolved: facts.paths.get(path), cwd: bases[0] ?? facts.cwd }),
    )
    const recursive = operand.recursive && !(places.length > 0 && places.every(({ file }) => file))
    paths.push({ ...operand, kind: "path", exact: sure, recursive, places, target })
  }
  return paths
}

/** Files that hold nothing, and keep nothing. */
const HARMLESS = {
  read: new Set(["/dev/null"]),
  write: new Set(["/dev/null", "/dev/stdout", "/dev/stderr"]),
}

/** The host of a web address, in lower case and without a last dot; undefined when it is no web address. */
export function hostOf(url: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(url)
    return /^https?:$/.test(protocol) && hostname !== "" ? hostname.toLowerCase().replace(/\.$/, "") : undefined
  } catch {
    return undefined
  }
}
