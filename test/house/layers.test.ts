/**
 * Holds the code to the table in layers.ts: rooms, circles, doors, and what only some places may touch.
 *
 * Invariant: every rule lists all that break it at once, with file and line.
 */
import { describe, expect, it } from "vitest"
import { commandMay, pluginDoors, reserved, reservedPackages, rooms } from "./layers.ts"
import { codeOnly, type Import, importsOf, lineAt, listFiles, readSource, shippedFiles } from "./source.ts"

const files = shippedFiles()
const imports = new Map(files.map((file) => [file, importsOf(file)]))

describe("the table of layers", () => {
  it("gives every file of core/ its room", () => {
    expect(listFiles(["core"]).filter((file) => roomOf(file) === undefined)).toEqual([])
  })

  it("names only rooms that stand below", () => {
    const names = rooms.map((room) => room.name)
    const wrong = rooms.flatMap((room, at) =>
      room.may
        .filter((other) => names.indexOf(other) < 0 || names.indexOf(other) >= at)
        .map((o) => `${room.name} → ${o}`),
    )
    expect(wrong).toEqual([])
  })
})

describe("imports", () => {
  it("of core/ stay within the rooms that the table allows", () => {
    expect(violations(listFiles(["core"]), (file, { target }) => !isLocal(target) || mayLook(file, target))).toEqual([])
  })

  it("of plugins/ are the public surface, packages, and the plugin's own folder", () => {
    const shipped = listFiles(["plugins"]).filter((file) => !within(file, pluginDoors))
    expect(violations(shipped, (file, { target }) => !isLocal(target) || ownFolder(file, target))).toEqual([])
  })

  it("of recipes/ are the public surface and packages, and in a pack its own files", () => {
    const ownRecipe = (file: string, target: string) => target === file.replace(/\.test\.ts$/, ".ts")
    const ownPack = (file: string, target: string) =>
      target.startsWith(/^recipes\/packs\/[^/]+\//.exec(file)?.[0] ?? "\0")
    const isRight = (file: string, { target }: Import) =>
      !isLocal(target) || ownRecipe(file, target) || ownPack(file, target)
    expect(violations(listFiles(["recipes"]), isRight)).toEqual([])
  })

  it("of cli.ts are the doors", () => {
    expect(
      violations(listFiles(["cli.ts"]), (_, { target }) => !isLocal(target) || within(target, commandMay)),
    ).toEqual([])
  })

  it("never name cli.ts", () => {
    expect(violations(files, (_, { target }) => target !== "cli.ts")).toEqual([])
  })

  it("run in no circle", () => {
    expect(circles()).toEqual([])
  })

  it.each(reservedPackages)("of $what happen in $places only", ({ what, places }) => {
    const code = files.filter((file) => !file.endsWith(".test.ts"))
    expect(violations(code, (file, { target }) => !what.test(target) || within(file, places))).toEqual([])
  })
})

describe("globals", () => {
  it.each(reserved)("$what is touched in $places only", ({ find, places }) => {
    const found = files
      .filter((file) => !within(file, places))
      .flatMap((file) => {
        const code = codeOnly(readSource(file))
        return [...code.matchAll(find)].map((match) => `${file}:${lineAt(code, match.index)}`)
      })
    expect(found).toEqual([])
  })
})

describe("importsOf()", () => {
  it("sees static, type-only and lazy imports, and none in comments", () => {
    const seen = importsOf("test/house/fixture/imports.ts").map(({ target, typeOnly, lazy }) => [
      target,
      typeOnly,
      lazy,
    ])
    expect(seen).toEqual([
      ["node:fs", false, false],
      ["test/house/layers.ts", true, false],
      ["test/house/source.ts", false, false],
      ["test/house/source.ts", true, false],
      ["node:path", false, true],
    ])
  })
})

function violations(among: readonly string[], isRight: (file: string, one: Import) => boolean): string[] {
  return among.flatMap((file) =>
    (imports.get(file) ?? importsOf(file))
      .filter((one) => !isRight(file, one))
      .map((one) => `${file}:${one.line} imports ${one.target}`),
  )
}

function isLocal(target: string): boolean {
  return /^(?:\.\.|core\/|plugins\/|recipes\/|test\/|bench\/|cli\.ts$)/.test(target)
}

function within(file: string, places: readonly string[]): boolean {
  return places.some((place) => (/[/-]$/.test(place) ? file.startsWith(place) : file === place))
}

function roomOf(file: string) {
  const length = (holds: readonly string[]) =>
    Math.max(0, ...holds.filter((h) => within(file, [h])).map((h) => h.length))
  const [best] = [...rooms].sort((a, b) => length(b.holds) - length(a.holds))
  return best !== undefined && length(best.holds) > 0 ? best : undefined
}

function mayLook(file: string, target: string): boolean {
  const from = roomOf(file)
  const to = roomOf(target)
  return from !== undefined && to !== undefined && (from === to || from.may.includes(to.name))
}

/** A plugin's own folder is the one directly under plugins/; a file that lies there bare has none. */
function ownFolder(file: string, target: string): boolean {
  const [, folder, ...rest] = file.split("/")
  return rest.length > 0 && target.startsWith(`plugins/${folder}/`)
}

/** Circles of imports that load code; those of types alone load nothing. */
function circles(): string[] {
  const found = new Set<string>()
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) found.add(fromLeast(path.slice(at)).join(" → "))
    if (at >= 0 || done.has(file)) return
    for (const { target, typeOnly } of imports.get(file) ?? []) if (!typeOnly) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return [...found]
}

function fromLeast(circle: readonly string[]): string[] {
  const at = circle.indexOf([...circle].sort()[0]!)
  return [...circle.slice(at), ...circle.slice(0, at)]
}
