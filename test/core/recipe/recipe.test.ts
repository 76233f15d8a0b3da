import { describe, expect, it } from "vitest"
import { agent, each, parallel, pipeline, recipe, sh, tool, until, use, value, write, z } from "../../../core/index.ts"

const head = { name: "one", description: "One" }
const start = recipe(head)
const code = (code: string) => expect.objectContaining({ code })

describe("recipe()", () => {
  it("builds a recipe as plain data, and changes no builder that it was built from", () => {
    const first = start.step("a", () => value(1))
    const second = first.step("b", ({ a }) => value(a + 1), { title: "B", onFail: "continue", budget: { turns: 1 } })
    expect(start.steps).toEqual([])
    expect(first.steps.map(({ id }) => id)).toEqual(["a"])
    expect({ ...second }).toEqual({
      kind: "recipe",
      ...head,
      steps: [
        { id: "a", make: expect.any(Function), onFail: "stop" },
        { id: "b", make: expect.any(Function), onFail: "continue", title: "B", budget: { turns: 1 } },
      ],
    })
    expect(Object.keys(second.output(({ b }) => b))).toEqual(["kind", "name", "description", "steps", "result"])
  })

  it.each([
    [{ name: "One" }, "RECIPE_HEAD_INVALID"],
    [{ name: "one", description: "" }, "RECIPE_HEAD_INVALID"],
    [{ ...head, params: { base: "x" } }, "RECIPE_HEAD_INVALID"],
    [{ ...head, params: z.string() }, "RECIPE_HEAD_INVALID"],
    [{ ...head, budget: { usd: -1 } }, "RECIPE_HEAD_INVALID"],
    [{ ...head, budget: { usb: 1 } }, "RECIPE_KEY_UNKNOWN"],
    [{ ...head, permissions: { alow: [] } }, "RECIPE_KEY_UNKNOWN"],
    [{ ...head, parms: {} }, "RECIPE_KEY_UNKNOWN"],
    [null, "RECIPE_HEAD_INVALID"],
  ])("refuses the head %j", (wrong, expected) => {
    expect(() => recipe(wrong as never)).toThrow(code(expected))
  })

  it("names the nearest key, also of a part of the head", () => {
    const mendOf = (wrong: object) => {
      try {
        recipe({ ...head, ...wrong } as never)
      } catch (error) {
        return (error as { mend: string }).mend
      }
    }
    expect(mendOf({ parms: {} })).toBe('write "params"')
    expect(mendOf({ permissions: { alow: [] } })).toBe('write "allow"')
  })

  it("refuses a repeated id and one that is no identifier", () => {
    const made = start.step("a", () => value(1))
    expect(() => made.step("a" as never, () => value(2))).toThrow(code("STEP_ID_DUPLICATE"))
    for (const id of ["", "a-b", "1a", "a b", "params", "trigger", undefined]) {
      expect(() => made.step(id as never, () => value(2))).toThrow(code("STEP_ID_INVALID"))
    }
  })
})

describe("constructors", () => {
  it("make plain declarations", () => {
    expect(agent({ prompt: "p", maxTurns: 3 })).toEqual({ kind: "agent", prompt: "p", maxTurns: 3 })
    expect(sh`ls ${"a b"} ${["c", 1]}`).toEqual({ kind: "sh", command: "ls 'a b' 'c' '1'" })
    expect(sh({ command: "ls $HOME", cwd: "sub" })).toEqual({ kind: "sh", command: "ls $HOME", cwd: "sub" })
    expect(sh({ ok: "any", timeoutMs: 5 })`ls ${"x"}`).toEqual({
      kind: "sh",
      command: "ls 'x'",
      ok: "any",
      timeoutMs: 5,
    })
    expect(tool("Read", { file_path: "a" })).toEqual({ kind: "tool", name: "Read", input: { file_path: "a" } })
    expect(write("a", "b")).toEqual({ kind: "write", path: "a", text: "b" })
    expect(use("other")).toEqual({ kind: "use", recipe: "other", params: {} })
    expect(parallel({ a: value(1) })).toEqual({ kind: "parallel", steps: { a: { kind: "value", value: 1 } } })
    const stage = () => value(1)
    expect(pipeline([1], stage, stage, { concurrency: 2 })).toEqual({
      kind: "pipeline",
      items: [1],
      stages: [stage, stage],
      concurrency: 2,
    })
  })

  it.each<[string, () => unknown]>([
    ["agent", () => agent({ prompt: "p", promt: "q" } as never)],
    ["sh", () => sh({ command: "ls", timeout: 5 } as never)],
    ["each", () => each([], () => value(1), { concurency: 1 } as never)],
    ["pipeline", () => pipeline([1], () => value(1), { keys: 1 } as never)],
    ["parallel", () => parallel({}, { sibling: "abort" } as never)],
    ["until", () => until(value(1), () => value(1), { maximum: 1 } as never)],
  ])("refuse an unknown option of %s", (_kind, make) => {
    expect(make).toThrow(code("STEP_OPTION_UNKNOWN"))
  })

  it.each<[string, () => unknown]>([
    ["an agent without a prompt", () => agent({} as never)],
    ["a command that is no text", () => sh({ command: 5 } as never)],
    ["items that are no list", () => each("abc" as never, () => value(1))],
    ["items that are missing", () => each(undefined as never, () => value(1))],
    ["a concurrency of 0", () => each([], () => value(1), { concurrency: 0 })],
    ["half a failure", () => each([], () => value(1), { allowFailures: 0.5 })],
    ["a pipeline without stages", () => Reflect.apply(pipeline, undefined, [[1]])],
    ["a text that is none", () => write("a", {} as never)],
    ["no turns", () => agent({ prompt: "p", maxTurns: 0 })],
    ["a limit that no budget has", () => agent({ prompt: "p", budget: { dollars: 1 } as never })],
    ["a mode that is none", () => agent({ prompt: "p", mode: "yolo" as never })],
    ["an effort that is none", () => agent({ prompt: "p", effort: "huge" as never })],
    ["a filter that is not closed", () => agent({ prompt: "p", tools: ["Bash(npm"] })],
    ["tools that are no list", () => agent({ prompt: "p", tools: "Read" as never })],
    ["a model that is no text", () => agent({ prompt: "p", model: 5 as never })],
    ["an output that is no schema", () => agent({ prompt: "p", output: 5 as never })],
  ])("refuse %s", (_what, make) => {
    expect(make).toThrow(code("STEP_OPTION_INVALID"))
  })
})

describe("options of a recipe's step", () => {
  it.each<[object, string]>([
    [{ onFial: "continue" }, "RECIPE_KEY_UNKNOWN"],
    [{ onFail: "contine" }, "RECIPE_HEAD_INVALID"],
    [{ budget: { dolars: 1 } }, "RECIPE_HEAD_INVALID"],
    [{ when: true }, "RECIPE_HEAD_INVALID"],
  ])("are refused when no step has them: %j", (options, expected) => {
    const make = () => recipe({ name: "r", description: "R" }).step("a", () => value(1), options as never)
    expect(make).toThrow(code(expected as never))
  })
})
