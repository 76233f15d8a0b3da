/**
 * A parsed YAML document and a path into its data → the line and column where that stands.
 *
 * Invariant: for a path that leads nowhere, the place is that of the last thing on the way.
 */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node } from "yaml"

/** Line and column, from 1. */
export interface Position {
  line: number
  column: number
}

export interface Places {
  /** Where the value at a path begins. */
  of(path: readonly PropertyKey[]): Position
  /** Where the key at the end of a path stands. */
  ofKey(path: readonly PropertyKey[]): Position
  /** Where the n-th expression of the text at a path begins, n from 0. */
  ofExpression(path: readonly PropertyKey[], index: number): Position
}

/** Looks places up in a document. `text` is what it was parsed from. */
export function createPlaces(document: Document.Parsed, text: string, lines: LineCounter): Places {
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const find = (path: readonly PropertyKey[]) => walk(document, path)
  return {
    of: (path) => at(find(path).value),
    ofKey: (path) => at(find(path).key),
    ofExpression(path, index) {
      const { node } = find(path)
      const [start = 0, end = start] = node?.range ?? []
      let from = start
      for (let left = index; from < end; from += 3) {
        from = text.indexOf("${{", from)
        if (from < 0 || from >= end) break
        if (text[from - 1] !== "$" && left-- === 0) return at(from)
      }
      return at(start)
    },
  }
}

interface Found {
  node: Node | undefined
  key: number
  value: number
}

function walk(document: Document.Parsed, path: readonly PropertyKey[]): Found {
  let node: Node | undefined = document.contents ?? undefined
  let found: Found = { node, key: startOf(node, 0), value: startOf(node, 0) }
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    const next = stepInto(node, step)
    if (next === undefined) return found
    node = next.value
    const key = startOf(next.key, found.value)
    found = { node, key, value: startOf(node, key) }
  }
  return found
}

function stepInto(node: Node | undefined, step: PropertyKey): { key?: Node; value: Node | undefined } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)]
    return isNode(item) ? { value: item } : undefined
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  if (pair === undefined) return undefined
  return { key: pair.key as Node, value: isNode(pair.value) ? pair.value : undefined }
}

function startOf(node: Node | undefined, otherwise: number): number {
  return node?.range?.[0] ?? otherwise
}
