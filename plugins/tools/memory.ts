/**
 * Memory: notes that agents keep for later conversations in a project, and the index of them at the start of each.
 *
 * Invariant: what does the work is loaded when there is some; a project without notes costs a start one look at the disk.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type ContextSource, defineTool } from "sous"
import { INDEX, type MemoryInput, memoryInput } from "./memory-input.ts"
import { answering } from "./refusal.ts"

/** Keeps notes. */
export const memoryTool = defineTool({
  name: "Memory",
  description: `Notes for your later conversations in this project: what was hard to find out, no secrets. ${INDEX} is shown at their start: an index, short; detail in other notes.`,
  input: memoryInput,
  role: "memory",
  readOnly: ({ command }: MemoryInput) => command === "view",
  concurrencySafe: false,
  targets: ({ name = INDEX }) => [{ kind: "name", name: name.replace(/\.md$/, "") }],
  execute: answering(async (input: MemoryInput, context) => {
    const { runMemory } = await import("./memory-command.ts")
    return await runMemory(input, context)
  }),
})

/** Tells a conversation what the index says; not that of a subagent. */
export const memorySource: ContextSource = {
  name: "auto-memory",
  pinned: true,
  async start({ depth, places, mayRead }) {
    const folder = join(places.state, "memory")
    if (depth > 0 || !places.memory.auto || !existsSync(folder)) return undefined
    const { describeMemory } = await import("./memory-command.ts")
    return await describeMemory(folder, mayRead)
  },
}
