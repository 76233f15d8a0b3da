/** Works on a project until its test command passes: read, edit, run, again. */
import { agent, recipe, sh, until, z } from "sous"

export default recipe({
  name: "green",
  description: "Works on a project until its test command passes",
  params: z.object({
    cmd: z.string().default("npm test").describe("command that must succeed"),
    max: z.coerce.number().int().positive().default(5).describe("attempts at most"),
    hint: z.string().default("").describe("anything the agent should know"),
  }),
  permissions: { allow: ["Edit(./**)", "Bash(npm test)", "Bash(npm test *)"] },
})
  .step(
    "green",
    ({ params }) =>
      until(
        sh({ command: params.cmd, ok: "any" }),
        ({ check, round }) =>
          agent({
            prompt: [
              `\`${params.cmd}\` fails with exit code ${check.code} (attempt ${round} of ${params.max}).`,
              "Find the cause in the code and mend it there. Change a test only when it is plainly wrong, and say so.",
              params.hint,
              `Its output ends with:\n${tail(check.stdout)}\n${tail(check.stderr)}`,
            ]
              .filter(Boolean)
              .join("\n\n"),
            tools: ["Read", "Glob", "Grep", "Edit", "Write", "Bash"],
          }),
        { max: params.max, holds: (check) => check.code === 0 },
      ),
    { title: "until the command passes" },
  )
  .output(({ green, params }) =>
    green.rounds === 0 ? `\`${params.cmd}\` passed already` : `\`${params.cmd}\` passes after attempt ${green.rounds}`,
  )

/** The end of an output, where the cause usually stands. */
function tail(text: string): string {
  return text.length > 6000 ? `…${text.slice(-6000)}` : text
}
