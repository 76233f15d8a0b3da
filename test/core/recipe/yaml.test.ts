import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import { agent, recipe, sh, use, z } from "../../../core/index.ts"
import { parseRecipe } from "../../../core/recipe/yaml.ts"
import { recipeFileSchema } from "../../../core/recipe/yaml-schema.ts"
import { testRun } from "./engine.ts"

const parse = (text: string) => parseRecipe(text, { file: "r.yaml" })
const head = "name: test\n"
/** Runs a recipe of steps with parameters. */
async function runYaml(
  text: string,
  params: Record<string, unknown> = {},
  options: Parameters<typeof testRun>[0] = {},
) {
  const test = testRun(options)
  return { ...test, result: await test.run(await parse(head + text), { params }) }
}
async function faultOf(text: string): Promise<{ code: string; message: string; mend: string }> {
  const error = await parse(text).then(
    () => undefined,
    (reason) => reason,
  )
  if (!isSousError(error)) throw new Error(`no coded error, but ${String(error)}`)
  return { code: error.code, message: error.message, mend: error.mend }
}

describe("parseRecipe()", () => {
  it("reads the recipe of the design, and it runs until the command passes", async () => {
    const made = await parse(`name: green
params: { cmd: { type: string, default: npm test } }
steps:
  - id: fix
    until: { sh: "\${{ params.cmd }}" }
    max: 5
    agent:
      prompt: |
        Make the tests pass. Last output:
        \${{ check.stderr }}
      tools: [Read, Edit, "Bash(npm test*)"]
`)
    expect(made).toMatchObject({ kind: "recipe", name: "green", description: "" })
    const asked: unknown[] = []
    const { run, cwd } = testRun({
      agent: async ({ kind: _, ...step }) => {
        asked.push(step)
        await writeFile(join(cwd, "done"), "")
        return ""
      },
    })
    const result = await run(made, { params: { cmd: "test -e done || { echo 'no $HOME' >&2; false; }" } })
    expect(result).toMatchObject({ status: "ok", output: { rounds: 1, check: { code: 0 } } })
    expect(asked).toEqual([
      { prompt: "Make the tests pass. Last output:\nno $HOME\n\n", tools: ["Read", "Edit", "Bash(npm test*)"] },
    ])
  })

  it("makes every kind of step", async () => {
    const inner = await parse(
      "name: inner\nparams: { x: integer }\nsteps: [{ id: a, value: '${{ params.x * 2 }}' }]\noutput: '${{ a }}'",
    )
    const { result, cwd, ended } = await runYaml(
      `
params:
  who: string
  files: { type: array, default: [x, y] }
steps:
  - id: hello
    sh: echo \${{ params.who }}
  - id: say
    agent: Say \${{ hello.stdout }}
  - id: shaped
    agent: { prompt: p, output: { ok: boolean, list: [{ n: integer }], note?: string } }
  - id: called
    tool: { name: Shell, input: { command: echo "a b", timeout: 5 } }
  - id: all
    each: { items: "\${{ params.files }}", key: "k-\${{ item }}", concurrency: 1 }
    sh: echo \${{ item }} \${{ index }}
  - id: both
    parallel:
      one: { value: 1 }
      two: { sh: printf two }
  - id: piped
    pipeline:
      items: [a, b]
      stages:
        - sh: printf %s-1 \${{ item }}
        - sh: printf %s-2-%s \${{ previous.stdout }} \${{ item }}
  - id: skipped
    when: \${{ size(params.files) > 5 }}
    sh: exit 1
  - id: risky
    onFail: continue
    sh: { command: exit 3, ok: [0] }
  - id: file
    write: { path: "out/\${{ params.who }}.txt", text: "\${{ json(both.one) }} \${{ both }}" }
  - id: used
    use: { recipe: inner, params: { x: "\${{ shaped.list[0].n + 1 }}" } }
output:
  say: \${{ say }}
  count: \${{ size(all.values) }}
  lines: \${{ all.values.map(v, v.stdout) }}
  called: \${{ called.text }}
  piped: \${{ piped.values[1].stdout }}
  skipped: \${{ skipped == null }}
  risky: '\${{ risky.ok ? "fine" : risky.cause }}'
  code: \${{ risky.partial.code }}
  used: \${{ used }}
  text: "\${{ used }} and \${{ all.failed }}"
`,
      { who: "a'b $(id)" },
      {
        recipes: [inner],
        agent: (step) =>
          step.output ? { ok: true, value: { ok: true, list: [{ n: 4 }] } } : `<${step.prompt.trim()}>`,
      },
    )
    expect(result).toMatchObject({ status: "degraded", tolerated: 1 })
    expect(result.output).toEqual({
      say: "<Say a'b $(id)>",
      count: 2,
      lines: ["x 0\n", "y 1\n"],
      called: "a b\n",
      piped: "b-1-2-b",
      skipped: true,
      risky: "tool",
      code: 3,
      used: 10,
      text: "10 and []",
    })
    expect(ended()).toContain("all/k-x ok")
    expect(JSON.parse((await readFile(join(cwd, "out/a'b $(id).txt"), "utf8")).slice(2))).toMatchObject({ one: 1 })
  })

  it("wraps each around until around a step", async () => {
    const { result, ended } = await runYaml(`
steps:
  - id: all
    each: [a, b]
    until: { sh: "test -e \${{ item }}" }
    max: 2
    sh: touch \${{ item }}
output: \${{ all.values.map(v, v.rounds) }}
`)
    expect(result.output).toEqual([1, 1])
    expect(ended()).toContain("all/a/round/1 ok")
  })

  it("hands the answer to the verify step of an agent", async () => {
    const { result } = await runYaml(
      `
steps:
  - id: a
    agent: { prompt: p, attempts: 2, verify: { sh: "test \${{ answer }} = yes" } }
`,
      {},
      { agent: async (step, { verify }) => `${step.attempts} ${await verify?.("no")} ${await verify?.("yes")}` },
    )
    expect(result.output).toMatch(/^2 .*exited with 1.* undefined$/s)
  })

  it("asks `holds` whether the check is good", async () => {
    const { result } = await runYaml(`
steps:
  - id: a
    until: { sh: { command: exit 7, ok: any } }
    holds: \${{ check.code == 7 }}
    value: never
`)
    expect(result.output).toMatchObject({ rounds: 0 })
  })

  it("keeps what a head says", async () => {
    const made = await parse(`
name: full
description: All of it
permissions: { allow: [Read], deny: ["Bash(rm *)"] }
budget: { usd: 1.5, turns: 3 }
on: { change: ["src/**"] }
model: haiku
agents: [{ name: helper, description: Helps, prompt: Help }]
steps: [{ id: a, title: First, budget: { turns: 1 }, value: 1 }]
`)
    const { steps, ...rest } = made
    expect(rest).toEqual({
      kind: "recipe",
      name: "full",
      description: "All of it",
      permissions: { allow: ["Read"], deny: ["Bash(rm *)"] },
      budget: { usd: 1.5, turns: 3 },
      on: { change: ["src/**"] },
      model: "haiku",
      agents: [{ name: "helper", description: "Helps", prompt: "Help" }],
    })
    expect(steps[0]).toMatchObject({ id: "a", title: "First", budget: { turns: 1 }, onFail: "stop" })
  })

  it("makes the declarations that the constructors make", async () => {
    const made = await parse(
      `${head}steps: [{ id: a, sh: "ls \${{ params }}" }, { id: b, agent: { prompt: "\${{ a.code }}", maxTurns: "\${{ 2 + 1 }}" } }]`,
    )
    const scope = { params: { x: 1 }, a: { stdout: "", stderr: "", code: 4 } }
    expect(() => made.steps[0]!.make(scope)).toThrow(expect.objectContaining({ code: "SH_VALUE_INVALID" }))
    expect(made.steps[1]!.make(scope)).toEqual(agent({ prompt: "4", maxTurns: 3 }))
  })
})

