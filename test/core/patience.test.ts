import { expect, it } from "vitest"
import { within } from "../../core/patience.ts"

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
