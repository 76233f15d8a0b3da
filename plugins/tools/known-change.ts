/**
 * A file as an agent knows it and as it is now → the lines that differ, where they are few.
 *
 * Invariant: all that changed, or nothing: half of a change would pass for the whole.
 */
import { structuredPatch } from "diff"

/** Lines that may differ, and characters of the whole. */
const MOST_LINES = 40
const MOST_CHARS = 3000

/** A small change. */
export interface Change {
  /** Hunks of a unified diff with one line around each. */
  text: string
  /** Lines at the start of the file that stayed as they were. */
  after: number
}

/** Compares two contents; undefined for a change that is too large to be shown, or no text. */
export function findChange(before: Buffer, now: Buffer): Change | undefined {
  const [old, text] = [before, now].map((bytes) => bytes.toString("utf8"))
  if (old === undefined || text === undefined || !isText(old) || !isText(text)) return undefined
  const patch = structuredPatch("", "", old, text, "", "", { context: 1, maxEditLength: MOST_LINES })
  const [first] = patch?.hunks ?? []
  if (patch === undefined || first === undefined) return undefined
  const hunks = patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    return [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join("\n")
  })
  const shown = hunks.join("\n")
  return shown.length > MOST_CHARS ? undefined : { text: shown, after: Math.max(0, first.newStart - 1) }
}

function isText(text: string): boolean {
  return !/[\0\uFFFD]/.test(text)
}
