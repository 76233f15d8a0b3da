/**
 * Holds the heads of files to style: each there, short, with its invariant; those of the trail leading on.
 *
 * Invariant: the trail is written once, here; a head that points elsewhere fails.
 */
import { describe, expect, it } from "vitest"
import { listFiles, readSource } from "./source.ts"

/** The six files that one tool call passes through, in its order. */
const TRAIL = [
  "core/loop.ts",
  "core/dispatch.ts",
  "core/permission/decide.ts",
  "core/hook.ts",
  "plugins/tools/read.ts",
  "core/session/transcript.ts",
]

const files = listFiles(["cli.ts", "core", "plugins", ".ci/build.mjs"])

describe("file heads", () => {
  it("stand on every file", () => {
    expect(files.filter((file) => headOf(file) === undefined)).toEqual([])
  })

  it("are at most nine lines long", () => {
    expect(files.filter((file) => (headOf(file) ?? "").split("\n").length > 9)).toEqual([])
  })

  it("name an invariant in core/ and plugins/, or the source that a table is from, but for the surface and the lists", () => {
    const lists = ["core/index.ts", "plugins/default.ts", "plugins/testing/index.ts"]
    const held = listFiles(["core", "plugins"]).filter((file) => !lists.includes(file))
    expect(held.filter((file) => !/^(?:Invariant|Source): /m.test(headOf(file) ?? ""))).toEqual([])
  })
})

describe("the trail", () => {
  it.each(TRAIL.map((file, at) => ({ file, at })))("$file says where it stands", ({ file, at }) => {
    const line = /Trail: [\s\S]*?\./.exec(
      headOf(file)
        ?.replace(/\n\s*\*\s*/g, " ")
        .replace(/\.ts\b/g, "·ts") ?? "",
    )
    expect(line?.[0].replace(/·ts/g, ".ts")).toBe(trailLine(at))
  })

  it("is claimed by no other file", () => {
    expect(files.filter((file) => !TRAIL.includes(file) && headOf(file)?.includes("Trail:"))).toEqual([])
  })
})

/** The first comment of a file, without its marks; undefined when the file does not start with one. */
function headOf(file: string): string | undefined {
  const found = /^(?:#!.*\n)?\/\*\*\n([\s\S]*?)\n \*\//.exec(readSource(file))
  return found?.[1]?.replace(/^ \* ?/gm, "")
}

function trailLine(at: number): string {
  const short = (file: string | undefined) => file?.replace(/^core\//, "")
  const parts = [`${at + 1} of ${TRAIL.length}`]
  if (at > 0) parts.push(`from ${short(TRAIL[at - 1])}`)
  if (at < TRAIL.length - 1) parts.push(`next ${short(TRAIL[at + 1])}`)
  return `Trail: ${parts.join(", ")}.`
}
