/** Errors into faults, where a server is not needed to see it. */
import { createModelFault } from "sous"
import { describe, expect, it } from "vitest"
import { faultOf, faultOfRefusal, retryAfterOf } from "../../../plugins/models/fault.ts"
import { Headers } from "../../../plugins/models/headers.ts"

const place = { signal: new AbortController().signal, baseURL: "http://x" }

describe("faultOfRefusal()", () => {
  it.each([
    ["prompt is too long: 205000 tokens > 200000 maximum", 5000],
    ["input length and `max_tokens` exceed context limit: 142251   64000 > 200000, decrease input length", 6251],
    ["the request exceeds the available context size, try increasing it", undefined],
    ["This model's maximum context length is 8192 tokens", undefined],
  ])("knows a prompt that is too long by its words, whatever the status: %s", (message, excess) => {
    for (const status of [400, 500]) {
      const fault = faultOfRefusal({ status, message })
      expect([fault.fault, fault.excessTokens]).toEqual(["prompt_too_long", excess])
    }
  })

  it.each([
    ["You have reached your specified API usage limits. You will regain access on 2026-12-01", 400, "billing"],
    ["This request would exceed your organization's spend limit", 400, "billing"],
    ["weird", 418, "invalid_request"],
    ["gateway", 502, "server"],
    ["timed out", 504, "server"],
    ["lock", 409, "server"],
    ["timeout", 408, "server"],
  ])("%s (%i) is %s", (message, status, kind) => {
    expect(faultOfRefusal({ status, message }).fault).toBe(kind)
  })
})

describe("faultOf()", () => {
  it("leaves a fault and an error of another kind as they are", () => {
    const fault = createModelFault("server", "x")
    expect(faultOf(fault, place)).toBe(fault)
    const bug = new TypeError("undefined is not a function")
    expect(faultOf(bug, place)).toBe(bug)
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" })
    expect(faultOf(missing, place)).toBe(missing)
  })

  it("is an AbortError once the signal has fired, whatever was thrown", () => {
    const signal = AbortSignal.abort(new Error("stop"))
    expect(faultOf(new Error("x"), { ...place, signal })).toMatchObject({ name: "AbortError", cause: signal.reason })
  })

  it("finds the reason of a lost connection in what caused it", () => {
    const cause = Object.assign(new Error("getaddrinfo ENOTFOUND x"), { code: "ENOTFOUND" })
    const error = Object.assign(new Error("Connection error."), { name: "APIConnectionError", cause })
    expect(faultOf(error, place)).toMatchObject({
      fault: "connection",
      message: "The connection to http://x failed: getaddrinfo ENOTFOUND x",
    })
  })
})

describe("retryAfterOf()", () => {
  it.each([
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": "2", "retry-after-ms": "150" }, 150],
    [{ "retry-after": "0" }, undefined],
    [{ "retry-after": "Mon, 01 Jan 2001 00:00:00 GMT" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, expected) => {
    expect(retryAfterOf(new Headers(headers as Record<string, string>))).toBe(expected)
  })

  it("reads a date", () => {
    const date = new Date(Date.now() + 10_000).toUTCString()
    const ms = retryAfterOf(new Headers({ "retry-after": date }))
    expect(ms).toBeGreaterThan(8_000)
    expect(ms).toBeLessThanOrEqual(10_000)
  })
})
