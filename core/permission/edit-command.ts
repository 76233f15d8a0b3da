/**
 * A simple command → whether the mode for edits lets it pass: a few file commands, on paths inside the working folders.
 *
 * Invariant: options come from a list, and every path is known, exact and strictly below a root.
 */
import type { PermissionFacts } from "./decision.ts"
import { type ReadOnlySpec, readsOf } from "./option.ts"
import { cutPath } from "./path-pattern.ts"
import { isInside, readableFolders } from "./place.ts"
import { HARMLESS_VARIABLES, isPlainSed } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { PathUnit } from "./unit.ts"

const TABLE: Readonly<Record<string, ReadOnlySpec>> = {
  mkdir: { flags: "pv", valued: "m", long: "parents verbose" },
  touch: { flags: "acm", long: "no-create" },
  rm: { flags: "rRfdv", long: "recursive force verbose" },
  rmdir: { flags: "pv" },
  mv: { flags: "fnvu", long: "force no-clobber verbose" },
  cp: { flags: "rRapfnvu", long: "recursive archive force no-clobber verbose" },
  sed: { flags: "inErs", long: "in-place regexp-extended quiet silent" },
}

/** `paths`: the files of the segment. */
export function coversByMode(segment: Segment, paths: readonly PathUnit[], facts: PermissionFacts): boolean {
  const { words, assignments, nested, opaque } = segment
  const name = words[0]?.value ?? ""
  if (nested || opaque !== undefined || !Object.hasOwn(TABLE, name)) return false
  if (words.some((word) => word.value === undefined || word.glob)) return false
  if (assignments.some(({ name: variable, word }) => !HARMLESS_VARIABLES.test(variable) || word.value === undefined))
    return false
  const operands = readsOf(words.slice(1), TABLE[name]!)
  if (operands === undefined || (name === "sed" && !isPlainSed(operands[0]?.value ?? ""))) return false
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
