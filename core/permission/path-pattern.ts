/**
 * The path of a rule, in gitignore's syntax with four anchors → a matcher over absolute paths.
 *
 * Invariant: a pattern fits a path or a folder above it, never a path outside its anchor; on the allow side letters and
 * accents must be the very same, on the refusing side upper case and another Unicode form change nothing.
 */
import { resolve } from "node:path"

/** Where the four anchors lie, absolute: `x` and `./x`, `~/x`, `/x` (the folder of the settings that hold the rule). */
export interface PathAnchors {
  cwd: string
  home: string
  settings: string
}

/** A path pattern, ready to be matched on one side: `allow`, or `refuse` (deny and ask). */
export interface PathPattern {
  side: "allow" | "refuse"
  base: readonly string[]
  /** It began with neither `/` nor `~/`, so on the refusing side it also holds below the current folder. */
  relative: boolean
  /** Fits at any depth below its base. */
  floating: boolean
  segments: readonly SegmentPattern[]
}

type SegmentPattern = "**" | { literal: string } | { tokens: readonly Token[] }
type Token = { kind: "char"; char: string } | { kind: "any" | "star" } | { kind: "set"; set: string; negated: boolean }

/** Parses; undefined when the pattern can fit nothing: a negation, an unknown home folder, or `..` on the allow side. */
export function parsePathPattern(
  text: string,
  anchors: PathAnchors,
  side: PathPattern["side"],
): PathPattern | undefined {
  const written = side === "refuse" ? fold(text.trim()) : text
  if (written.startsWith("!")) return undefined
  const { base, rest, relative } = splitAnchor(written, anchors)
  // An unknown home folder must not read as the root of everything.
  if (base === "") return undefined
  if (rest.split("/").includes("..")) return side === "allow" ? undefined : climb(base, rest, { side, relative })
  const parts = rest
    .split("/")
    .filter((part, i, all) => part !== "" && part !== "." && (part !== "**" || all[i - 1] !== part))
  if (parts.at(-1) === "**" && parts.length > 1) parts.pop()
  // gitignore: a slash that is not the last character anchors. `dir/**` and `./dir` are anchored for allow alone.
  const slashed = side === "allow" ? rest.slice(0, -1).includes("/") : parts.length > 1
  const floating = relative && !slashed
  return { side, base: split(fold(base, side)), relative, floating, segments: parts.map((part) => segment(part)) }
}

/** A path cut into its parts, once for each side. */
export type PathParts = Record<PathPattern["side"], readonly string[]>

const cuts = new Map<string, PathParts>()
const MAX_CUTS = 1000

/** Cuts an absolute path, so that many patterns can be matched against it. */
export function cutPath(path: string): PathParts {
  let cut = cuts.get(path)
  if (cut === undefined) {
    cut = { allow: split(path), refuse: split(fold(path)) }
    if (cuts.size >= MAX_CUTS) cuts.clear()
    if (path.length < 1000) cuts.set(path, cut)
  }
  return cut
}

/** True when the pattern fits the path or a folder above it. `cwd`: the agent's current folder. */
export function matchesPath(pattern: PathPattern, path: PathParts, cwd: PathParts): boolean {
  const parts = path[pattern.side]
  return bases(pattern, cwd).some((base) => {
    const rest = below(base, parts)
    return rest !== undefined && fits(pattern, rest)
  })
}

/** True when something below the folder could fit. */
export function mayMatchBelow(pattern: PathPattern, folder: PathParts, cwd: PathParts): boolean {
  const parts = folder[pattern.side]
  return bases(pattern, cwd).some((base) => {
    if (below(parts, base) !== undefined) return true
    const rest = below(base, parts)
    return rest !== undefined && (pattern.floating || fitsStart(pattern.segments, rest))
  })
}

/** Upper case and Unicode forms made one, unless the side is `allow`. */
export function fold(text: string, side: PathPattern["side"] = "refuse"): string {
  return side === "allow" ? text : text.normalize("NFC").toLowerCase()
}

/** Writes an absolute path as the pattern that fits it alone. */
export function escapePath(path: string): string {
  return `/${path.replace(/[\\*?[\]]/g, "\\$&")}`
}

function splitAnchor(text: string, anchors: PathAnchors): { base: string; rest: string; relative: boolean } {
  if (text.startsWith("//")) return { base: "/", rest: text.slice(2), relative: false }
  if (text === "~" || text.startsWith("~/")) return { base: anchors.home, rest: text.slice(2), relative: false }
  if (text.startsWith("/")) return { base: anchors.settings, rest: text.slice(1), relative: false }
  return { base: anchors.cwd, rest: text, relative: true }
}

