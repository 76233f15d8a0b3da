/**
 * The plugins that every start has, in the order of their registration: the table of contents of this folder.
 *
 * Invariant: a list and nothing else; each of them could be left out, or written by anybody.
 */
import type { Plugin } from "sous"
import agents from "./agents.ts"
import cut from "./compaction/cut.ts"
import environment from "./context/environment.ts"
import anthropic from "./models/anthropic.ts"
import cassette from "./models/cassette.ts"
import script from "./models/script.ts"
import tools from "./tools/index.ts"

/** Models first, then what a conversation starts with, then what it can do, then how it is shortened. */
export const defaultPlugins: readonly Plugin[] = [script, cassette, anthropic, environment, tools, agents, cut]
