/**
 * A pack as it is locked, and as it would be → what is new, what is gone, and whether it may do more than before.
 *
 * Invariant: a guard that goes counts as more, too; two versions with the same content differ in nothing.
 */
import type { LockEntry } from "./lock-shape.ts"
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
  if (isSwapped(before, after))
    added.unshift({ mark: "alert", text: `${after.resolved} is not what it was: other bytes, same version` })
  return { added, removed, grows: added.some(({ mark }) => mark !== "guard") || removed.some(isGuard) }
}

/** What was published once is never published again with other bytes, unless somebody tampers with it. */
function isSwapped(before: LockEntry, after: LockEntry): boolean {
  const isSame = before.version === after.version && before.resolved === after.resolved
  return isSame && /^https?:/.test(after.resolved) && before.integrity !== after.integrity
}

/** Hooks and handlers may be there to hold something back. */
function isGuard({ mark, text }: PackLine): boolean {
  return mark === "guard" || /^(?:on |its plugins look at)/.test(text)
}

function without(lines: readonly PackLine[], others: readonly PackLine[]): PackLine[] {
  const known = new Set(others.map(({ text }) => text))
  return lines.filter(({ text }) => !known.has(text))
}