function climb(base: string, rest: string, rule: Pick<PathPattern, "side" | "relative">): PathPattern {
  const parts = split(resolve("/", fold(base), rest))
  return { ...rule, base: [], relative: false, floating: false, segments: parts.map((part) => segment(part)) }
}

function bases(pattern: PathPattern, cwd: PathParts): (readonly string[])[] {
  if (!pattern.relative || pattern.side === "allow") return [pattern.base]
  return [pattern.base, cwd.refuse]
}

function split(path: string): string[] {
  return path.split("/").filter((part) => part !== "")
}

/** What of `parts` lies below `base`; undefined when it lies elsewhere. */
function below(base: readonly string[], parts: readonly string[]): readonly string[] | undefined {
  return base.every((part, i) => parts[i] === part) ? parts.slice(base.length) : undefined
}

function fits({ floating, segments }: PathPattern, parts: readonly string[]): boolean {
  if (segments.length === 0 || isEverything(segments)) return true
  if (!floating) return fitsFrom(segments, parts)
  return parts.some((_, start) => fitsFrom(segments, parts.slice(start)))
}

function isEverything(segments: readonly SegmentPattern[]): boolean {
  const [only] = segments
  if (segments.length !== 1 || only === undefined) return false
  return only === "**" || ("tokens" in only && only.tokens.length === 1 && only.tokens[0]!.kind === "star")
}

/** Fits when the segments use up some first part of `parts`: a folder that fits covers what is in it. */
function fitsFrom(segments: readonly SegmentPattern[], parts: readonly string[]): boolean {
  let reached = new Set([0])
  for (const one of segments) {
    const next = new Set<number>()
    if (one === "**") {
      const [first = 0] = reached
      for (let at = first; at <= parts.length; at++) next.add(at)
    } else {
      for (const at of reached) if (at < parts.length && fitsSegment(one, parts[at]!)) next.add(at + 1)
    }
    if (next.size === 0) return false
    reached = next
  }
  return true
}

function fitsStart(segments: readonly SegmentPattern[], parts: readonly string[]): boolean {
  for (const [i, part] of parts.entries()) {
    const one = segments[i]
    if (one === undefined || one === "**") return one === "**"
    if (!fitsSegment(one, part)) return false
  }
  return true
}

function segment(text: string): SegmentPattern {
  if (text === "**") return "**"
  if (!/[*?[\\]/.test(text)) return { literal: text }
  return { tokens: tokenise(text) }
}

function tokenise(text: string): Token[] {
  const tokens: Token[] = []
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === "*") {
      if (tokens.at(-1)?.kind !== "star") tokens.push({ kind: "star" })
    } else if (char === "?") tokens.push({ kind: "any" })
    else if (char === "[" && text.indexOf("]", i + 2) > 0) {
      const end = text.indexOf("]", i + 2)
      const negated = text[i + 1] === "!" || text[i + 1] === "^"
      tokens.push({ kind: "set", set: text.slice(i + (negated ? 2 : 1), end), negated })
      i = end
    } else tokens.push({ kind: "char", char: char === "\\" && i + 1 < text.length ? text[++i]! : char })
  }
  return tokens
}

function fitsSegment(pattern: Exclude<SegmentPattern, "**">, text: string): boolean {
  if ("literal" in pattern) return pattern.literal === text || isShortName(text, pattern.literal)
  const { tokens } = pattern
  let token = 0
  let at = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    const one = tokens[token]
    if (one?.kind === "star") {
      star = token++
      resume = at
    } else if (one !== undefined && fitsChar(one, text[at]!)) {
      token++
      at++
    } else if (star >= 0) {
      token = star + 1
      at = ++resume
    } else return false
  }
  while (tokens[token]?.kind === "star") token++
  return token === tokens.length
}

/** `secret~1`: the short name that a disk of DOS descent may give to `secretsdir`. */
function isShortName(text: string, literal: string): boolean {
  const short = /^([^~]{1,6})~\d$/.exec(text)
  return short !== null && literal.length > text.length && literal.startsWith(short[1]!)
}

function fitsChar(token: Token, char: string): boolean {
  if (token.kind === "char") return token.char === char
  if (token.kind !== "set") return token.kind === "any"
  return inSet(token.set, char) !== token.negated
}

function inSet(set: string, char: string): boolean {
  for (let i = 0; i < set.length; i++) {
    if (set[i + 1] === "-" && i + 2 < set.length) {
      if (char >= set[i]! && char <= set[i + 2]!) return true
      i += 2
    } else if (set[i] === char) return true
  }
  return false
}
