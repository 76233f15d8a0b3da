import { z } from "sous"
import { describe, expect, test } from "vitest"
import { createOutputShape } from "../../core/output.ts"
import { lastResults, runPrompt } from "../harness.ts"

const Answer = z.object({ city: z.string(), people: z.number() })

describe("createOutputShape()", () => {
  test("shows a list as an object, and takes it out again", () => {
    const shape = createOutputShape(z.array(z.string()))
    expect(shape.schema).toMatchObject({ type: "object", required: ["value"] })
    expect(shape.parse('{"value":["a"]}')).toEqual({ ok: true, value: ["a"] })
    expect(shape.parse("nonsense")).toMatchObject({ ok: false })
  })
  test("reads an answer out of a fence, and says which field is wrong", () => {
    const shape = createOutputShape(Answer)
    expect(shape.parse('```json\n{"city":"Ulm","people":1}\n```')).toMatchObject({ ok: true })
    expect(shape.parse('{"city":"Ulm"}')).toMatchObject({ ok: false, error: expect.stringContaining("people") })
  })
})

describe("output", () => {
  test("runLoop() sends the schema to a model that honours it, and returns the checked value", async () => {
    const { result, bodies } = await runPrompt([{ json: { city: "Ulm", people: 126_000 } }], { output: Answer })
    expect(bodies[0].output_config.format).toMatchObject({ type: "json_schema" })
    expect(bodies[0].tools.map(({ name }: { name: string }) => name)).not.toContain("submit_output")
    expect(result).toMatchObject({ status: "ok", output: { city: "Ulm", people: 126_000 } })
  })

  test("runLoop() asks for a repair twice, then fails with the cause output", async () => {
    const { result, bodies } = await runPrompt([{ text: "Ulm", times: 3 }], { output: Answer })
    expect(bodies).toHaveLength(3)
    expect(bodies[1].messages.at(-1).content[0].text).toContain("does not have the form")
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "output" } })
  })

  test("runLoop() takes a repaired answer", async () => {
    const { result } = await runPrompt([{ json: { city: "Ulm" } }, { json: { city: "Ulm", people: 1 } }], {
      output: Answer,
    })
    expect(result).toMatchObject({ status: "ok", output: { people: 1 } })
  })

  test("runLoop() offers a submit tool to a model that does not, with bounded repairs", async () => {
    const old = { model: "claude-3-haiku-20240307", output: Answer }
    const { result, bodies } = await runPrompt(
      [{ tool: { submit_output: { city: "Ulm" } } }, { tool: { submit_output: { city: "Ulm", people: 2 } } }],
      old,
    )
    expect(bodies[0].output_config?.format).toBeUndefined()
    expect(bodies[0].tools.map(({ name }: { name: string }) => name)).toContain("submit_output")
    expect(lastResults(bodies[1])[0]).toMatchObject({ isError: true })
    expect(result).toMatchObject({ status: "ok", output: { city: "Ulm", people: 2 }, turns: 2 })
  })
})
