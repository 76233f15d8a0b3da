import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Price } from "../../../core/model.ts"
import { costOf, createSpend, type Reservation, type Spend, type SpendRequest } from "../../../core/recipe/spend.ts"

const PRICE: Price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
const usage = (input: number, output: number) => ({ input, output, cacheRead: 0, cacheWrite: 0 })

function clockAt(now = 0) {
  let ms = now
  return {
    now: () => ms,
    advance: (by: number) => {
      ms += by
    },
  }
}

async function reserved(spend: Spend, request: SpendRequest): Promise<Reservation> {
  const answer = await spend.reserve(request)
  if ("spent" in answer) throw new Error(answer.spent)
  return answer
}

/** Whether a promise has settled once everything that could settle by itself has. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const mark = Symbol()
  return (await Promise.race([promise, new Promise((go) => setImmediate(go, mark))])) === mark
}

describe("costOf()", () => {
  it("adds up the four kinds of tokens", () => {
    expect(costOf({ input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 }, PRICE)).toBeCloseTo(22.05, 10)
  })

  it("takes the rate of long prompts for every token of one", () => {
    const longPrompt = { input: 6, output: 22.5, cacheRead: 0.6, cacheWrite: 7.5, above: 200_000 }
    expect(costOf(usage(200_000, 1000), { ...PRICE, longPrompt })).toBeCloseTo(0.615, 10)
    expect(costOf(usage(200_001, 1000), { ...PRICE, longPrompt })).toBeCloseTo(1.222506, 10)
  })
})

describe("Spend.reserve()", () => {
  it("grants what is asked for and never asks for the input where nothing is limited", async () => {
    const spend = createSpend({}, { clock: clockAt() })
    const inputTokens = () => {
      throw new Error("asked")
    }
    const reservation = await reserved(spend, { inputTokens, maxOutput: 8000 })
    expect(reservation.maxOutput).toBe(8000)
    reservation.settle(usage(10, 20))
    expect(spend.totals()).toEqual({ usage: usage(10, 20), turns: 1 })
  })

  it("lowers the output to what fits when nobody else holds a reservation", async () => {
    const spend = createSpend({ tokens: 5000 }, { clock: clockAt() })
    expect((await reserved(spend, { inputTokens: 1000, maxOutput: 8000 })).maxOutput).toBe(4000)
  })

  it("says that the budget is spent below 1,024 tokens of output", async () => {
    const spend = createSpend({ tokens: 2023 }, { clock: clockAt() })
    expect(await spend.reserve({ inputTokens: 1000, maxOutput: 8000 })).toEqual({
      spent: "The budget of 2023 tokens is spent (0 used)",
      limit: "tokens",
    })
    expect(spend.exhausted()?.limit).toBe("tokens")
    const fits = createSpend({ tokens: 2024 }, { clock: clockAt() })
    expect((await reserved(fits, { inputTokens: 1000, maxOutput: 8000 })).maxOutput).toBe(1024)
  })

  it("grants less than 1,024 when less was asked for", async () => {
    const spend = createSpend({ tokens: 1100 }, { clock: clockAt() })
    expect((await reserved(spend, { inputTokens: 1000, maxOutput: 100 })).maxOutput).toBe(100)
  })

  it("reserves input at the dearest price, so that a cache write cannot overshoot", async () => {
    const spend = createSpend({ usd: 0.0375 + 0.0154 }, { clock: clockAt() })
    const reservation = await reserved(spend, { inputTokens: 10_000, maxOutput: 8000, price: PRICE })
    expect(reservation.maxOutput).toBe(1026)
    reservation.settle({ input: 0, output: 1026, cacheRead: 0, cacheWrite: 10_000 })
    expect(spend.totals().usd).toBeLessThanOrEqual(0.0529)
  })

  it("waits while the reservations of others are in the way, and goes on with what they leave", async () => {
    const spend = createSpend({ tokens: 10_000 }, { clock: clockAt() })
    const first = await reserved(spend.child(), { inputTokens: 1000, maxOutput: 8000 })
    const second = reserved(spend.child(), { inputTokens: 1000, maxOutput: 5000 })
    expect(await isWaiting(second)).toBe(true)
    first.settle(usage(1000, 500))
    expect((await second).maxOutput).toBe(5000)
  })

  it("answers the waiting in order, and lets nobody overtake at the same node", async () => {
    const spend = createSpend({ tokens: 10_000 }, { clock: clockAt() })
    const first = await reserved(spend, { inputTokens: 0, maxOutput: 6000 })
    const large = reserved(spend, { inputTokens: 0, maxOutput: 9000 })
    const small = reserved(spend, { inputTokens: 0, maxOutput: 2000 })
    expect(await isWaiting(large)).toBe(true)
    expect(await isWaiting(small)).toBe(true)
    first.settle(usage(0, 100))
    expect((await large).maxOutput).toBe(9000)
    expect(await isWaiting(small)).toBe(true)
    ;(await large).settle(usage(0, 100))
    expect((await small).maxOutput).toBe(2000)
  })

  it("lets a branch with room go on while another branch waits for its own budget", async () => {
    const spend = createSpend({ tokens: 100_000 }, { clock: clockAt() })
    const narrow = spend.child({ tokens: 5000 })
    const held = await reserved(narrow, { inputTokens: 0, maxOutput: 5000 })
    const waiting = reserved(narrow, { inputTokens: 0, maxOutput: 2000 })
    expect(await isWaiting(waiting)).toBe(true)
    expect((await reserved(spend.child(), { inputTokens: 0, maxOutput: 8000 })).maxOutput).toBe(8000)
    held.settle(usage(0, 1000))
    expect((await waiting).maxOutput).toBe(2000)
  })

  it("keeps the limit of every node above", async () => {
    const run = createSpend({ tokens: 4000 }, { clock: clockAt() })
    const step = run.child({ tokens: 10_000 })
    expect((await reserved(step.child(), { inputTokens: 1000, maxOutput: 8000 })).maxOutput).toBe(3000)
    const spent = await step.child({ tokens: 1500 }).reserve({ inputTokens: 1000, maxOutput: 8000 })
    expect(spent).toMatchObject({ limit: "tokens", spent: expect.stringContaining("1500") })
    expect(run.exhausted()).toBeUndefined()
  })

  it("counts turns that were answered, and none for a request that died or was not sent", async () => {
    const spend = createSpend({ turns: 2 }, { clock: clockAt() })
    const died = await reserved(spend, { inputTokens: 100, maxOutput: 2000, price: PRICE })
    died.settle()
    expect(spend.totals()).toMatchObject({ turns: 0, usage: { cacheWrite: 100, output: 2000 } })
    ;(await reserved(spend, { inputTokens: 1, maxOutput: 1 })).release()
    for (let turn = 0; turn < 2; turn++) (await reserved(spend, { inputTokens: 1, maxOutput: 1 })).settle(usage(1, 1))
    expect(await spend.reserve({ inputTokens: 1, maxOutput: 1 })).toMatchObject({ limit: "turns" })
    expect(spend.totals().turns).toBe(2)
  })

  it("lets parallel requests wait for a last turn instead of sharing it", async () => {
    const spend = createSpend({ turns: 1 }, { clock: clockAt() })
    const first = await reserved(spend, { inputTokens: 1, maxOutput: 1 })
    const second = spend.reserve({ inputTokens: 1, maxOutput: 1 })
    expect(await isWaiting(second)).toBe(true)
    first.settle(usage(1, 1))
    expect(await second).toMatchObject({ limit: "turns" })
  })

  it("is spent when its minutes are over, counted from when the node was made", async () => {
    const clock = clockAt(1000)
    const run = createSpend({ minutes: 10 }, { clock })
    clock.advance(60_000)
    const step = run.child({ minutes: 1 })
    expect(run.deadline()).toBe(601_000)
    expect(step.deadline()).toBe(121_000)
    clock.advance(60_000)
    expect(await step.reserve({ inputTokens: 1, maxOutput: 1 })).toMatchObject({ limit: "minutes" })
    expect(step.exhausted()?.spent).toBe("The budget of 1 minutes is spent")
    expect(run.exhausted()).toBeUndefined()
  })

  it("refuses a budget in USD for a model without a price", async () => {
    const spend = createSpend({ usd: 1 }, { clock: clockAt() }).child()
    await expect(spend.reserve({ inputTokens: 1, maxOutput: 1, model: "some-model" })).rejects.toMatchObject({
      code: "BUDGET_PRICE_UNKNOWN",
      message: expect.stringContaining("some-model"),
    })
  })

  it("ends the waiting when the signal fires, and does not block who waits behind", async () => {
    const spend = createSpend({ tokens: 10_000 }, { clock: clockAt() })
    const first = await reserved(spend, { inputTokens: 0, maxOutput: 6000 })
    const controller = new AbortController()
    const large = spend.reserve({ inputTokens: 0, maxOutput: 9000, signal: controller.signal })
    const small = reserved(spend, { inputTokens: 0, maxOutput: 2000 })
    controller.abort()
    expect(await large).toMatchObject({ spent: expect.stringContaining("interrupted") })
    expect((await small).maxOutput).toBe(2000)
    first.settle()
  })

  it("takes a settlement once", async () => {
    const spend = createSpend({ tokens: 10_000 }, { clock: clockAt() })
    const reservation = await reserved(spend, { inputTokens: 0, maxOutput: 6000 })
    reservation.settle(usage(0, 100))
    reservation.settle(usage(0, 100))
    reservation.release()
    expect(spend.totals().usage.output).toBe(100)
    expect((await reserved(spend, { inputTokens: 0, maxOutput: 9900 })).maxOutput).toBe(9900)
  })

  it("gives no USD once something had no price", async () => {
    const spend = createSpend({}, { clock: clockAt() })
    ;(await reserved(spend, { inputTokens: 1, maxOutput: 1, price: PRICE })).settle(usage(1e6, 0))
    expect(spend.totals().usd).toBe(3)
    ;(await reserved(spend.child(), { inputTokens: 1, maxOutput: 1 })).settle(usage(1, 0))
    expect(spend.totals()).not.toHaveProperty("usd")
  })
})

/** What one agent does: requests of a size, each answered with a part of what was reserved, or dying. */
const request = fc.record({
  input: fc.integer({ min: 0, max: 40_000 }),
  wanted: fc.integer({ min: 1, max: 32_000 }),
  used: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom("input", "cacheRead", "cacheWrite"),
  dies: fc.boolean(),
})

