/**
 * A simple command → whether the mode for edits lets it pass: a few file commands, on paths inside the working folders.
 *
 * Invariant: options come from a list, and every path is known, exact and strictly below a root.
 */
import type { PermissionFacts } from "./decision.ts"
import { cutPath } from "./path-pattern.ts"
import { isInside, readableFolders } from "./place.ts"
import { programOf } from "./program/table.ts"
import { isPlainSed, sedScripts, setsHarmlessly } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { PathUnit } from "./unit.ts"

/** By program, the options that change nothing but how. */
const TABLE: Readonly<Record<string, ReadonlySet<string>>> = {
  mkdir: set("-p -v -m --parents --verbose --mode"),
  touch: set("-a -c -m --no-create"),
  rm: set("-r -R -f -d -v --recursive --force --verbose --dir"),
  rmdir: set("-p -v --parents --verbose"),
  mv: set("-f -n -v -u --force --no-clobber --verbose --update"),
  cp: set("-r -R -a -p -f -n -v -u --recursive --archive --force --no-clobber --verbose --update"),
  sed: set("-i -n -E -r -s -e --in-place --regexp-extended --quiet --silent --expression"),
}

function set(names: string): ReadonlySet<string> {
  return new Set(names.split(" "))
}

/** `paths`: the files of the segment. */
export function coversByMode(segment: Segment, paths: readonly PathUnit[], facts: PermissionFacts): boolean {
  const { words, nested, opaque, changed } = segment
  const name = words[0]?.value ?? ""
  if (nested || opaque !== undefined || changed !== undefined || !Object.hasOwn(TABLE, name)) return false
  if (words.some((word) => word.value === undefined || word.glob) || !setsHarmlessly(segment)) return false
  const match = programOf(words)?.match
  if (match === undefined || match.strange || !match.hits.every((hit) => TABLE[name]!.has(hit.name))) return false
  // A suffix keeps the old file under a name that nobody sees here.
  if (
    name === "sed" &&
    (match.hits.some((hit) => hit.value && !hit.option.pattern) || !sedScripts(match).every(isPlainSed))
  )
    return false
  const { operands } = match
  // `cp -r x/. .` brings names along that nobody sees here.
  if (operands.some((word) => /(?:^|\/)\.$/.test(word.value!) && /^(?:cp|mv)$/.test(name) && word !== operands.at(-1)))
    return false
  const files = paths.filter(({ from, loose }) => from === "operand" && !loose)
  return (
    files.length > 0 &&
    files.every((path) => path.exact && path.places.every((place) => staysInside(place, path, facts)))
  )
}

function staysInside(place: PathUnit["places"][number], { access, change }: PathUnit, facts: PermissionFacts): boolean {
  if (!isInside(place, access === "read" ? readableFolders(facts) : facts.roots)) return false
  const roots = facts.roots.map(cutPath)
  return (
    !change ||
    place.known.every(
      (path) =>
        !roots.some(
          (root) => root.allow.every((part, i) => path.allow[i] === part) && root.allow.length === path.allow.length,
        ),
    )
  )
}
