/**
 * A command or a path → why no agent may do this at all, whatever rules, hooks and modes say.
 *
 * Invariant: small and not configurable; guesses count, so that a variable, a wrapper or a symlink changes nothing. A
 * word that could be anything is no guess: what is asked about elsewhere is not denied here.
 */
import { clip } from "./clip.ts"
import type { DecidedTarget, PermissionFacts } from "./decision.ts"
import { floorOfDelete, floorOfRights } from "./floor-delete.ts"
import { floorOfProgram } from "./floor-program.ts"
import { absolutePaths, type Operand, operandsOf, withoutGlob } from "./operand.ts"
import { cutPath, type PathParts } from "./path-pattern.ts"
import { createPlace, isBelow, type Place } from "./place.ts"
import type { Analysis, Segment } from "./segment.ts"
import { splitWords } from "./shell-word.ts"
import { once } from "./specifier.ts"
import { targetOfSegment, type Unit } from "./unit.ts"
import { programName } from "./wrapper.ts"

/** Why the command crosses the floor, and the part that does. */
export interface FloorHit {
  reason: string
  segment?: Segment
  /** The file that would be written, and how the command names it. */
  file?: Pick<Operand, "written" | "from">
}

/** A simple command, read once for all that look at it. */
export interface FloorCommand {
  segment: Segment
  /** Its words, those that fall apart at blanks cut. */
  words: ReturnType<typeof splitWords>
  /** The program without its folder. */
  name: string
  /** The other words, as they may turn out. */
  args: readonly string[]
  analysis: Analysis
  facts: PermissionFacts
}

/** Looks at every command and every file that would be written. `target`: the part that crosses the floor. */
export function floorOfUnits(
  units: readonly Unit[],
  facts: PermissionFacts,
): { reason: string; target: DecidedTarget } | undefined {
  for (const unit of units) {
    const hit = unit.kind === "command" ? floorOfCommand(unit.analysis, facts) : floorOfTool(unit, facts)
    if (hit !== undefined) return { reason: hit.reason, target: targetOf(hit, unit) }
  }
  return undefined
}

function targetOf({ file, segment }: FloorHit, unit: Unit): DecidedTarget {
  if (file) return { kind: "path", access: "write", path: file.written, part: file.from }
  return segment && unit.kind === "command" ? targetOfSegment(segment, unit) : unit.target
}

function floorOfTool(unit: Unit, facts: PermissionFacts): FloorHit | undefined {
  if (unit.kind !== "path" || unit.access !== "write") return undefined
  for (const place of unit.places) {
    const reason = floorOfWrite(place, unit.change, facts)
    if (reason !== undefined) return { reason: `it writes "${clip(unit.written)}": ${reason}` }
  }
  return undefined
}

/** Looks at every command in it, inner ones too. */
export function floorOfCommand(analysis: Analysis, facts: PermissionFacts): FloorHit | undefined {
  if (analysis.forkBomb) return { reason: "it is a fork bomb" }
  const moved = once(() => mayHaveMovedTo(analysis))
  for (const segment of analysis.all) {
    const placed = segment.bases ? segment : { ...segment, bases: moved() }
    const hit = floorOfSegment(placed, analysis, facts)
    if (hit !== undefined) return { ...hit, segment }
  }
  return undefined
}

/** Where a command stands whose folder is not known: the absolute folders that its moves may name. */
function mayHaveMovedTo({ all }: Analysis): string[] {
  const moves = all.filter(({ words }) => /^(?:cd|pushd|chdir)$/.test(programName(words)))
  return [...new Set(moves.flatMap(({ words }) => words.slice(1).flatMap(({ guesses }) => absolutePaths([], guesses))))]
}

/** Looks at a path that would be written. `change`: it would be removed, moved or get other rights. */
export function floorOfWrite(place: Place, change: boolean, facts: PermissionFacts): string | undefined {
  if (touchesState(place, change, facts)) return STATE
  const folder = systemFolder(place, facts)
  return folder === undefined ? undefined : `${folder} belongs to the system`
}

const STATE = "the state of sous, its trust store and managed settings are its own"

function floorOfLink(place: Place, facts: PermissionFacts): string | undefined {
  return touchesState(place, true, facts) ? STATE : undefined
}

function floorOfSegment(segment: Segment, analysis: Analysis, facts: PermissionFacts): FloorHit | undefined {
  const words = splitWords(segment.words)
  const args = words.slice(1).map((word) => word.guesses[0]!)
  const command: FloorCommand = { segment, words, name: programName(words), args, analysis, facts }
  const reason = floorOfProgram(command) ?? floorOfDelete(command) ?? floorOfRights(command)
  return reason === undefined ? floorOfFiles(segment, facts) : { reason }
}

function floorOfFiles(segment: Segment, facts: PermissionFacts): FloorHit | undefined {
  for (const operand of operandsOf(segment)) {
    // A link to a place is a second name for it, under which it could be written.
    const isLinked = operand.access !== "write" && programName(segment.words) === "ln"
    if (operand.access !== "write" && !isLinked) continue
    // Empty, a variable in front leaves another folder; behind a folder it names something in it, whatever it is.
    if (operand.emptied && !/^(?:[\w-]+=)?["']?\//.test(operand.written)) continue
    for (const place of placesOf(operand, segment, facts)) {
      const reason = isLinked ? floorOfLink(place, facts) : floorOfWrite(place, operand.change, facts)
      const does = isLinked ? "links to" : "writes"
      if (reason !== undefined) return { reason: `it ${does} "${clip(operand.written)}": ${reason}`, file: operand }
    }
  }
  return undefined
}

function placesOf(operand: Operand, segment: Segment, facts: PermissionFacts): Place[] {
  return absolutePaths(segment.bases, operand.guesses).map((path) => {
    return createPlace(operand.written, withoutGlob(path), { resolved: facts.paths.get(path), cwd: facts.cwd })
  })
}

function touchesState(place: Place, change: boolean, facts: PermissionFacts): boolean {
  const folders = (facts.stateFolders ?? []).map(cutPath)
  return place.spellings.some((path) => {
    return folders.some((folder) => isBelow(path, folder, "refuse") || (change && isBelow(folder, path, "refuse")))
  })
}

const SYSTEM = [
  "/etc",
  "/boot",
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/sys",
  "/proc",
  "/dev",
  "/private/etc",
  "/System",
].map(cutPath)
const HARMLESS = /^\/dev\/(?:null|stdout|stderr|tty|fd(?:\/\d+)?)$/

function systemFolder(place: Place, facts: PermissionFacts): string | undefined {
  if (HARMLESS.test(place.lexical)) return undefined
  const named = [facts.roots[0] ?? "/", ...(facts.namedRoots ?? [])].filter((root) => root !== "/").map(cutPath)
  const isOwn = (path: PathParts) => named.some((root) => isBelow(path, root))
  const hit = place.spellings.flatMap((path) =>
    isOwn(path) ? [] : SYSTEM.filter((one) => isBelow(path, one, "refuse")),
  )[0]
  return hit && `/${hit.allow.join("/")}`
}