describe("params in YAML", () => {
  it("have short and long forms, defaults and descriptions", async () => {
    const made = await parse(`${head}
params:
  name: string
  count: { type: integer, default: 3, description: how many }
  mode: { enum: [fast, slow], default: fast }
  tags: string[]
  extra: { type: number, required: false }
  deep: { a: string, "b?": [integer] }
steps: [{ id: a, value: "\${{ params }}" }]
`)
    const { run } = testRun()
    const params = { name: "n", tags: ["t"], deep: { a: "x" } }
    expect((await run(made, { params })).output).toEqual({ ...params, count: 3, mode: "fast" })
    for (const wrong of [{ count: 1.5 }, { mode: "x" }, { tags: "t" }, { deep: {} }, { deep: { a: "x", c: 1 } }]) {
      await expect(testRun().run(made, { params: { ...params, ...wrong } })).rejects.toMatchObject({
        code: "PARAM_INVALID",
      })
    }
  })
})

describe("output in YAML", () => {
  const outputOf = async (output: string) => {
    const made = await parse(`${head}steps: [{ id: a, agent: { prompt: p, output: ${output} } }]`)
    return (made.steps[0]!.make({ params: {} }) as ReturnType<typeof agent>).output as any
  }

  it("is a short form, or JSON Schema passed on as it is", async () => {
    expect((await outputOf("{ type: object, properties: { a: { type: string } } }")).properties).toEqual({
      a: { type: "string" },
    })
    expect((await outputOf("{ type: string, name: string }")).safeParse({ type: "a", name: "b" }).success).toBe(true)
    expect((await outputOf("[{ file: string, line: integer }]")).safeParse([{ file: "a", line: 1 }]).success).toBe(true)
    expect(
      (await outputOf("{ real: boolean, why: { type: string, description: In a word } }")).toJSONSchema(),
    ).toMatchObject({
      properties: { why: { description: "In a word" } },
      additionalProperties: false,
    })
  })
})

