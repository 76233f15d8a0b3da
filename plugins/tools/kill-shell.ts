/**
 * KillShell: the id of a command in the background → the command ended, with everything it started.
 *
 * Invariant: it reaches only what this agent itself was allowed to start, so it needs no permission of its own.
 */
import { defineTool, z } from "sous"
import { findShell, stateOf } from "./background.ts"
import { answering } from "./refusal.ts"

const input = z.strictObject({ shell_id: z.string().describe("A bash_id") })

/** Ends a command in the background. */
export const killShellTool = defineTool({
  name: "KillShell",
  description: "End a background command.",
  input,
  readOnly: true,
  concurrencySafe: false,
  execute: answering(async ({ shell_id }: z.output<typeof input>, context) => {
    const shell = findShell(context, shell_id)
    if (shell.result !== undefined || shell.fault !== undefined) {
      return { content: `"${shell_id}" had ended before: ${stateOf(shell)}`, data: { state: stateOf(shell) } }
    }
    await shell.end()
    return { content: `"${shell_id}" was ended`, data: { state: stateOf(shell) } }
  }),
})
