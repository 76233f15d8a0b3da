/** Reviews what changed against a base, has every finding checked by a fresh agent, and writes a report. */
import { agent, each, recipe, sh, write, z } from "sous"

const Finding = z.object({
  file: z.string().describe("path from the project's root"),
  line: z.number().int().describe("line in the changed file"),
  problem: z.string().describe("what goes wrong, and for which input"),
  severity: z.enum(["high", "medium", "low"]),
})
const Verdict = z.object({
  real: z.boolean().describe("true only when the code shows it"),
  why: z.string().describe("the lines that show it, or what the finding missed"),
})

export default recipe({
  name: "review",
  description: "Reviews what changed against a base branch and verifies every finding",
  params: z.object({
    base: z.string().default("main").describe("branch or commit to compare with"),
    report: z.string().default("review.md").describe("file that the report goes to"),
  }),
  // A look at what changed needs no rule, and in a repository that makes git run its own programs it is asked about.
  permissions: { allow: ["Edit(./review.md)"] },
})
  .step("diff", ({ params }) => sh`git diff ${params.base} --`)
  .step(
    "find",
    ({ diff }) =>
      agent({
        prompt: [
          "Review this diff. Report only defects that a user would meet: wrong results, crashes, lost data, security.",
          "No style, no praise. Read the files around a change before you judge it. An empty list is a fine answer.",
          diff.stdout,
        ].join("\n\n"),
        tools: ["Read", "Glob", "Grep"],
        output: z.object({ findings: z.array(Finding) }),
      }),
    { when: ({ diff }) => diff.stdout.trim() !== "" },
  )
  .step("verify", ({ find }) =>
    each(
      find?.findings ?? [],
      (finding) =>
        agent({
          prompt: [
            "Somebody claims this defect. Try to refute it by reading the code; it stands only if you cannot.",
            JSON.stringify(finding, null, 2),
          ].join("\n\n"),
          tools: ["Read", "Glob", "Grep"],
          output: Verdict,
        }),
      { key: ({ file, line, problem }) => `${file}:${line} ${problem}`, concurrency: 4 },
    ),
  )
  .step("report", ({ find, params, verify }) => write(params.report, reportOf(find?.findings ?? [], verify.values)))
  .output(({ find, verify }) =>
    (find?.findings ?? []).flatMap((finding, index) => {
      const verdict = verify.values[index]!
      return verdict.real ? [{ ...finding, why: verdict.why }] : []
    }),
  )

function reportOf(findings: z.infer<typeof Finding>[], verdicts: z.infer<typeof Verdict>[]): string {
  const lines = findings.map((finding, index) => ({ finding, verdict: verdicts[index]! }))
  const section = (title: string, real: boolean) => [
    `## ${title}`,
    "",
    ...lines
      .filter(({ verdict }) => verdict.real === real)
      .map(
        ({ finding, verdict }) =>
          `- **${finding.severity}** ${finding.file}:${finding.line}: ${finding.problem}\n  ${verdict.why}`,
      ),
    "",
  ]
  return ["# Review", "", ...section("Confirmed", true), ...section("Refuted", false)].join("\n")
}
