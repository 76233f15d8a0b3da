/** One agent for each file of a glob: it changes the file as told, in place, until a command accepts the result. */
import { agent, each, recipe, sh, tool, z } from "sous"

export default recipe({
  name: "migrate",
  description: "Changes every file of a glob as told, one agent a file, and verifies each with a command",
  params: z.object({
    files: z.string().describe('glob of the files, such as "src/**/*.js"'),
    task: z.string().describe("what to change in each file"),
    verify: z.string().default("").describe("command that must succeed; $FILE names the file"),
    concurrency: z.coerce.number().int().positive().default(4).describe("files at once"),
    allowFailures: z.coerce.number().int().min(0).default(0).describe("files that may fail"),
  }),
  permissions: { allow: ["Edit(./**)"] },
})
  .step("list", ({ params }) => tool("Glob", { pattern: params.files }))
  .step("change", ({ params, list }) =>
    each(
      filesOf(list.data),
      (file) =>
        agent({
          prompt: `${params.task}\n\nDo it in the file ${file} and in no other. Read it first. Do nothing else.`,
          tools: ["Read", "Grep", "Edit", "Write"],
          ...(params.verify === "" ? {} : { verify: sh({ command: params.verify, env: { FILE: file } }) }),
        }),
      { key: (file) => file, concurrency: params.concurrency, allowFailures: params.allowFailures },
    ),
  )
  .output(({ list, change }) => ({
    files: filesOf(list.data).length,
    changed: change.values.length,
    failed: change.failed.map(({ key, error }) => ({ file: key, error })),
  }))

/** All files that Glob found; a list that was cut short would leave files behind without a word. */
function filesOf(data: unknown): string[] {
  const { files, truncated } = data as { files: string[]; truncated: boolean }
  if (truncated === true) throw new Error("The glob matches too many files: migrate them folder by folder")
  return files
}
