/**
 * The text of a memory file → what the model is told of it, the files that it imports, the front matter of a rule.
 *
 * Invariant: what stands in code is text and nothing else; the time is linear in the length, whatever the file holds.
 */

/** Comments are out of `text`; `imports` are as written after `@`, each once. */
export interface MemoryText {
  text: string
  imports: readonly string[]
}

/** Source: https://spec.commonmark.org/0.31.2 for fences, code spans and comments. */
export function parseMemory(source: string): MemoryText {
  const pieces: string[] = []
  const imports = new Set<string>()
  const closes = { span: spanCloser(source), comment: commentCloser(source) }
  let kept = 0
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(source); token !== null; token = TOKEN.exec(source)) {
    const { 0: all, 1: fence, 2: ticks, 3: path, index } = token
    if (fence !== undefined) TOKEN.lastIndex = fenceEnd(source, { fence, from: index + all.length })
    else if (ticks !== undefined) TOKEN.lastIndex = closes.span(index, ticks.length)
    else if (path !== undefined) addImport(imports, path)
    else {
      const [from, to] = closes.comment(index)
      pieces.push(source.slice(kept, from))
      kept = to
      TOKEN.lastIndex = Math.max(to, index + 1)
    }
  }
  pieces.push(source.slice(kept))
  return { text: pieces.join("").trim(), imports: [...imports] }
}

/** A fence that opens, a run of backticks, a comment that opens, or `@path` after a space. */
const TOKEN =
  /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?!`)(?=[^`\n]*$)|~{3,})[^\n]*|(`+)|<!--|(?<!\S)@((?:[^\s\\]|\\[^\n])+)/gm

/** Where the line after the closing fence begins; without one, all that follows is code. */
function fenceEnd(source: string, { fence, from }: { fence: string; from: number }): number {
  const line = /^[ \t>]*(`{3,}|~{3,})[ \t]*\r?$/gm
  line.lastIndex = from
  for (let match = line.exec(source); match !== null; match = line.exec(source)) {
    if (match[1]!.length >= fence.length && match[1]![0] === fence[0]) return line.lastIndex
  }
  return source.length
}

/** Finds where a code span ends: behind the next run of as many backticks in its paragraph, or else behind its own. */
function spanCloser(source: string): (index: number, length: number) => number {
  let runs: Map<number, { places: number[]; next: number }> | undefined
  let blank = -1
  return (index, length) => {
    runs ??= runsOf(source)
    if (blank < index) blank = blankAfter(source, index)
    const same = runs.get(length)
    while (same && same.places[same.next]! <= index) same.next++
    const close = same?.places[same.next]
    return (close !== undefined && close < blank ? close : index) + length
  }
}

function runsOf(source: string): Map<number, { places: number[]; next: number }> {
  const runs = new Map<number, { places: number[]; next: number }>()
  for (const { 0: run, index } of source.matchAll(/`+/g)) {
    const same = runs.get(run.length)
    if (same) same.places.push(index)
    else runs.set(run.length, { places: [index], next: 0 })
  }
  return runs
}

function blankAfter(source: string, index: number): number {
  const blank = /\n[ \t]*\r?(?=\n)/g
  blank.lastIndex = index
  return blank.exec(source)?.index ?? source.length
}

/** Finds what to leave out of a comment: its lines, when nothing else stands in them. Nothing of one that is never closed. */
function commentCloser(source: string): (index: number) => [from: number, to: number] {
  const last = source.lastIndexOf("-->")
  return (index) => {
    if (last < index + 4) return [index, index]
    const to = source.indexOf("-->", index + 4) + 3
    const from = lineStart(source, index)
    const rest = /[ \t]*\r?(?:\n|$)/y
    rest.lastIndex = to
    return from !== undefined && rest.test(source) ? [from, rest.lastIndex] : [index, to]
  }
}

/** Where the line begins, when only blanks stand before the index. */
function lineStart(source: string, index: number): number | undefined {
  let from = index
  while (source[from - 1] === " " || source[from - 1] === "\t") from--
  return from === 0 || source[from - 1] === "\n" ? from : undefined
}

const LONGEST_PATH = 1024

function addImport(imports: Set<string>, written: string): void {
  if (written.length > LONGEST_PATH) return
  const path = written
    .replace(/\\ /g, " ")
    .replace(/#.*$/, "")
    .replace(/[.,;:!?)\]}'"]+$/, "")
  // A name of a person or of a package begins like one, so what is no file is left alone later.
  if (/^(?:\.{0,2}\/|~\/|[\p{L}\p{N}._-])/u.test(path) && path !== "/" && !path.includes("\0")) imports.add(path)
}

/** The front matter of a rule, without its marks, and what follows it. */
export function splitFrontMatter(source: string): { head: string | undefined; body: string } {
  if (!/^---[ \t]*\r?\n/.test(source)) return { head: undefined, body: source }
  const end = /^---[ \t]*\r?$/gm
  end.lastIndex = source.indexOf("\n") + 1
  const match = end.exec(source)
  if (match === null) return { head: undefined, body: source }
  return { head: source.slice(source.indexOf("\n") + 1, match.index), body: source.slice(end.lastIndex) }
}
