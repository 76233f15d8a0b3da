/**
 * The text of a YAML settings file and an edit → the text with the edit, everything else as it was.
 *
 * Invariant: lines are changed in place and what came of it is read again; only a text whose form does not allow it
 * (anchors, several documents, flow over several lines) is printed anew from its document, in its order.
 */
import { isDeepStrictEqual } from "node:util"
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml"
import { afterEdit, type TextEdit } from "./change.ts"
import { nested } from "./edit-json.ts"
import { lineEnd, lineStart, type Range, splice, withoutItem } from "./edit-line.ts"
import { printBlock, printFlow } from "./print-yaml.ts"

type Yaml = typeof import("yaml")

/** Edits a text that parses, without its byte order mark. Undefined: not without changing more than was asked for. */
export async function editYaml(text: string, edit: TextEdit): Promise<string | undefined> {
  const yaml = await import("yaml")
  const wanted = afterEdit(yaml.parseDocument(text).toJS() ?? {}, edit)
  const isWanted = (edited: string) => {
    const after = yaml.parseDocument(edited)
    return after.errors.length === 0 && isDeepStrictEqual(after.toJS() ?? {}, wanted)
  }
  const inPlace = hasOddForm(text, yaml) ? undefined : editLines(text, yaml.parseDocument(text), { edit, yaml })
  if (inPlace !== undefined && isWanted(inPlace)) return inPlace
  const anew = printAnew(text, edit, yaml)
  return anew !== undefined && isWanted(anew) ? anew : undefined
}

/** Anchors and aliases tie one place to another, and marks of documents and directives bound what may be put where. */
function hasOddForm(text: string, { Lexer }: Yaml): boolean {
  const tokens = [...new Lexer().lex(text)]
  return tokens.some((token, i) => tokens[i - 1] !== SCALAR && /^(?:[&*].|---|\.\.\.|%)/.test(token))
}

/** What the lexer puts before the text of a scalar. */
const SCALAR = "\x1f"

interface Work {
  edit: TextEdit
  yaml: Yaml
}

/** Undefined, or something else than was wanted, where the form is not one that this understands. */
function editLines(text: string, document: Document, { edit, yaml }: Work): string | undefined {
  const at = (path: TextEdit["path"]): unknown => (path.length === 0 ? document.contents : document.getIn(path, true))
  if (document.contents === null) {
    if (edit.how !== "put") return undefined
    return withLineEnd(text) + printBlock(nested(edit.path, edit.value), { indent: "", eol: eolOf(text) })
  }
  if (edit.how === "drop") {
    const [container, holder] = [at(edit.path.slice(0, -1)), at(edit.path.slice(0, -2))]
    const key = yaml.isMap(holder) ? pairOf(holder, edit.path.at(-2))?.key : undefined
    return dropped(text, container, { name: edit.path.at(-1)!, key, yaml })
  }
  const found = at(edit.path)
  const { value } = edit
  if (edit.how === "append") return yaml.isSeq(found) ? inserted(text, found, { value, yaml }) : undefined
  if (yaml.isNode(found)) return replaced(text, found, { value, yaml })
  let depth = edit.path.length - 1
  while (depth > 0 && !yaml.isMap(at(edit.path.slice(0, depth)))) depth -= 1
  const parent = at(edit.path.slice(0, depth))
  const below = nested(edit.path.slice(depth + 1), value)
  return yaml.isMap(parent) ? inserted(text, parent, { name: edit.path[depth]!, value: below, yaml }) : undefined
}

interface Item {
  /** Left out for an entry of a list. */
  name?: string
  value: unknown
  yaml: Yaml
}

function replaced(text: string, found: Node, { value, yaml }: Item): string | undefined {
  const place = placeOf(found, text, yaml)
  if (place === undefined || place.end === place.start) return undefined
  const isBlock = yaml.isCollection(found) && !found.flow
  if (!isBlock) return splice(text, place, printFlow(value))
  const printed = printBlock(value, { indent: columnOf(text, place.start), eol: eolOf(text) })
  return splice(text, place, printed.trim())
}

