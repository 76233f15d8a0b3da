/**
 * What the table of commands says about one of them, and the flags that many share.
 *
 * Invariant: data only.
 */
import { FLAGS, type Flag } from "../settings/flag.ts"

/** One command. */
export interface CommandRow {
  /** Its arguments, in the notation of the command-line library. */
  args: string
  usage: string
  sentence: string
  examples: readonly string[]
  /** The flags that it takes, in the order of the help. */
  flags: readonly Flag[]
  /** For an example of what is missing: what its first argument is, and how many it takes at least and at most. */
  takes: { what: string; least: number; most: number; example: string }
}

/** For commands whose answer a machine may read. */
export const json: readonly Flag[] = [{ group: "Output", notation: "--json", sentence: "JSON on stdout, for machines" }]

/** Where settings come from, for commands that run no agent. */
export const settings: readonly Flag[] = FLAGS.filter(({ group }) => group === "Settings")
