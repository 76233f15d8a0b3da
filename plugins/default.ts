/**
 * The plugins that every start has, in the order of their registration: the table of contents of this folder.
 *
 * Invariant: a list and nothing else; each of them could be left out, or written by anybody.
 */
import type { Plugin } from "sous"
import agents from "./agents.ts"
import cut from "./compaction/cut.ts"
import micro from "./compaction/micro.ts"
import summary from "./compaction/summary.ts"
import environment from "./context/environment.ts"
import memory from "./context/memory.ts"
import anthropic from "./models/anthropic.ts"
import cassette from "./models/cassette.ts"
import script from "./models/script.ts"
import auto from "./permission/auto.ts"
import tools from "./tools/index.ts"

/** Plugins that a start has when its settings ask for them by name: `"plugins": ["sous/guard-secrets"]`. */
export const optionalPlugins = {
  "sous/guard-secrets": () => import("./hooks/guard-secrets.ts"),
  "sous/lint-after-edit": () => import("./hooks/lint-after-edit.ts"),
  "sous/notify": () => import("./hooks/notify.ts"),
  "sous/session-memory": () => import("./compaction/session-memory.ts"),
} as const satisfies Record<string, () => Promise<{ default: Plugin }>>

/** Models first, then what a conversation starts with, what it can do, who judges that, and how it is shortened. */
export const defaultPlugins: readonly Plugin[] = [
  script,
  cassette,
  anthropic,
  environment,
  memory,
  tools,
  agents,
  auto,
  micro,
  summary,
  cut,
]