/** Puts an item behind the last one of a map or list. */
function inserted(text: string, container: YAMLMap | YAMLSeq, { name, value, yaml }: Item): string | undefined {
  const items = container.items as Entry[]
  const last = items.at(-1) && placeOf(items.at(-1)!, text, yaml)
  if (container.flow) {
    const inner = (name === undefined ? "" : `${printFlow(name)}: `) + printFlow(value)
    if (last) return splice(text, { start: last.end, end: last.end }, `, ${inner}`)
    return splice(text, placeOf(container, text, yaml)!, name === undefined ? `[${inner}]` : `{ ${inner} }`)
  }
  if (!last) return undefined
  const start = yaml.isSeq(container) ? dashBefore(text, last.start) : last.start
  const end = lineEnd(text, last.end)
  const added = printBlock(name === undefined ? [value] : { [name]: value }, {
    indent: columnOf(text, start),
    eol: eolOf(text),
  })
  const isLast = end === text.length && !text.endsWith("\n")
  return withLineEnd(text.slice(0, end)) + (isLast ? added.trimEnd() : added) + text.slice(end)
}

interface Dropping {
  name: string | number
  /** That of the container, where it is a field. */
  key: unknown
  yaml: Yaml
}

/** Takes an item out; a map or list that has no other says behind its key that it is empty. */
function dropped(text: string, container: unknown, { name, key, yaml }: Dropping): string | undefined {
  if (!yaml.isCollection(container)) return undefined
  const items = container.items as Entry[]
  const index = yaml.isSeq(container) ? Number(name) : items.indexOf(pairOf(container as YAMLMap, name)!)
  const [before, own, after] = [-1, 0, 1].map(
    (step) => items[index + step] && placeOf(items[index + step]!, text, yaml),
  )
  if (own === undefined) return undefined
  if (container.flow) return withoutItem(text, own, commaBetween(text, own, after) ?? commaBetween(text, before, own))
  const whole = yaml.isSeq(container) ? { ...own, start: dashBefore(text, own.start) } : own
  const rest = withoutItem(text, whole)
  if (items.length > 1 || key === undefined) return rest
  const colon = text.indexOf(":", placeOf(key as Node, text, yaml)!.end) + 1
  return splice(rest, { start: colon, end: colon }, yaml.isSeq(container) ? " []" : " {}")
}

/** Prints the whole document with the edit made in it. Undefined: a comment would go, or an alias leads elsewhere. */
function printAnew(text: string, edit: TextEdit, yaml: Yaml): string | undefined {
  const document = yaml.parseDocument(text)
  const path = [...edit.path]
  try {
    if (edit.how === "drop") document.deleteIn(path)
    else if (edit.how === "append") document.addIn(path, document.createNode(edit.value))
    else document.setIn(path, document.createNode(edit.value))
    const [, indent = "  "] = /^( {2,8})\S/m.exec(text) ?? []
    const indentSeq = !/^( *)[^\s#-].*:[ \t]*\r?\n\1- /m.test(text)
    const printed = document.toString({ lineWidth: 0, indent: indent.length, indentSeq })
    if (commentsOf(printed, yaml) !== commentsOf(text, yaml)) return undefined
    return text.includes("\r\n") ? printed.replace(/\r?\n/g, "\r\n") : printed
  } catch {
    return undefined
  }
}

function commentsOf(text: string, { Lexer }: Yaml): string {
  return [...new Lexer().lex(text)]
    .filter((token) => token.startsWith("#"))
    .map((token) => token.trim())
    .join("\n")
}

type Entry = Node | Pair

/** Where an entry stands, without the line ends and comments behind it. */
function placeOf(entry: Entry, text: string, yaml: Yaml): Range | undefined {
  if (yaml.isPair(entry)) {
    const key = placeOf(entry.key as Node, text, yaml)
    const value = yaml.isNode(entry.value) ? placeOf(entry.value, text, yaml) : undefined
    return key && { start: key.start, end: value?.end ?? key.end }
  }
  if (!entry.range) return undefined
  const [start, end] = entry.range
  const last = yaml.isCollection(entry) && !entry.flow ? (entry.items.at(-1) as Entry | undefined) : undefined
  const lastEnd = last && placeOf(last, text, yaml)?.end
  return { start, end: lastEnd ?? start + text.slice(start, end).trimEnd().length }
}

function pairOf(map: YAMLMap, name: unknown): Pair | undefined {
  return map.items.find(({ key }) => String(key) === String(name))
}

function commaBetween(text: string, one: Range | undefined, other: Range | undefined): Range | undefined {
  if (!one || !other) return undefined
  const offset = text.slice(one.end, other.start).indexOf(",")
  return offset === -1 ? undefined : { start: one.end + offset, end: one.end + offset + 1 }
}

/** Where the dash of a list's entry stands. */
function dashBefore(text: string, start: number): number {
  const dash = /-[ \t]+$/.exec(text.slice(lineStart(text, start), start))
  return start - (dash?.[0].length ?? 0)
}

function columnOf(text: string, offset: number): string {
  return " ".repeat(offset - lineStart(text, offset))
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n"
}

function withLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : text + eolOf(text)
}
