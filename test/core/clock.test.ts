import { describe, expect, it } from "vitest"
import { createClock } from "../../core/clock.ts"

describe("createClock()", () => {
  const clock = createClock()

  it("reads the machine's time", () => {
    const before = Date.now()
    expect(clock.now()).toBeGreaterThanOrEqual(before)
    expect(clock.now()).toBeLessThanOrEqual(Date.now())
  })

  it("sleeps as long as it was told", async () => {
    const start = performance.now()
    await clock.sleep(20)
    expect(performance.now() - start).toBeGreaterThan(18)
  })

  it("rejects with the signal's reason, before and while it sleeps, however long that would be", async () => {
    const reason = new Error("enough")
    await expect(clock.sleep(1_000, AbortSignal.abort(reason))).rejects.toBe(reason)
    const stop = new AbortController()
    const sleep = clock.sleep(Number.MAX_SAFE_INTEGER, stop.signal)
    const early = await Promise.race([sleep.then(() => "woke"), clock.sleep(5).then(() => "asleep")])
    stop.abort(reason)
    expect(early).toBe("asleep")
    await expect(sleep).rejects.toBe(reason)
  })
})
