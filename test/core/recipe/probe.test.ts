import { agent, each, parallel, recipe, sh, tool, until, use, value } from "sous"
import { describe, expect, test } from "vitest"
import { needsModel } from "../../../core/recipe/probe.ts"
import green from "../../../recipes/green.ts"
import migrate from "../../../recipes/migrate.ts"
import review from "../../../recipes/review.ts"

const head = (name: string) => ({ name, description: "A recipe" })

describe("needsModel()", () => {
  test.each([
    ["green", green, { cmd: "npm test", max: 5, hint: "" }],
    ["review", review, { base: "main", report: "r.md" }],
    ["migrate", migrate, { files: "*", task: "x", verify: "", concurrency: 1, allowFailures: 0 }],
  ])("sees the agents of the shipped recipe %s", (_, shipped, params) => {
    expect(needsModel(shipped, params)).toBe(true)
  })

  test("sees an agent inside of each, parallel and a sub-recipe, whatever it depends on", () => {
    const inner = recipe(head("inner")).step("a", () => agent({ prompt: "x" }))
    const found = [
      recipe(head("one"))
        .step("list", () => sh`ls`)
        .step("go", ({ list }) => each(list.stdout.trim().split("\n"), (file) => agent({ prompt: file }))),
      recipe(head("two")).step("both", () => parallel({ a: value(1), b: agent({ prompt: "x" }) })),
      recipe(head("three")).step("in", () => use(inner, {})),
    ]
    expect(found.map((one) => needsModel(one, {}))).toEqual([true, true, true])
  })

  test("comes to its end where a step would loop until a result is what it wants", () => {
    const loops = recipe(head("loops"))
      .step("a", () => sh`echo axbxc`)
      .step("b", ({ a }) => {
        let [text, n] = [a.stdout, 0]
        while (text.includes("x")) [text, n] = [text.replace("x", ""), n + 1]
        return value(n)
      })
      .step("c", ({ b }) => {
        let n = 0
        while (!(n >= b)) n++
        return value(n)
      })
    expect(needsModel(loops, {})).toBe(false)
  })

  test("sees none where there is none, or where each names its model", () => {
    const none = recipe(head("none"))
      .step("a", () => sh`true`)
      .step("b", ({ a }) => until(tool("Read", { file_path: a.stdout }), () => sh`true`))
    const named = recipe(head("named")).step("a", () => agent({ prompt: "x", model: "script:turns.yaml" }))
    expect([needsModel(none, {}), needsModel(named, {})]).toEqual([false, false])
  })
})
