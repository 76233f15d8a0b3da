/**
 * A simple command → whether it surely only reads: the table of programs, held against its very words.
 *
 * Invariant: what is not in the table, be it a program, an option or an abbreviation of one, is not read-only.
 */
import { HARMLESS_VARIABLES } from "./harmless.ts"
import type { Match } from "./program/match.ts"
import type { Effect, Option } from "./program/option-set.ts"
import { isGit, type Program, programOf } from "./program/table.ts"
import type { Segment } from "./segment.ts"
import type { ShellWord } from "./shell-word.ts"

export { HARMLESS_VARIABLES } from "./harmless.ts"

const cache = new WeakMap<Segment, boolean>()

/** True when it only reads the files that it names. Redirects are not looked at. */
export function isReadOnly(segment: Segment): boolean {
  let known = cache.get(segment)
  if (known === undefined) {
    known = decideReadOnly(segment)
    cache.set(segment, known)
  }
  return known
}

/** The row and the words of a program by which every word is understood; undefined when one is not. */
function decideReadOnly(segment: Segment): boolean {
  const { words, nested, opaque, changed, moved } = segment
  if (nested || opaque !== undefined || changed !== undefined || !setsHarmlessly(segment)) return false
  const [first] = words
  if (first === undefined) return true
  if (words.some((word) => word.value === undefined) || first.glob || /[/A-Z.]/.test(first.value!)) return false
  const program = programOf(words)
  if (program === undefined) return false
  if (program.name === "sed") return isSedPlain(program.match) && !words.some((word) => word.glob)
  // A repository's own configuration names programs, and after a move it may be anybody's.
  if (moved && isGit(program)) return false
  return isPlain(program, words)
}

/** True when its variables in front leave the command what it is. */
export function setsHarmlessly({ assignments }: Segment): boolean {
  return assignments.every(({ name, word }) => HARMLESS_VARIABLES.test(name) && word.value !== undefined)
}

const PLAIN_EFFECTS: ReadonlySet<Effect> = new Set(["plain", "read", "show", "hide"])

function isPlainOption({ effect, odd }: Option): boolean {
  return !odd && PLAIN_EFFECTS.has(effect)
}

function isPlainMatch({ strange, hits }: Match): boolean {
  return !strange && hits.every(({ option }) => isPlainOption(option))
}

function isPlain({ name, row, match, before, at }: Program, words: readonly ShellWord[]): boolean {
  const { plain } = row
  if (plain === undefined || !before.every(isPlainMatch)) return false
  // A glob may bring names that read as options, more files than one, and links to anywhere.
  if (!plain.glob && words.some((word) => word.glob)) return false
  if (name === "cd" && (words.length !== 2 || words[1]!.value === "-")) return false
  const known = isPlainMatch(match)
  if (match.operands.length > (plain.most ?? Infinity)) return false
  if (plain.test === undefined) return known
  const operands = known ? match.operands.map((word) => word.value!) : undefined
  return plain.test(
    operands,
    words.slice(at + 1).map((word) => word.value!),
  )
}

/** True when no word that is added to the command makes it write or run anything. */
export function staysReadOnly(segment: Segment): boolean {
  return isReadOnly(segment) && programOf(segment.words)?.row.plain?.fed === true
}

/** True for a program that opens no file which it names, so that a glob in its last part is only listed. */
export function onlyLists({ words }: Segment): boolean {
  return programOf(words)?.row.plain?.glob === true
}

/** True for a program that looks through the folders among its operands, links in them followed. */
export function opensFolders({ words }: Segment): boolean {
  return programOf(words)?.row.plain?.flat === true
}

/** Only scripts that print or drop lines: `sed -n '1,20p'`, `sed '/x/d'`, `sed 's/a/b/g'`. */
function isSedPlain(match: Match): boolean {
  if (!isPlainMatch(match) || match.hits.some(({ option }) => option.effect === "read")) return false
  return sedScripts(match).every(isPlainSed)
}

/** The scripts of a command of `sed`, by its words. */
export function sedScripts({ hits, operands }: Match): string[] {
  const given = hits.flatMap(({ option, value }) => (option.pattern ? [value?.value ?? ""] : []))
  return given.length > 0 ? given : [operands[0]?.value ?? ""]
}

const SED_PLACE = "(?:\\d+|\\$|/[^/\\\\\\n]*/)"
const SED_LINES = new RegExp(`^(?:${SED_PLACE}(?:,${SED_PLACE})?)?!?[pdq=]$`)
const SED_REPLACE = /^s(?:\/[^/\\\n]*\/[^/\\\n]*\/|\|[^|\\\n]*\|[^|\\\n]*\||#[^#\\\n]*#[^#\\\n]*#)[gIip0-9]*$/

/** True for a sed script that can neither write a file nor run a command. */
export function isPlainSed(script: string): boolean {
  return script.split(";").every((part) => SED_LINES.test(part.trim()) || SED_REPLACE.test(part.trim()))
}

/** True for xargs and its like, which add words that are not known. */
export function feedsWords({ words }: Segment): boolean {
  return programOf(words)?.row.runs?.feeds === true
}
