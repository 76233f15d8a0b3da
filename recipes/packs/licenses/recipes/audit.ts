/** Lists licenses that nobody agreed to, and has an agent say for each what it asks of the project. */
import { agent, recipe, tool, z } from "sous"

interface Found {
  packages: number
  problems: { name: string; version: string; license: string }[]
}

export default recipe({
  name: "audit",
  description: "Finds installed packages whose license nobody has agreed to, and says what each asks of the project",
  params: z.object({
    allow: z.array(z.string()).optional().describe("SPDX ids that are agreed to, instead of the usual ones"),
  }),
})
  .step("find", ({ params }) => tool("Licenses", params.allow === undefined ? {} : { allow: params.allow }))
  .step(
    "explain",
    ({ find }) =>
      agent({
        prompt: [
          "These packages have a license that nobody has agreed to. Say for each, in one sentence, what it asks of a",
          "project that ships it, and whether package.json names the package itself or another one brings it.",
          JSON.stringify((find.data as Found).problems, null, 2),
        ].join("\n"),
        tools: ["Read", "Grep"],
        output: z.object({ notes: z.array(z.object({ name: z.string(), note: z.string() })) }),
      }),
    { when: ({ find }) => (find.data as Found).problems.length > 0 },
  )
  .output(({ find, explain }) => ({ ...(find.data as Found), notes: explain?.notes ?? [] }))