describe("laws of Spend", () => {
  it("fifty parallel agents never exceed a limit, and each of them comes to an end", async () => {
    const agents = fc.array(fc.array(request, { minLength: 1, maxLength: 4 }), { minLength: 50, maxLength: 50 })
    const limits = fc.record({
      usd: fc.double({ min: 0.01, max: 5, noNaN: true }),
      tokens: fc.integer({ min: 2000, max: 1_000_000 }),
      turns: fc.integer({ min: 1, max: 150 }),
    })
    await fc.assert(
      fc.asyncProperty(limits, agents, async (budget, work) => {
        const run = createSpend(budget, { clock: clockAt() })
        const half = run.child({ usd: budget.usd / 2 })
        const drive = async (requests: (typeof work)[number], index: number) => {
          const spend = (index % 2 ? half : run).child()
          for (const { input, wanted, used, kind, dies } of requests) {
            const got = await spend.reserve({ inputTokens: input, maxOutput: wanted, price: PRICE })
            if ("spent" in got) return
            await Promise.resolve()
            const real = { ...usage(0, Math.floor(got.maxOutput * used)), [kind]: Math.floor(input * used) }
            got.settle(dies ? undefined : real)
          }
        }
        await Promise.all(work.map(drive))
        const { usd = 0, usage: total, turns } = run.totals()
        expect(usd).toBeLessThanOrEqual(budget.usd + 1e-6)
        expect(half.totals().usd).toBeLessThanOrEqual(budget.usd / 2 + 1e-6)
        expect(total.input + total.output + total.cacheRead + total.cacheWrite).toBeLessThanOrEqual(budget.tokens)
        expect(turns).toBeLessThanOrEqual(budget.turns)
      }),
      { numRuns: 60 },
    )
  })
})
