import { describe, expect, it } from "vitest"
import { grantOf, isInside, nodeLimits, openEnds, visibleEnv } from "../../../core/pack/isolate-grant.ts"
import type { LockEntry } from "../../../core/pack/lock-shape.ts"
import { describeEntry } from "../../../core/pack/words.ts"

const ground = { plugin: "guest", cwd: "/nowhere/project", env: {}, home: "/nowhere/home", reads: ["/nowhere/guest"] }
const old = { switch: "--experimental-permission", limitsNet: false } as const
const latest = { switch: "--permission", limitsNet: true } as const

describe("grantOf()", () => {
  it("grants what is named, relative to the project and the home folder", () => {
    const { args } = grantOf({ read: ["a", "~/b/**", "/c"], write: ["out/"] }, ground, old)
    expect(args.filter((arg) => arg.includes("permission") || arg.startsWith("--allow"))).toEqual([
      "--experimental-permission",
      "--allow-fs-read=/nowhere/guest",
      "--allow-fs-read=/nowhere/project/a",
      "--allow-fs-read=/nowhere/project/a/*",
      "--allow-fs-read=/nowhere/home/b",
      "--allow-fs-read=/nowhere/home/b/*",
      "--allow-fs-read=/c",
      "--allow-fs-read=/c/*",
      "--allow-fs-write=/nowhere/project/out",
      "--allow-fs-write=/nowhere/project/out/*",
    ])
  })

  it("opens programs and the network only when some are named", () => {
    const switches = (capabilities: object, limits: typeof old | typeof latest) =>
      grantOf(capabilities, ground, limits).args.filter((arg) =>
        /^--(allow-(?!fs)|permission|experimental-p)/.test(arg),
      )
    expect(switches({}, latest)).toEqual(["--permission"])
    expect(switches({ net: ["a.example"], exec: ["git"] }, latest)).toEqual([
      "--permission",
      "--allow-child-process",
      "--allow-net",
    ])
    expect(switches({ net: ["a.example"] }, old)).toEqual(["--experimental-permission"])
  })
})

describe("nodeLimits()", () => {
  it("goes by the flags that Node takes", () => {
    expect(nodeLimits(new Set(["--experimental-permission"]))).toEqual(old)
    expect(nodeLimits(new Set(["--permission", "--experimental-permission", "--allow-net"]))).toEqual(latest)
  })
})

describe("openEnds()", () => {
  it("says what Node cannot narrow", () => {
    expect(openEnds({}, latest)).toEqual([])
    expect(openEnds({}, old)).toEqual([expect.stringMatching(/^it is kept from the network only .* since Node v\d+/)])
    expect(openEnds({ exec: ["git", "npm"], net: ["a.example"], read: ["x"] }, latest)).toEqual([
      expect.stringContaining("any program, not just git, npm"),
      expect.stringContaining("any host, not just a.example"),
      expect.stringContaining("links in the folders"),
    ])
  })
})

describe("describeEntry()", () => {
  it("says so to whoever adds a pack, unless its plugins run in this process anyway", () => {
    const entry = { plugins: ["plugin.ts"], capabilities: { exec: ["git"] } } as unknown as LockEntry
    const said = (one: LockEntry) => describeEntry("guest", one).filter(({ text }) => text.startsWith("beside that"))
    expect(said(entry)[0]).toEqual({ mark: "alert", text: expect.stringContaining("any program, not just git") })
    expect(said({ ...entry, inProcess: true })).toEqual([])
  })
})

describe("visibleEnv()", () => {
  it("leaves out what was not named", () => {
    const env = { PATH: "/bin", HOME: "/h", SECRET: "s", NAMED: "n", TZ: "UTC" }
    expect(visibleEnv({ env: ["NAMED", "MISSING"] }, env)).toEqual({ TZ: "UTC", NAMED: "n" })
    expect(visibleEnv({ exec: ["git"] }, env)).toEqual({ TZ: "UTC", PATH: "/bin", HOME: "/h" })
  })
})

describe("isInside()", () => {
  it("goes by whole names", () => {
    expect(["/a", "/a/b", "/a/..b"].map((path) => isInside(path, "/a"))).toEqual([true, true, true])
    expect(["/", "/ab", "/b"].map((path) => isInside(path, "/a"))).toEqual([false, false, false])
  })
})