describe("expressions", () => {
  it("keep their type when they are the whole text, and are text or JSON in a text", async () => {
    const { result } = await runYaml(
      `
params: { n: number, list: array, o: object, s: string, none: { type: any, required: false } }
steps:
  - id: a
    value:
      n: \${{ params.n + 1 }}
      half: \${{ params.n / 2 }}
      whole: \${{ 7 / 2 }}
      list: \${{ params.list }}
      index: \${{ params.list[params.n - 1] }}
      text: "<\${{ params.n }} \${{ params.o }} \${{ params.s }} \${{ null }} \${{ true }}>"
      map: "\${{ {'a': {'b': 1}} }}"
      literal: $\${{ params.n }}
      brace: \${{ "}}" }}
      lines: \${{ lines("a\\nb\\n") }}
      replaced: \${{ params.s.replace("x", "$&") }}
      parsed: \${{ fromJson("[1]")[0] }}
      time: \${{ duration("90s") }}
      nested: ["\${{ params.n }}", 5]
`,
      { n: 3, list: [1, "b", null], o: { k: [1] }, s: "x" },
    )
    expect(result.output).toEqual({
      n: 4,
      half: 1.5,
      whole: 3,
      list: [1, "b", null],
      index: null,
      text: '<3 {"k":[1]} x null true>',
      map: { a: { b: 1 } },
      literal: "${{ params.n }}",
      brace: "}}",
      lines: ["a", "b"],
      replaced: "$&",
      parsed: 1,
      time: "90s",
      nested: [3, 5],
    })
  })

  it("that fail when they run name themselves and why", async () => {
    const { result } = await runYaml(`steps: [{ id: a, value: "\${{ fromJson('{') }}" }]`)
    expect(result.failure).toMatchObject({
      step: "a",
      code: "EXPRESSION_FAILED",
      error: /^The expression "fromJson\('\{'\)" failed: /,
    })
  })

  it.each([
    ["a step that does not exist", "value: ${{ dif.stdout }}", 'names the unknown step "dif"', 'write "diff"'],
    ["a step that comes later", "value: ${{ later }}", 'the unknown step "later"', 'move the step "later" before'],
    ["the step itself", "value: ${{ here }}", 'the unknown step "here"', ""],
    ["a parameter", "value: ${{ params.bas }}", 'the unknown parameter "bas"', 'write "base"'],
    ["a field of a parameter", "value: ${{ params.deep.y }}", 'the unknown field "y"', 'write "x"'],
    ["a field of a text", "value: ${{ params.base.length }}", 'the unknown field "length"', ""],
    [
      "a field of a command's result",
      "sh: echo ${{ diff.stdin }}",
      'the unknown field "stdin"',
      "choose one of stdout, stderr, code",
    ],
    ["a field of an agent's text", "value: ${{ text.findings }}", 'the unknown field "findings"', ""],
    ["a field of an agent's output", "value: ${{ find.findngs }}", 'the unknown field "findngs"', 'write "findings"'],
    ["a field of an item", "each: '${{ find.findings }}'\n    value: ${{ item.fil }}", 'field "fil"', 'write "file"'],
    ["a field in a macro", "value: '${{ find.findings.filter(f, f.lin > 1) }}'", 'field "lin"', 'write "line"'],
    ["a field in a second macro", "value: '${{ find.findings.map(f, f.file).map(x, x.y) }}'", 'field "y"', ""],
    ["a field of cel.bind", "value: '${{ cel.bind(d, diff, d.cod) }}'", 'field "cod"', 'write "code"'],
    ["a field of a failure", "value: ${{ risky.stdout }}", 'the unknown field "stdout"', "choose one of ok"],
    ["a field of all results", "value: ${{ all.value }}", 'the unknown field "value"', 'write "values"'],
    ["a variable of another step", "value: ${{ item }}", 'the unknown step "item"', ""],
    ["a field of a check", "until: { sh: ls }\n    value: ${{ check.err }}", 'field "err"', ""],
    ["a field of has()", "value: '${{ has(params.bas.x) }}'", 'the unknown parameter "bas"', ""],
  ])("that name %s are refused when the file is loaded", async (_what, step, message, mend) => {
    const fault = await faultOf(`${head}params: { base: string, deep: { x: string } }
steps:
  - { id: diff, sh: git diff }
  - { id: text, agent: p }
  - { id: find, agent: { prompt: p, output: { findings: [{ file: string, line: integer }] } } }
  - { id: all, each: [1], sh: ls }
  - { id: risky, sh: ls, onFail: continue }
  - id: here
    ${step}
  - { id: later, value: 1 }
`)
    expect(fault.code).toBe("EXPRESSION_NAME_UNKNOWN")
    expect(fault.message).toContain(message)
    expect(fault.message).toMatch(/ at r\.yaml:1[01]:\d+ /)
    expect(fault.mend).toContain(mend)
  })

  it.each([
    ["${{ 1 + }}", "Unexpected token"],
    ["${{ }}", "it is empty"],
    ["${{ 1 + 'a' }}", "no such overload"],
    ["${{ unknown(1) }}", "found no matching overload"],
  ])("that are wrong are refused: %s", async (expression, problem) => {
    const fault = await faultOf(`${head}steps:\n  - id: a\n    value: |\n      one\n      two ${expression}\n`)
    expect(fault).toMatchObject({ code: "EXPRESSION_INVALID", message: expect.stringContaining(problem) })
    expect(fault.message).toContain("r.yaml:6:11")
  })

  it("that are not closed are refused", async () => {
    expect(await faultOf(`${head}steps: [{ id: a, value: "\${{ x" }]`)).toMatchObject({ code: "RECIPE_YAML_INVALID" })
  })
})

