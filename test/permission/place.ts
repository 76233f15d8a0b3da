/**
 * Folders that the handed calls stand in, and the tools that they name.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Tool } from "../../core/tool.ts"
import { defaultPlugins } from "../../plugins/default.ts"

/** What a place holds beside `a.txt`, `src/b.txt`, and `o.txt` in the folder beside it. */
export interface PlaceContent {
  folders?: string[]
  files?: string[]
  /** Name → what it points at. */
  links?: Record<string, string>
}

export interface Place {
  base: string
  cwd: string
  home: string
  outside: string
  /** Where a settings file of the command line lies. */
  rig: string
  /** Puts the folders of this place for `{{CWD}}`, `{{HOME}}` … */
  fill<T>(value: T): T
}

/** Makes places, each content once; `remove` takes them all away. */
export function createPlaces(): { make(content?: PlaceContent): Place; remove(): void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sous-place-")))
  const made = new Map<string, Place>()
  return {
    make(content = {}) {
      const key = JSON.stringify(content)
      const known = made.get(key)
      if (known) return known
      const place = makePlace(join(root, String(made.size)), content)
      made.set(key, place)
      return place
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The tools of the shipped plugins, by name. */
export const shippedTools: ReadonlyMap<string, Tool> = new Map(
  defaultPlugins.flatMap(({ tools = [] }) => tools.map((tool) => [tool.name, tool] as const)),
)

function makePlace(base: string, { folders = [], files = [], links = {} }: PlaceContent): Place {
  const [cwd, home, outside, rig] = ["project", "home", "outside", "rig"].map((name) => join(base, name)) as [
    string,
    string,
    string,
    string,
  ]
  const names: Record<string, string> = { CWD: cwd, HOME: home, OUTSIDE: outside, BASE: base, RIG: rig }
  const fillText = (text: string) => text.replaceAll(/\{\{([A-Z]+)\}\}/g, (all, name: string) => names[name] ?? all)
  for (const folder of [cwd, home, outside, rig, ...folders.map((name) => join(cwd, name))]) {
    mkdirSync(folder, { recursive: true })
  }
  const write = (file: string) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "x\n")
  }
  for (const file of ["a.txt", "src/b.txt", ...files]) write(join(cwd, file))
  write(join(outside, "o.txt"))
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    symlinkSync(fillText(target), join(cwd, name))
  }
  const fill = <T>(value: T): T => {
    if (typeof value === "string") return fillText(value) as T
    if (Array.isArray(value)) return value.map(fill) as T
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one)])) as T
  }
  return { base, cwd, home, outside, rig, fill }
}
