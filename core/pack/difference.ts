/**
 * A pack as it is locked, and as it would be → what is new, what is gone, and whether it may do more than before.
 *
 * Invariant: a guard that goes counts as more, too; two versions with the same content differ in nothing.
 */
import { isWeb, type LockEntry } from "./lock-shape.ts"
import { describeEntry, type PackLine } from "./words.ts"

/** What an update changes. */
export interface PackDifference {
  added: PackLine[]
  removed: PackLine[]
  /** It may do more than a person has agreed to, or holds back less. */
  grows: boolean
}

/** Compares two entries of one pack. */
export function compareEntries(name: string, before: LockEntry, after: LockEntry): PackDifference {
  const [old, fresh] = [describeEntry(name, before), describeEntry(name, after)]
  const added = without(fresh, old)
  const removed = without(old, fresh)
  added.unshift(...tamperLines(before, after))
  return { added, removed, grows: added.some(({ mark }) => mark !== "guard") || removed.some(isGuard) }
}

/** What no version by itself explains: other bytes under the same name, and bytes from elsewhere. */
function tamperLines(before: LockEntry, after: LockEntry): PackLine[] {
  const old = before.dependencies ?? {}
  const dependencies = Object.entries(after.dependencies ?? {}).map(([at, one]) => [old[at], one] as const)
  const pairs = [[before.tree === "" ? undefined : before, after] as const, ...dependencies]
  return pairs.flatMap(([was, is]): PackLine[] => {
    if (was === undefined) return []
    const [from, to] = [originOf(was.resolved), originOf(is.resolved)]
    const moved = from === to ? [] : [`${is.resolved} comes from ${to}, and before it came from ${from}`]
    const swapped = isSwapped(was, is) ? [`${is.resolved} is not what it was: other bytes, same version`] : []
    return [...swapped, ...moved].map((text) => ({ mark: "alert", text }))
  })
}

type Archive = Pick<LockEntry, "version" | "resolved" | "integrity">

/** What was published once is never published again with other bytes, unless somebody tampers with it. */
function isSwapped(before: Archive, after: Archive): boolean {
  const isSame = before.version === after.version && before.resolved === after.resolved
  return isSame && isWeb(after.resolved) && before.integrity !== after.integrity
}

/** Of an archive its host; of a repository, a folder or a file on this disk where it lies. */
function originOf(resolved: string): string {
  return isWeb(resolved) ? new URL(resolved).origin : resolved.replace(/#.*$/s, "")
}

/** Hooks and handlers may be there to hold something back. */
function isGuard({ mark, text }: PackLine): boolean {
  return mark === "guard" || /^(?:on |its plugins look at)/.test(text)
}

function without(lines: readonly PackLine[], others: readonly PackLine[]): PackLine[] {
  const known = new Set(others.map(({ text }) => text))
  return lines.filter(({ text }) => !known.has(text))
}