describe("commands in YAML", () => {
  it("take every expression as one quoted word, and a list as one word for each item", async () => {
    const { result } = await runYaml(
      `
params: { s: string, list: array }
steps:
  - id: a
    sh: printf '%s|' x\${{ params.s }} \${{ params.list }} \${{ size(params.list) }}
`,
      { s: "a b; touch hit '$(id)'", list: ["1 2", "3"] },
    )
    expect(result.output).toMatchObject({ stdout: "xa b; touch hit '$(id)'|1 2|3|2|" })
  })

  it("never run text of a result as syntax, also where it is the whole command", async () => {
    const { result } = await runYaml(
      `steps: [{ id: say, agent: p }, { id: a, sh: "\${{ say }}" }]`,
      {},
      { agent: () => "echo hit" },
    )
    expect(result.failure).toMatchObject({ step: "a", error: expect.stringContaining("127") })
  })

  it("run a parameter that is the whole command as a person wrote it, but not what a recipe computed for it", async () => {
    const inner = await parse(`name: inner\nparams: { cmd: string }\nsteps: [{ id: run, sh: "\${{ params.cmd }}" }]`)
    const outer = await parse(`name: outer
params: { cmd: string }
steps:
  - { id: say, agent: p }
  - { id: passed, use: { recipe: inner, params: { cmd: "\${{ params.cmd }}" } } }
  - { id: fixed, use: { recipe: inner, params: { cmd: printf fixed } } }
  - { id: mixed, onFail: continue, use: { recipe: inner, params: { cmd: "\${{ say }}" } } }
output: ["\${{ passed.stdout }}", "\${{ fixed.stdout }}", "\${{ mixed.error }}"]
`)
    const { run } = testRun({ recipes: [inner], agent: () => "echo hit" })
    const { output } = await run(outer, { params: { cmd: "printf passed" } })
    expect(output).toEqual(["passed", "fixed", expect.stringContaining("127")])
    const used = recipe({ name: "ts", description: "In TypeScript", params: z.object({ cmd: z.string() }) }).step(
      "go",
      ({ params }) => use(outer, { cmd: params.cmd }),
    )
    const second = testRun({ recipes: [inner], agent: () => "" })
    expect((await second.run(used, { params: { cmd: "printf again" } })).output).toMatchObject([
      "again",
      "fixed",
      expect.any(String),
    ])
  })

  it("do not take raw(), and say so when the file is loaded", async () => {
    const fault = await faultOf(`${head}params: { s: string }\nsteps:\n  - id: a\n    sh: ls \${{ raw(params.s) }}\n`)
    expect(fault).toMatchObject({ code: "EXPRESSION_RAW", message: expect.stringContaining("r.yaml:5:12") })
    const { result } = await runYaml(`steps: [{ id: a, value: "x\${{ raw('y') }}" }]`)
    expect(result.output).toBe("xy")
  })

  it("do not take a value inside of quotes, and say so when the file is loaded", async () => {
    const fault = await faultOf(`${head}params: { s: string }\nsteps:\n  - id: a\n    sh: echo "\${{ params.s }}"\n`)
    expect(fault).toMatchObject({
      code: "RECIPE_YAML_INVALID",
      message: expect.stringContaining("inside double quotes"),
    })
  })
})

