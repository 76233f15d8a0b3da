/**
 * The shipped tools: files, search, the shell and the web, in the order in which they are listed.
 *
 * Invariant: each is data and one file; what they share among them lies beside them, never in the kernel.
 */
import { definePlugin } from "sous"
import { bashTool } from "./bash.ts"
import { bashOutputTool } from "./bash-output.ts"
import { editTool } from "./edit.ts"
import { exitPlanModeTool } from "./exit-plan-mode.ts"
import { globTool } from "./glob.ts"
import { grepTool } from "./grep.ts"
import { killShellTool } from "./kill-shell.ts"
import { notebookEditTool } from "./notebook-edit.ts"
import { readTool } from "./read.ts"
import { webFetchTool } from "./web-fetch.ts"
import { writeTool } from "./write.ts"

export default definePlugin({
  name: "tools",
  tools: [
    readTool,
    editTool,
    writeTool,
    notebookEditTool,
    globTool,
    grepTool,
    bashTool,
    bashOutputTool,
    killShellTool,
    webFetchTool,
    exitPlanModeTool,
  ],
})
