/**
 * A command, path or address of any length → what a sentence shows of it.
 *
 * Invariant: whoever reads a reason gets a sentence, and never half a character.
 */

/** Characters of a command or path that a sentence shows. */
const MAX_SHOWN = 300

/** The text, cut behind its first 300 characters. */
export function clip(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).replace(/[\uD800-\uDBFF]$/, "")}…` : text
}
