/**
 * A command from its text and the values between: each value becomes one quoted word, a list one word for each item.
 *
 * Invariant: a value never becomes shell syntax. Where quoting a word does not mean that (inside quotes, backticks,
 * arithmetic, parameter expansions, comments, here-documents, after a backslash or `$`), the value is refused. What a
 * command then does with a word (`eval`, `sh -c`, an option that starts with `-`) is its author's to mind.
 */
import { SousError } from "../error.ts"

/** A value as one single-quoted word (POSIX shell, XCU 2.2.2). Throws SH_VALUE_INVALID. */
export function quote(value: unknown): string {
  const text = textOf(value)
  if (text.includes("\0")) throw new SousError("SH_VALUE_INVALID", { found: "a text with a NUL character" })
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The command that a template declares. Throws SH_VALUE_INVALID or SH_VALUE_MISPLACED. */
export function joinCommand(parts: readonly string[], values: readonly unknown[]): string {
  const scan: Scan = { open: ["command"], heredoc: false, wordStart: true, last: "" }
  return parts.reduce((command, part, index) => {
    if (index === 0) return part
    read(scan, parts[index - 1]!)
    const place = refusal(scan)
    if (place !== undefined) throw new SousError("SH_VALUE_MISPLACED", { place, before: scan.last.slice(-30).trim() })
    return command + wordsOf(values[index - 1]) + part
  }, "")
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value)
  throw new SousError("SH_VALUE_INVALID", { found: nameOf(value) })
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return "a list in a list"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

function wordsOf(value: unknown): string {
  return Array.isArray(value) ? value.map(quote).join(" ") : quote(value)
}

/** Where the text so far has led; what is open stacks up, the outermost first. */
type Place = keyof typeof REFUSED

/** Why a value may not stand in a place; undefined: it may. */
const REFUSED = {
  command: undefined,
  double: "inside double quotes",
  single: "inside single quotes",
  ansi: "inside $'…' quotes",
  backtick: "inside backticks",
  expansion: "inside ${…}",
  arithmetic: "inside arithmetic",
  comment: "inside a comment",
  unclear: "after a here-document, or after syntax too involved to follow",
}

/** How far a command's text was followed. */
interface Scan {
  open: Place[]
  /** A here-document was announced; its text begins with the next line. */
  heredoc: boolean
  /** A word may begin here. */
  wordStart: boolean
  last: string
}

/** Why a value may not stand at the end of what was read, if it may not. */
function refusal(scan: Scan): string | undefined {
  const place = REFUSED[scan.open.at(-1)!]
  if (place !== undefined) return place
  if (/(^|[^\\])(\\\\)*\\$/.test(scan.last)) return "after a backslash"
  return scan.last.endsWith("$") ? 'after "$"' : undefined
}

/** Follows shell text just closely enough to know where a value stands outside of all quoting; in doubt it refuses. */
function read(scan: Scan, text: string): void {
  // The value before may have been an empty list: a "#" here can start a comment.
  scan.wordStart = true
  scan.last = text
  for (let at = 0; at < text.length; ) at += STEPS[scan.open.at(-1)!](scan, text, at)
}

/** For each place: reads on from `at`, and returns how many characters it took. */
const STEPS: Record<Place, (scan: Scan, text: string, at: number) => number> = {
  command: inCommand,
  double: (scan, text, at) => (text[at] === '"' ? close(scan) : inAny(scan, text, at)),
  single: (scan, text, at) => (text[at] === "'" ? close(scan) : 1),
  ansi: (scan, text, at) => (text[at] === "\\" ? 2 : text[at] === "'" ? close(scan) : 1),
  backtick: (scan, text, at) => (text[at] === "`" ? close(scan) : isInvolved(text, at) ? enter(scan, "unclear") : 1),
  expansion(scan, text, at) {
    if (text[at] === "}") return close(scan)
    return isInvolved(text, at) ? enter(scan, "unclear") : inAny(scan, text, at)
  },
  arithmetic(scan, text, at) {
    if (isInvolved(text, at)) return enter(scan, "unclear")
    if (text[at] === "(") return enter(scan, "arithmetic")
    return text[at] === ")" ? close(scan) : inAny(scan, text, at)
  },
  comment: (scan, text, at) => (text[at] === "\n" ? close(scan, 0) : 1),
  unclear: () => 1,
}

function inCommand(scan: Scan, text: string, at: number): number {
  const char = text[at]!
  const nested = scan.open.length > 1
  const starts = scan.wordStart
  scan.wordStart = /[\s;&|()]/.test(char)
  if (char === "'") return enter(scan, "single")
  if (char === '"') return enter(scan, "double")
  if (text.startsWith("$'", at)) return enter(scan, "ansi", 2)
  if (char === "#" && starts) return enter(scan, "comment")
  if (text.startsWith("((", at)) return enterArithmetic(scan, 2)
  if (char === "(") return enter(scan, "command")
  if (char === ")" && nested) return close(scan)
  // The pattern of a case branch ends in a ")" of its own.
  if (nested && starts && /^case\s/.test(text.slice(at, at + 5))) return enter(scan, "unclear")
  if (text.startsWith("<<<", at)) return 3
  if (text.startsWith("<<", at)) scan.heredoc = true
  if (char === "\n" && scan.heredoc) return enter(scan, "unclear")
  return inAny(scan, text, at)
}

/** What opens a place in a command and in double quotes alike. */
function inAny(scan: Scan, text: string, at: number): number {
  if (text[at] === "\\") return 2
  if (text[at] === "`") return enter(scan, "backtick")
  if (text.startsWith("$((", at)) return enterArithmetic(scan, 3)
  if (text.startsWith("$[", at)) return enter(scan, "unclear", 2)
  if (text.startsWith("$(", at)) return enter(scan, "command", 2)
  return text.startsWith("${", at) ? enter(scan, "expansion", 2) : 1
}

function enter(scan: Scan, place: Place, width = 1): number {
  scan.open.push(place)
  scan.wordStart = true
  return width
}

/** Closed by two parentheses, each of which closes one. */
function enterArithmetic(scan: Scan, width: number): number {
  scan.open.push("arithmetic")
  return enter(scan, "arithmetic", width)
}

function close(scan: Scan, width = 1): number {
  scan.open.pop()
  return width
}

/** Quotes and escapes inside of an expansion mean different things in different shells. */
function isInvolved(text: string, at: number): boolean {
  return text[at] === "'" || text[at] === '"' || text[at] === "\\"
}
