/**
 * What the compiler says about recipes: results flow from step to step, and what does not fit does not compile.
 *
 * Checked by `tsc`, never run: each `@ts-expect-error` fails the check when its line does compile.
 */
import type { Each, Recipe, ShResult, StepResult, UntilResult } from "sous"
import { agent, each, parallel, pipeline, recipe, script, sh, tool, until, use, value, write, z } from "sous"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function is<_T extends true>(): void {}
type OutputOf<R> = R extends Recipe<any, infer O, any> ? O : never

const Finding = z.object({ file: z.string(), line: z.number(), problem: z.string() })
const Verdict = z.object({ real: z.boolean(), why: z.string() })

/** The recipe of the design, letter by letter. */
export const review = recipe({
  name: "review",
  description: "Reviews what changed against a base branch and verifies every finding",
  params: z.object({ base: z.string().default("main").describe("branch to compare with") }),
  permissions: { allow: ["Read", "Grep", "Bash(git diff *)"] },
  budget: { usd: 1.5, turns: 120, minutes: 20 },
  on: { change: ["src/**/*.ts"] },
})
  .step("diff", ({ params }) => sh`git diff ${params.base}...HEAD`)
  .step("find", ({ diff }) =>
    agent({ prompt: `Review this diff:\n${diff.stdout}`, output: z.object({ findings: z.array(Finding) }) }),
  )
  .step("verify", ({ find }) =>
    each(
      find.findings,
      (f) => agent({ prompt: `Is this real? ${JSON.stringify(f)}`, tools: ["Read", "Grep"], output: Verdict }),
      { key: (f) => `${f.file}:${f.line}`, concurrency: 4 },
    ),
  )
  .output(({ verify }) => verify.values.filter((v) => v.real))
is<Equal<OutputOf<typeof review>, z.output<typeof Verdict>[]>>()

const start = recipe({ name: "start", description: "The start of a recipe", params: z.object({ n: z.number() }) }).step(
  "diff",
  ({ params }) => {
    is<Equal<typeof params, { n: number }>>()
    return sh`git diff`
  },
)

// Each kind gives its result.
start
  .step("text", () => agent({ prompt: "Say something" }))
  .step("shaped", () => agent({ prompt: "Say something", output: Verdict, verify: (answer) => value(answer.real) }))
  .step("loose", () => agent({ prompt: "Say something", output: { type: "object" } }))
  .step("called", () => tool("Read", { file_path: "a" }))
  .step("all", () => each(["a", "b"], (file, index) => sh`head -n ${index.toFixed()} ${file}`))
  .step("both", () => parallel({ one: sh`true`, two: value(2) }))
  .step("piped", () =>
    pipeline(
      ["a"],
      (file) => sh`cat ${file}`,
      (cat, file) => agent({ prompt: `${file}: ${cat.stdout}`, output: Verdict }),
      { key: (file) => file },
    ),
  )
  .step("green", () =>
    until(sh`npm test`, ({ check, round }) => agent({ prompt: `${round}: ${check.stderr}` }), {
      max: 3,
      holds: (check) => check.code === 0,
    }),
  )
  .step("written", () => write("out.md", "text"))
  .step("used", () => use(review, { base: "dev" }))
  .step("code", () => script(async (step) => (await step.agent({ prompt: "?", output: Verdict })).real))
  .step("either", ({ diff }) => (diff.code === 0 ? value("none") : value(1)))
  .output((all) => {
    is<Equal<typeof all.diff, ShResult>>()
    is<Equal<typeof all.text, string>>()
    is<Equal<typeof all.shaped, z.output<typeof Verdict>>>()
    is<Equal<typeof all.loose, unknown>>()
    is<Equal<typeof all.called, { text: string; data?: unknown }>>()
    is<Equal<typeof all.all, Each<ShResult>>>()
    is<Equal<typeof all.both, { one: ShResult; two: number }>>()
    is<Equal<typeof all.piped, Each<z.output<typeof Verdict>>>>()
    is<Equal<typeof all.green, UntilResult<ShResult>>>()
    is<Equal<typeof all.written, { path: string }>>()
    is<Equal<typeof all.used, z.output<typeof Verdict>[]>>()
    is<Equal<typeof all.code, boolean>>()
    is<Equal<typeof all.either, string | number>>()
  })

// A builder is the recipe so far: it can be exported, used and given to a plugin as it is.
is<Equal<OutputOf<typeof start>, ShResult>>()
export const asRecipes: Recipe[] = [start, review]
start.step("nested", () => use(start, { n: 1 })).output(({ nested }) => nested.stdout)

// A tolerated failure has a type of its own; a step that may be skipped may be null.
start
  .step("risky", () => agent({ prompt: "Try", output: Verdict }), { onFail: "continue" })
  .step("sometimes", () => value(1), { when: ({ params }) => params.n > 1 })
  .output(({ risky, sometimes }) => {
    is<Equal<typeof risky, StepResult<z.output<typeof Verdict>>>>()
    is<Equal<typeof sometimes, number | null>>()
    // @ts-expect-error the value cannot be read before `ok` was looked at
    risky.value
    return risky.ok ? risky.value.real : risky.cause
  })

// @ts-expect-error an unknown step
start.step("next", ({ dif }) => value(dif))

// @ts-expect-error a step that comes later
start.step("next", ({ later }) => value(later)).step("later", () => value(1))

// @ts-expect-error a repeated id
start.step("diff", () => value(1))

// @ts-expect-error the id of the parameters
start.step("params", () => value(1))

// @ts-expect-error a wrong field of a command's result
start.step("next", ({ diff }) => value(diff.stdin))

// @ts-expect-error a wrong parameter
start.step("next", ({ params }) => value(params.m))

// @ts-expect-error no declaration
start.step("next", () => "echo")

// @ts-expect-error a declaration that is still a promise
start.step("next", async () => value(1))

// @ts-expect-error a wrong field of an item
start.step("next", () => each([{ a: 1 }], (item) => value(item.b)))

// @ts-expect-error a wrong option
agent({ prompt: "Hello", promt: "?" })

// @ts-expect-error no prompt
agent({ output: Verdict })

// @ts-expect-error a wrong option of a step
start.step("next", () => value(1), { onFail: "ignore" })

// @ts-expect-error a parameter that the sub-recipe does not have
start.step("next", () => use(review, { bse: "dev" }))

// @ts-expect-error a parameter that the sub-recipe needs
start.step("next", () => use(start, {}))

pipeline(
  ["a"],
  (file) => value(file.length),
  // @ts-expect-error the second stage gets a number
  (length) => value(length.stdout),
)

// @ts-expect-error a head without a description
recipe({ name: "bare" })
