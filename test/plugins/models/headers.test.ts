/** The small Headers beside the web's own: the same answers. */
import { describe, expect, it } from "vitest"
import { Headers as Small } from "../../../plugins/models/headers.ts"

describe("Headers", () => {
  it.each([
    ["the small one", Small],
    ["the web's", Headers],
  ] as const)("of %s keep, join and forget values", (_, Kind) => {
    const headers = new Kind({ "X-One": "1", accept: "a" })
    headers.append("x-one", "2")
    headers.set("Accept", "b")
    headers.set("x-gone", "x")
    headers.delete("X-Gone")
    expect(headers.get("X-ONE")).toBe("1, 2")
    expect(headers.get("x-gone")).toBeNull()
    expect([headers.has("Accept"), headers.has("x-gone")]).toEqual([true, false])
    expect(Object.fromEntries(headers)).toEqual({ accept: "b", "x-one": "1, 2" })
    expect([...headers.keys()].sort()).toEqual(["accept", "x-one"])
    expect([...headers.values()].sort()).toEqual(["1, 2", "b"])
    const seen: string[] = []
    headers.forEach((value, name) => void seen.push(`${name}=${value}`))
    expect(seen.sort()).toEqual(["accept=b", "x-one=1, 2"])
  })

  it("are made from pairs and from one another", () => {
    const first = new Small([
      ["a", "1"],
      ["A", "2"],
    ])
    expect([...new Small(first).entries()]).toEqual([["a", "1, 2"]])
    expect([...new Small(new Headers({ b: "3" }))]).toEqual([["b", "3"]])
    expect([...new Small()]).toEqual([])
  })
})
