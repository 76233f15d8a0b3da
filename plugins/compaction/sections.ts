/**
 * The sections of a text that stands for a conversation: what they are, and which of them a text lacks.
 *
 * Invariant: a section is there only when it says something, even if that is "none".
 */

/** Each section, with what it is to say. */
export const SECTIONS: Readonly<Record<string, string>> = {
  Goal: "what the person wants in the end",
  Constraints: "what the person asked for or ruled out, in their words",
  Files: "paths that were read, changed or matter, and what is in them",
  Decisions: "what was decided, and why",
  Errors: "what went wrong, with the message, and how it was solved or that it was not",
  "Open tasks": "what is still to be done",
  "Next step": "the very next thing to do, exactly",
}

/** The headings, one a line, each with what it is to say. */
export function headings(): string {
  return Object.entries(SECTIONS)
    .map(([name, what]) => `## ${name}\n(${what}; "none" if there is nothing)`)
    .join("\n")
}

/** The sections that a text does not have, or leaves empty. */
export function lacking(text: string): string[] {
  const filled = new Set<string>()
  let current: string | undefined
  for (const line of text.split("\n")) {
    const [, name, rest] = HEADING.exec(line) ?? []
    if (name !== undefined) current = name.toLowerCase()
    if (current !== undefined && /[\p{L}\p{N}]/u.test(rest ?? line)) filled.add(current)
  }
  return NAMES.filter((name) => !filled.has(name.toLowerCase()))
}

const NAMES = Object.keys(SECTIONS)
/** `## Goal`, `**Goal**`, `## 1. Goal: …`; the last group is what follows on the line. */
const HEADING = new RegExp(`^\\s*(?:#+|\\*\\*)[\\s\\d.*]*(${NAMES.join("|")})(?![\\p{L}\\p{N}])(.*)$`, "iu")