describe("a YAML recipe that is wrong", () => {
  const at = (line: number, column: number) => new RegExp(`r\\.yaml.*\\b${line}:${column}\\b`)
  it.each([
    ["no YAML", "name: [", "RECIPE_YAML_BROKEN", at(1, 8)],
    ["a duplicate key", "name: a\nname: b", "RECIPE_YAML_BROKEN", at(2, 1)],
    ["a tag", "name: a\nsteps: !!js/function x", "RECIPE_YAML_BROKEN", at(2, 8)],
    ["several documents", "name: a\n---\nname: b", "RECIPE_YAML_BROKEN", at(2, 1)],
    [
      "an expression that needs quotes",
      "name: a\nx: ${{ a ? b : c }}",
      "RECIPE_YAML_BROKEN",
      /2:4: .*; put a text with \$\{\{ … \}\} in quotes/,
    ],
    ["no map", "- a", "RECIPE_YAML_INVALID", at(1, 1)],
    ["nothing", "", "RECIPE_YAML_INVALID", at(1, 1)],
    ["no steps", "name: a", "RECIPE_YAML_INVALID", at(1, 1)],
    ["an empty list of steps", "name: a\nsteps: []", "RECIPE_YAML_INVALID", at(2, 8)],
    ["a bad name", "name: A b\nsteps: [{ id: a, value: 1 }]", "RECIPE_YAML_INVALID", at(1, 7)],
    ["an unknown key", "name: a\nstep: []", "RECIPE_YAML_KEY_UNKNOWN", at(2, 1)],
    ["an unknown key of a step", "name: a\nsteps:\n  - id: a\n    agnt: x", "RECIPE_YAML_KEY_UNKNOWN", at(4, 5)],
    [
      "an unknown option",
      "name: a\nsteps:\n  - id: a\n    agent:\n      promt: x",
      "RECIPE_YAML_KEY_UNKNOWN",
      at(5, 7),
    ],
    [
      "an unknown option beside",
      "name: a\nsteps:\n  - id: a\n    sh:\n      command: x\n      cmd: y",
      "RECIPE_YAML_KEY_UNKNOWN",
      at(6, 7),
    ],
    ["a wrong type", "name: a\nsteps:\n  - id: a\n    sh: 5", "RECIPE_YAML_INVALID", at(4, 9)],
    ["a wrong onFail", "name: a\nsteps:\n  - id: a\n    value: 1\n    onFail: go", "RECIPE_YAML_INVALID", at(5, 13)],
    [
      "a repeated id",
      "name: a\nsteps:\n  - id: a\n    value: 1\n  - id: a\n    value: 2",
      "STEP_ID_DUPLICATE",
      at(5, 9),
    ],
    ["a bad id", "name: a\nsteps:\n  - id: a-b\n    value: 1", "STEP_ID_INVALID", at(3, 9)],
    ["a reserved id", "name: a\nsteps:\n  - id: check\n    value: 1", "STEP_ID_INVALID", at(3, 9)],
    ["no kind", "name: a\nsteps:\n  - id: a", "RECIPE_YAML_INVALID", at(3, 5)],
    ["two kinds", "name: a\nsteps:\n  - id: a\n    sh: x\n    value: 1", "RECIPE_YAML_INVALID", at(5, 12)],
    ["until without a body", "name: a\nsteps:\n  - id: a\n    until: { sh: x }", "RECIPE_YAML_INVALID", at(3, 5)],
    ["max without until", "name: a\nsteps:\n  - id: a\n    sh: x\n    max: 3", "RECIPE_YAML_INVALID", at(5, 10)],
    [
      "siblings without parallel",
      "name: a\nsteps:\n  - id: a\n    sh: x\n    siblings: abort",
      "RECIPE_YAML_INVALID",
      at(5, 15),
    ],
    [
      "a condition that is a text",
      "name: a\nsteps:\n  - id: a\n    value: 1\n    when: yes please",
      "RECIPE_YAML_INVALID",
      at(5, 11),
    ],
    ["an unknown type", "name: a\nparams:\n  x: strng\nsteps: [{ id: a, value: 1 }]", "RECIPE_YAML_INVALID", at(3, 6)],
    [
      "a default of another type",
      "name: a\nparams:\n  x: { type: integer, default: y }\nsteps: [{ id: a, value: 1 }]",
      "RECIPE_YAML_INVALID",
      at(3, 32),
    ],
    [
      "an unknown key of a param",
      "name: a\nparams:\n  x: { type: integer, defalt: 1 }\nsteps: [{ id: a, value: 1 }]",
      "RECIPE_YAML_INVALID",
      at(3, 31),
    ],
    [
      "a bad output",
      "name: a\nsteps:\n  - id: a\n    agent: { prompt: p, output: { a: strng } }",
      "RECIPE_YAML_INVALID",
      at(4, 38),
    ],
    ["a wrong budget", "name: a\nbudget: { usd: 0 }\nsteps: [{ id: a, value: 1 }]", "RECIPE_YAML_INVALID", at(2, 16)],
  ])("with %s is refused with its place", async (_what, text, code, place) => {
    const fault = await faultOf(text)
    expect(fault).toMatchObject({ code, message: expect.stringMatching(place) })
  })

  it("says the nearest right key", async () => {
    expect((await faultOf("name: a\nstep: []")).mend).toBe('write "steps"')
    expect((await faultOf("name: a\nsteps:\n  - id: a\n    agnt: x")).mend).toBe('write "agent"')
    expect((await faultOf("name: a\nsteps:\n  - id: a\n    parallel: { x: { valu: 1 } }")).mend).toBe('write "value"')
  })

  it("cannot make the reader large or slow", async () => {
    const list = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(",")}]\n`
    const bomb =
      list("a", "x") +
      "bcdefgh"
        .split("")
        .map((name, i) => list(name, `*${"abcdefg"[i]}`))
        .join("")
    expect(await faultOf(bomb)).toMatchObject({ code: "RECIPE_YAML_BROKEN", message: expect.stringContaining("alias") })
    expect(await faultOf(`name: ${"a".repeat(1_000_000)}`)).toMatchObject({ code: "RECIPE_YAML_BROKEN" })
    expect((await faultOf(`name: a\nsteps: ${"[".repeat(30_000)}`)).code).toBe("RECIPE_YAML_BROKEN")
    expect((await faultOf(`name: a\nsteps: [{ id: a, value: "\${{ ${"(".repeat(3000)}1 }}" }]`)).code).toBe(
      "EXPRESSION_INVALID",
    )
  })

  it("never ends in an error without a code", async () => {
    const word = fc.constantFrom(
      "name",
      "steps",
      "id",
      "a",
      "sh",
      "agent",
      "each",
      "until",
      "value",
      "params",
      "x",
      "${{ a }}",
      "${{ params.x",
      "${{ 1 }}",
      "output",
      "parallel",
      "use",
      "1",
      "null",
    )
    const { data } = fc.letrec((tie) => ({
      data: fc.oneof(
        { maxDepth: 4 },
        word,
        fc.constant(null),
        fc.integer(),
        fc.array(tie("data"), { maxLength: 3 }),
        fc.dictionary(word, tie("data"), { maxKeys: 4 }),
      ),
    }))
    const step = fc.dictionary(word, data, { maxKeys: 3 }).map((fields) => ({ id: "a", ...fields }))
    const file = fc.record(
      { name: fc.constant("a"), params: data, steps: fc.array(step, { minLength: 1, maxLength: 3 }), output: data },
      { requiredKeys: ["name", "steps"] },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          file.map((made) => JSON.stringify(made)),
          fc.string(),
        ),
        async (text) => {
          await parse(text).catch((error) => {
            if (!isSousError(error)) throw error
          })
        },
      ),
      { numRuns: 400 },
    )
  })
})

describe("recipeFileSchema()", () => {
  it("is JSON Schema that knows the keys of a recipe", () => {
    const schema = recipeFileSchema() as any
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(["name", "params", "steps", "output"]))
    expect(schema.properties.steps.items.properties).toHaveProperty("agent")
    expect(schema.additionalProperties).toBe(false)
  })
})

describe("a recipe in YAML and its twin in TypeScript", () => {
  it("declare the same steps", async () => {
    const yaml = await parse(`name: twin
params: { base: string }
steps:
  - { id: diff, sh: "git diff \${{ params.base }}...HEAD" }
`)
    const twin = recipe({ name: "twin", description: "The same", params: z.object({ base: z.string() }) }).step(
      "diff",
      ({ params }) => sh`git diff ${params.base}...HEAD`,
    )
    const scope = { params: { base: "ma in" } }
    expect(yaml.steps[0]!.make(scope)).toEqual(twin.steps[0]!.make(scope))
  })
})
