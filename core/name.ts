/**
 * Wrong names and the right ones nearest to them, and characters in names that nobody sees.
 *
 * Invariant: nothing unknown is ignored or guessed at: it is refused with the name that was meant.
 */

/** The known name nearest to a wrong one, if any is near enough to be meant. */
export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  // The dashes of a flag are no letters that somebody got right.
  const letters = wrong.replace(/^-+/, "").length
  let bestDistance = Math.max(1, Math.floor(letters / 3)) + 1
  for (const name of known) {
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [name, distance]
  }
  return best
}

/** Controls, marks of direction, halves of characters: what nobody sees, and no guard should hang on. */
const HIDDEN =
  /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}\p{Surrogate}]/u

/** The first character of a rule or matcher that nobody sees, as `U+200B`. */
export function findHidden(text: string): string | undefined {
  const point = HIDDEN.exec(text)?.[0]?.codePointAt(0)
  return point === undefined ? undefined : `U+${point.toString(16).toUpperCase().padStart(4, "0")}`
}

/** Letters to add, drop, change or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = i > 1 && j > 1 && swapped ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1), swap)
    }
    before = row
    row = next
  }
  return row[b.length]!
}

/** Ends a mend with the nearest right name, or with the list of all. */
export function suggest(wrong: string, known: Iterable<string>): string {
  const names = [...known]
  const near = nearestName(wrong, names)
  if (near !== undefined) return `write "${near}"`
  return names.length === 0 ? "there are none to choose from" : `choose one of ${names.slice(0, 20).join(", ")}`
}
