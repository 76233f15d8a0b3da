/**
 * BashOutput: the id of a command in the background → what it has printed since it was last read, and how it stands.
 *
 * Invariant: reading moves a mark and nothing else; the file keeps all of the output.
 */
import { defineTool, z } from "sous"
import { findShell, stateOf } from "./background.ts"
import { answering } from "./refusal.ts"

const input = z.strictObject({ bash_id: z.string() })

/** Reads the new output of a command in the background. */
export const bashOutputTool = defineTool({
  name: "BashOutput",
  description: "Read what a background command has printed since the last read, and whether it still runs.",
  input,
  readOnly: true,
  execute: answering(async ({ bash_id }: z.output<typeof input>, context) => {
    const shell = findShell(context, bash_id)
    // Before the output is read: what an ended command printed is then complete.
    const state = stateOf(shell)
    const output = (await shell.readNew()).trimEnd() || "(no new output)"
    const code = shell.result?.code
    return { content: `${output}\n[${state}]`, data: { state, path: shell.path, ...(code == null ? {} : { code }) } }
  }),
})
