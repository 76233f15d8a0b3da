/**
 * The flags that say which conversation a prompt belongs to, as a table.
 *
 * Invariant: they are a prompt's; a recipe goes on with no conversation.
 */
import { SousError } from "../error.ts"

/** What was given of them. */
export interface SessionFlagValues {
  continue?: boolean
  /** True: none was named. */
  resume?: string | true
  fork?: boolean
}

export const SESSION_FLAGS = [
  { notation: "-c, --continue", sentence: "go on with the newest session of this folder", for: "prompt" as const },
  {
    notation: "-r, --resume [session]",
    sentence: "go on with a session: its id, the start of it, a file; without one: choose",
    for: "prompt" as const,
    parse: parseSession,
  },
  { notation: "--fork", sentence: "go on with a copy of that session", for: "prompt" as const },
]

/** The flags, as they can be written. */
export const SESSION_FLAG_NAMES: readonly string[] = SESSION_FLAGS.flatMap(
  ({ notation }) => notation.match(/--?[a-z]+/g) ?? [],
)

/** A prompt behind the flag would be taken for an id. */
function parseSession(text: string): string {
  if (!/\s/.test(text) || text.includes("/") || text.endsWith(".jsonl")) return text
  const wanted = "the id of a session, the start of one, or a file"
  const mend = `put the prompt first: sous "PROMPT" --resume`
  throw new SousError("CLI_VALUE_INVALID", { flag: "--resume", value: text, wanted, mend })
}
