/**
 * The text of a settings file → its value, and where each key of it stands.
 *
 * Invariant: a file is read whole or refused with line and column; a key given twice is refused, never overridden.
 */
import { SousError } from "../error.ts"

/** Counts from 1. */
export interface Position {
  line: number
  column: number
}

/** A parsed file. */
export interface SettingsDocument {
  value: unknown
  /** Where a key's name or a list's entry stands; the nearest known part of the path when it has no place of its own. */
  at(path: readonly (string | number)[]): Position | undefined
}

/** Parses by the file's ending: JSON (comments and trailing commas allowed) or YAML. Throws SETTINGS_FILE_BROKEN. */
export async function parseDocument(file: string, text: string): Promise<SettingsDocument> {
  const clean = text.startsWith("\uFEFF") ? text.slice(1) : text
  // Before any parser sees it: one that runs out of stack while it compiles an expression takes the process along.
  if (isTooDeep(clean)) throw new SousError("SETTINGS_FILE_BROKEN", { file, problem: "it is nested too deeply" })
  try {
    return await (/\.ya?ml$/.test(file) ? parseYaml(file, clean) : parseJson(file, clean))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new SousError("SETTINGS_FILE_BROKEN", { file, problem: "it is nested too deeply" }, { cause: error })
  }
}

/** No settings that a person wrote are nested deeper. */
const MOST_DEPTH = 200

/** By its brackets, those in texts too, or by what a line begins with. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth = bracket === "[" || bracket === "{" ? depth + 1 : Math.max(0, depth - 1)
    if (depth > MOST_DEPTH) return true
  }
  return /^[ \t?:-]{800}/m.test(text)
}

async function parseJson(file: string, text: string): Promise<SettingsDocument> {
  const { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } = await import("./jsonc.ts")
  const errors: import("jsonc-parser").ParseError[] = []
  const tree = parseTree(text, errors, { allowTrailingComma: true })
  const place = positionsIn(text)
  const [first] = errors
  if (first) {
    const problem = printParseErrorCode(first.error)
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
    throw new SousError("SETTINGS_FILE_BROKEN", { file, problem, ...place(first.offset) })
  }
  const bad = tree && badKey(tree)
  if (bad) {
    const problem = bad.value === "__proto__" ? 'no key may be "__proto__"' : `the key "${bad.value}" is given twice`
    throw new SousError("SETTINGS_FILE_BROKEN", { file, problem, ...place(bad.offset) })
  }
  return {
    value: tree === undefined ? {} : getNodeValue(tree),
    at(path) {
      for (let length = path.length; tree && length > 0; length--) {
        const node = findNodeAtLocation(tree, path.slice(0, length))
        if (!node) continue
        const named = node.parent?.type === "property" ? node.parent : node
        return place(named.offset)
      }
      return tree && place(tree.offset)
    },
  }
}

/** The first key's node that repeats an earlier one of its object, or that no plain object can hold. */
function badKey(node: import("jsonc-parser").Node): import("jsonc-parser").Node | undefined {
  const seen = new Set<unknown>(["__proto__"])
  for (const child of node.children ?? []) {
    const key = child.type === "property" ? child.children?.[0] : undefined
    if (key && seen.has(key.value)) return key
    if (key) seen.add(key.value)
    const below = badKey(child)
    if (below) return below
  }
  return undefined
}

async function parseYaml(file: string, text: string): Promise<SettingsDocument> {
  const { isCollection, isMap, isNode, LineCounter, parseDocument: parse } = await import("yaml")
  const lines = new LineCounter()
  const document = parse(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" })
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const [first] = document.errors
  if (first) throw new SousError("SETTINGS_FILE_BROKEN", { file, problem: first.message, ...place(first.pos[0]) })
  return {
    value: resolved(file, document) ?? {},
    at(path) {
      for (let length = path.length; length > 0; length--) {
        const parent: unknown = document.getIn(path.slice(0, length - 1), true)
        const name = path[length - 1]
        const pair = isMap(parent) ? parent.items.find(({ key }) => String(key) === String(name)) : undefined
        const node = pair?.key ?? (isCollection(parent) ? parent.get(name, true) : undefined)
        if (isNode(node) && node.range) return place(node.range[0])
      }
      return document.contents?.range ? place(document.contents.range[0]) : undefined
    },
  }
}

/** Aliases may stand for more than fits into memory, or for themselves. */
function resolved(file: string, document: import("yaml").Document): unknown {
  const broken = (problem: string, cause?: unknown) =>
    new SousError("SETTINGS_FILE_BROKEN", { file, problem }, { cause })
  let value: unknown
  try {
    value = document.toJS()
  } catch (error) {
    throw error instanceof RangeError ? error : broken("its aliases cannot be resolved", error)
  }
  if (holdsItself(value, [])) throw broken("an alias stands for itself")
  return value
}

function holdsItself(value: unknown, above: readonly unknown[]): boolean {
  if (typeof value !== "object" || value === null) return false
  return above.includes(value) || Object.values(value).some((below) => holdsItself(below, [...above, value]))
}

/** Where the lines of a text start is counted once: a file may have as many entries as lines, each with its place. */
function positionsIn(text: string): (offset: number) => Position {
  let starts: number[] | undefined
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: offset - starts[low]! + 1 }
  }
}
