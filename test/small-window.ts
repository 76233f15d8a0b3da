/**
 * A model with a small window and a tool that fills it: what tests of compaction and of reminders stand on.
 *
 * Invariant: none of the shipped strategies is among the plugins, so that a test says itself what shortens.
 */
import { defineTool, z } from "sous"
import { defaultPlugins } from "../plugins/default.ts"

/** Tokens of its window. */
export const WINDOW = 20_000
export const MODEL = "claude-tiny-1"
/** What the server says of it. */
export const LIMITS = { contextWindow: WINDOW, maxOutput: 4000 }
/** Options of a server that knows it. */
export const server = { models: { [MODEL]: LIMITS } }
/** The shipped plugins, without the ways to shorten that they bring. */
export const bare = defaultPlugins.filter((plugin) => plugin.compaction === undefined)

/** Comes back with so many words. */
export const look = defineTool({
  name: "Look",
  description: "Looks",
  input: z.strictObject({ words: z.int() }),
  readOnly: true,
  execute: async ({ words }) => "word ".repeat(words),
})
