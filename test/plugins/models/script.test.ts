/** `script:FILE` end to end: from a file on disk to events. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Model } from "sous"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import scriptPlugin, { scriptProvider } from "../../../plugins/models/script.ts"
import type { TurnInput } from "../../../plugins/models/turn.ts"
import { collect, describeModel, request, textOf } from "../../contract/model.ts"

let folder = ""
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sous-script-"))
})
afterAll(() => rm(folder, { recursive: true }))

async function open(script: string, signal = new AbortController().signal): Promise<Model> {
  count += 1
  await writeFile(join(folder, `${count}.yaml`), script)
  return scriptProvider.open(`script:${count}.yaml`, { cwd: folder, env: {}, signal })
}

describeModel("script", {
  async open(turns: TurnInput[]) {
    const model = await open(JSON.stringify({ unused: "ignore", turns }))
    return { model, close: async () => model.close?.() }
  },
})

describe("script:FILE", () => {
  it("is what its plugin adds, and takes its own scheme alone", () => {
    expect(scriptPlugin.models).toEqual([scriptProvider])
    expect(scriptProvider.handles("script:a.yaml", { env: {} })).toBe(true)
    expect(scriptProvider.handles("claude-opus-5-5", { env: {} })).toBe(false)
  })

  it("stops at once when the file is wrong", async () => {
    await expect(open("turns:\n  - txt: x")).rejects.toMatchObject({ code: "MODEL_SCRIPT_INVALID" })
    const absent = scriptProvider.open("script:absent.yaml", { cwd: folder, env: {}, signal: AbortSignal.abort() })
    await expect(absent).rejects.toMatchObject({ code: "MODEL_SCRIPT_UNREADABLE" })
  })

  it("is the kind of model that the file says", async () => {
    const model = await open(
      "structured_output: false\nlimits: { contextWindow: 900, maxOutput: 90 }\nprice: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }\nturns: []",
    )
    expect(model).toMatchObject({ structuredOutput: false, knownLimits: { contextWindow: 900, maxOutput: 90 } })
    expect(model.price).toEqual({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4 })
  })

  it("costs nothing, and takes the schemas that the API would take, when the file says nothing", async () => {
    const model = await open("turns: []")
    expect(model.price).toEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
    const takes = model.structuredOutput as (schema: object) => boolean
    expect(takes({ type: "object", properties: { a: { type: "string" } } })).toBe(true)
    expect(takes({ type: "object", additionalProperties: { type: "string" } })).toBe(false)
  })

  it("fails a request that breaks an expectation, and then says nothing of the turns left", async () => {
    const model = await open("turns:\n  - { text: x, expect: { last_user_contains: bug } }\n  - text: y")
    const { events, error } = await collect(model, request("feature"))
    expect(events).toEqual([])
    expect(error).toMatchObject({ fault: "no_answer", message: expect.stringContaining('last_user_contains "bug"') })
    await model.close?.()
  })

  it("fails at its close when turns were not asked for, unless the run was aborted", async () => {
    const model = await open("turns:\n  - text: x\n  - text: y")
    await collect(model)
    expect(() => model.close?.()).toThrow(expect.objectContaining({ code: "MODEL_TURNS_UNUSED" }))
    const controller = new AbortController()
    const aborted = await open("turns:\n  - text: x", controller.signal)
    controller.abort()
    await aborted.close?.()
  })

  it.each([
    [
      "{ kind: status, status: 429, message: slow down, headers: { retry-after: '2' } }",
      { fault: "rate_limit", status: 429, retryAfterMs: 2000 },
    ],
    [
      "{ kind: status, status: 400, message: 'prompt is too long: 30 tokens > 20 maximum' }",
      { fault: "prompt_too_long", excessTokens: 10 },
    ],
    ["{ kind: reset }", { fault: "connection" }],
    ["{ kind: cut, after: 2 }", { fault: "connection" }],
    ["{ kind: stall, after: 2 }", { fault: "stall" }],
  ])("throws the fault %s", async (fault, expected) => {
    const model = await open(`turns:\n  - text: x\n    fault: ${fault}`)
    const { events, error } = await collect(model)
    expect(error).toMatchObject(expected)
    expect(events).toHaveLength(fault.includes("after") && !fault.includes("status") ? 2 : 0)
    expect(textOf((await collect(model)).events)).toBe("x")
  })

  it("stops waiting when the signal fires", async () => {
    const model = await open("turns:\n  - { text: x, delay_ms: 60000 }")
    const controller = new AbortController()
    const answer = collect(model, request("hi"), controller.signal)
    controller.abort()
    expect((await answer).error).toMatchObject({ name: "AbortError" })
  })

  it("counts a request by its size", async () => {
    const model = await open("turns: []")
    const small = await model.countTokens!(request("x"))
    expect(await model.countTokens!(request("x".repeat(4000)))).toBeGreaterThan(small + 990)
  })
})
