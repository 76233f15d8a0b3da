import { expect, it } from "vitest"
import { untilAborted, within } from "../../core/patience.ts"

it("within() gives the work's result or fault, whichever comes", async () => {
  expect(await within(1000, "x", () => 1)).toBe(1)
  expect(await within(1000, "x", async () => 2)).toBe(2)
  await expect(within(1000, "x", () => Promise.reject(new Error("no")))).rejects.toThrow("no")
  await expect(
    within(1000, "x", () => {
      throw new Error("at once")
    }),
  ).rejects.toThrow("at once")
})

it("within() gives up on what does not end, and says what", async () => {
  const fault = {
    code: "WORK_UNENDING",
    message: "Gave up on the dispose of a plugin: it did not end within 0.01 seconds",
  }
  await expect(within(10, "the dispose of a plugin", () => new Promise(() => {}))).rejects.toMatchObject(fault)
})

it("untilAborted() is over with the signal's reason, at once or after its grace, and not once it was forgotten", async () => {
  const aborted = AbortSignal.abort(new Error("enough"))
  await expect(untilAborted(aborted).over).rejects.toThrow("enough")
  const aborter = new AbortController()
  const late = untilAborted(aborter.signal, { graceMs: 20 })
  const forgotten = untilAborted(aborter.signal, { graceMs: 5 })
  aborter.abort(new Error("stop"))
  const start = performance.now()
  forgotten.forget()
  await expect(Promise.race([forgotten.over, late.over])).rejects.toThrow("stop")
  expect(performance.now() - start).toBeGreaterThan(15)
})
