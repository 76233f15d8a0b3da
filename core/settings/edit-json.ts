/**
 * The text of a JSON settings file and an edit → the text with the edit, everything else byte for byte as it was.
 *
 * Invariant: comments outside of a value that is replaced all survive, and so do indentation, line ends and trailing
 * commas. The library's own way of editing is not used: it takes comments beside a removed key away with it.
 */
import type { Node } from "jsonc-parser"
import type { TextEdit } from "./change.ts"
import { indentAt, lineStart, type Range, splice, withoutItem } from "./edit-line.ts"

/** Edits a text that parses, without its byte order mark. */
export async function editJson(text: string, edit: TextEdit): Promise<string> {
  const { findNodeAtLocation, parseTree } = await import("./jsonc.ts")
  const manner = mannerOf(text)
  const root = parseTree(text, [], { allowTrailingComma: true })
  if (root === undefined) return text
  const at = (length: number) => findNodeAtLocation(root, edit.path.slice(0, length))
  const found = at(edit.path.length)
  if (edit.how === "drop") return found ? await dropped(text, found) : text
  if (edit.how === "append") return found ? await inserted(text, found, { value: edit.value, manner }) : text
  if (found) return replaced(text, found, { value: edit.value, manner })
  let depth = edit.path.length - 1
  while (depth > 0 && !at(depth)) depth -= 1
  const value = nested(edit.path.slice(depth + 1), edit.value)
  return await inserted(text, depth === 0 ? root : at(depth)!, { name: edit.path[depth]!, value, manner })
}

/** On one line, with the spaces that people write. */
function printInline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printInline).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${printInline(field)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

/** A value below the names that lead to it. */
export function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((below, name) => ({ [name]: below }), value)
}

/** How a file is written. */
interface Manner {
  /** One step of indentation. */
  unit: string
  eol: string
}

function mannerOf(text: string): Manner {
  const indents = [...text.matchAll(/^([ \t]+)["[{\]}/]/gm)].map(([, indent]) => indent!)
  const shortest = indents.reduce((a, b) => (b.length < a.length ? b : a), indents[0] ?? "  ")
  return { unit: shortest.startsWith("\t") ? "\t" : shortest, eol: text.includes("\r\n") ? "\r\n" : "\n" }
}

interface Item {
  /** Left out for an entry of a list. */
  name?: string
  value: unknown
  manner: Manner
}

function replaced(text: string, found: Node, { value, manner }: Item): string {
  const old = { start: found.offset, end: endOf(found) }
  const isInline = found.children !== undefined && !text.slice(old.start, old.end).includes("\n")
  return splice(text, old, isInline ? printInline(value) : printLines(value, manner, indentAt(text, found.offset)))
}

/** `base`: the indentation of the line that the value begins on. */
function printLines(value: unknown, { unit, eol }: Manner, base: string): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", eol + base)
}

/** Puts an item behind the last one of an object or list, and behind the comments that stand there. */
async function inserted(text: string, container: Node, { name, value, manner }: Item): Promise<string> {
  const close = endOf(container) - 1
  const last = container.children?.at(-1)
  const start = last ? endOf(last) : container.offset + 1
  const tokens = await tokensIn(text, start, close)
  const hasComma = tokens.some(({ kind }) => kind === "comma")
  const end = tokens.at(-1)?.end ?? start
  const key = name === undefined ? "" : `${JSON.stringify(name)}: `
  const isLines = text.slice(container.offset, close).includes("\n") || (!last && container.type === "object")
  const head = text.slice(0, start) + (last && !hasComma ? "," : "") + text.slice(start, end)
  if (!isLines) {
    const space = container.type === "array" && end === container.offset + 1 ? "" : " "
    return head + space + key + printInline(value) + (hasComma ? "," : "") + text.slice(end)
  }
  const base = indentAt(text, container.offset)
  const isFirstOnLine = last && text.slice(lineStart(text, last.offset), last.offset).trim() === ""
  const indent = isFirstOnLine ? indentAt(text, last.offset) : base + manner.unit
  const item = manner.eol + indent + key + printLines(value, manner, indent) + (hasComma ? "," : "")
  const rest = text.slice(end)
  return head + item + (/^\s*\n/.test(rest) ? rest : manner.eol + base + rest.trimStart())
}

/** Takes an item out, with the comma that is too many without it. */
async function dropped(text: string, found: Node): Promise<string> {
  const item = found.parent?.type === "property" ? found.parent : found
  const siblings = item.parent?.children
  if (!siblings) return text
  const index = siblings.indexOf(item)
  const [before, after] = [siblings[index - 1], siblings[index + 1]]
  const own = { start: item.offset, end: endOf(item) }
  const comma =
    (await commaIn(text, own.end, after ? after.offset : endOf(item.parent!) - 1)) ??
    (before && (await commaIn(text, endOf(before), own.start)))
  return withoutItem(text, own, comma)
}

async function commaIn(text: string, start: number, end: number): Promise<Range | undefined> {
  return (await tokensIn(text, start, end)).find(({ kind }) => kind === "comma")
}

interface Token extends Range {
  kind: "comma" | "comment"
}

/** The library names these by a `const enum`, which is not there for what only strips types. */
const [COMMA, LINE_COMMENT, BLOCK_COMMENT, END] = [5, 12, 13, 17]

/** Commas and comments between two values. */
async function tokensIn(text: string, from: number, to: number): Promise<Token[]> {
  const { createScanner } = await import("./jsonc.ts")
  const scanner = createScanner(text.slice(from, to))
  const tokens: Token[] = []
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) {
    const start = from + scanner.getTokenOffset()
    const place = { start, end: start + scanner.getTokenLength() }
    if (kind === COMMA) tokens.push({ kind: "comma", ...place })
    if (kind === LINE_COMMENT || kind === BLOCK_COMMENT) tokens.push({ kind: "comment", ...place })
  }
  return tokens
}

function endOf({ offset, length }: Node): number {
  return offset + length
}
