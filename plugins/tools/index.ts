/**
 * The shipped tools: files, search, the shell, the web and an agent's own notes, in the order in which they are listed;
 * and what a conversation is told of their notes.
 *
 * Invariant: each is data and one file; what they share among them lies beside them, never in the kernel.
 */
import { definePlugin } from "sous"
import { bashTool } from "./bash.ts"
import { bashOutputTool } from "./bash-output.ts"
import { editTool } from "./edit.ts"
import { exitPlanModeTool, planSource } from "./exit-plan-mode.ts"
import { filesSource } from "./files-source.ts"
import { globTool } from "./glob.ts"
import { grepTool } from "./grep.ts"
import { killShellTool } from "./kill-shell.ts"
import { memorySource, memoryTool } from "./memory.ts"
import { notebookEditTool } from "./notebook-edit.ts"
import { readTool } from "./read.ts"
import { taskSource, todoWriteTool } from "./tasks.ts"
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
    todoWriteTool,
    memoryTool,
    exitPlanModeTool,
  ],
  context: [memorySource, taskSource, planSource, filesSource],
})
