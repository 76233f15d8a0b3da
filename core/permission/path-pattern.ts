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
  /** Where an absolute path leads when links are followed; without it rules on the name of a link hold for that alone. */
  follow?(path: string): string | undefined
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
  /** The same pattern from where its literal beginning leads, when that goes through a link. */
  also?: PathPattern
}

type SegmentPattern = "**" | { literal: string } | { tokens: readonly Token[] }
type Token = { kind: "char"; char: string } | { kind: "any" | "star" } | { kind: "set"; set: string; negated: boolean }

/** Parses; undefined when the pattern can fit nothing: a negation, an unknown home folder, or `..` on the allow side. */
export function parsePathPattern(
  text: string,
  anchors: PathAnchors,
  side: PathPattern["side"],
): PathPattern | undefined {
  const written = side === "refuse" ? text.trim() : text
  if (written.startsWith("!")) return undefined
  const { base, rest, relative } = splitAnchor(written, anchors)
  // An unknown home folder must not read as the root of everything.
  if (base === "") return undefined
  if (rest.split("/").includes("..")) return side === "allow" ? undefined : climb(base, rest, anchors)
  const parts = rest
    .split("/")
    .filter((part, i, all) => part !== "" && part !== "." && (part !== "**" || all[i - 1] !== part))
  if (parts.at(-1) === "**" && parts.length > 1) parts.pop()
  // gitignore: a slash that is not the last character anchors. `dir/**` and `./dir` are anchored for allow alone.
  const slashed = side === "allow" ? rest.slice(0, -1).includes("/") : parts.length > 1
  const pattern = createPattern(side, base, parts)
  const also = side === "refuse" ? behindLink(base, parts, anchors) : undefined
  return { ...pattern, relative, floating: relative && !slashed, ...(also ? { also } : {}) }
}

function createPattern(side: PathPattern["side"], base: string, parts: readonly string[]): PathPattern {
  const segments = parts.map((part) => segment(fold(part, side)))
  return { side, base: split(fold(base, side)), relative: false, floating: false, segments }
}

/** A rule on the name of a link is meant for what it leads to as well. */
function behindLink(base: string, parts: readonly string[], { follow }: PathAnchors): PathPattern | undefined {
  const magic = parts.findIndex((part) => /[*?[]/.test(part))
  const literal = parts.slice(0, magic < 0 ? undefined : magic).map((part) => part.replace(/\\(.)/gs, "$1"))
  const named = resolve(base, ...literal)
  const real = follow?.(named)
  return real === undefined || real === named ? undefined : createPattern("refuse", real, parts.slice(literal.length))
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
  const found = bases(pattern, cwd).some((base) => {
    const rest = below(base, parts)
    return rest !== undefined && fits(pattern, rest)
  })
  return found || (pattern.also !== undefined && matchesPath(pattern.also, path, cwd))
}

/** True when something below the folder could fit. */
export function mayMatchBelow(pattern: PathPattern, folder: PathParts, cwd: PathParts): boolean {
  const parts = folder[pattern.side]
  const found = bases(pattern, cwd).some((base) => {
    if (below(parts, base) !== undefined) return true
    const rest = below(base, parts)
    return rest !== undefined && (pattern.floating || fitsStart(pattern.segments, rest))
  })
  return found || (pattern.also !== undefined && mayMatchBelow(pattern.also, folder, cwd))
}

/** Some disks do not see these characters in a name (HFS+). */
const IGNORED = /[\u200C-\u200F\u202A-\u202E\u206A-\u206F\uFEFF]/g

/** True when a name fits one part of a pattern; both as `fold` leaves them. */
export function fitsName(pattern: string, name: string): boolean {
  return pattern !== "**" && fitsSegment(segment(pattern) as Exclude<SegmentPattern, "**">, name)
}

/** Upper case and Unicode forms made one, characters that no disk tells apart dropped, unless the side is `allow`. */
export function fold(text: string, side: PathPattern["side"] = "refuse"): string {
  if (side === "allow") return text
  // Most paths are plain and small.
  if (/^[\x20-\x40\x5B-\x7E]*$/.test(text)) return text
  // Upper case first: there are letters with one upper case and two lower ones.
  return text.normalize("NFC").replace(IGNORED, "").toUpperCase().toLowerCase().normalize("NFC")
}

/** Writes an absolute path as the pattern that fits it alone. */
export function escapePath(path: string): string {
  return `/${path.replace(/[\\*?[\]]/g, "\\$&")}`
}

function splitAnchor(text: string, anchors: PathAnchors): { base: string; rest: string; relative: boolean } {
  if (text.startsWith("//")) return { base: "/", rest: text.slice(2), relative: false }
  if (text === "~" || text.startsWith("~/")) return { base: anchors.home, rest: text.slice(2), relative: false }
  if (text.startsWith("/")) return { base: anchors.settings, rest: text.slice(1), relative: false }
  if (DRIVE.test(text)) return { base: "/", rest: withoutDrive(text), relative: false }
  return { base: anchors.cwd, rest: text, relative: true }
}

function climb(base: string, rest: string, anchors: PathAnchors): PathPattern {
  const parts = split(resolve("/", base, rest))
  const also = behindLink("/", parts, anchors)
  return { ...createPattern("refuse", "/", parts), ...(also ? { also } : {}) }
}

/** `C:\\x` and `C:/x`. */
const DRIVE = /^[A-Za-z]:[\\/]/

/** The field's way to write a drive: `C:\\x` → `c/x`. */
function withoutDrive(path: string): string {
  return path[0]!.toLowerCase() + path.slice(2).replaceAll("\\", "/")
}

function bases(pattern: PathPattern, cwd: PathParts): (readonly string[])[] {
  if (!pattern.relative || pattern.side === "allow") return [pattern.base]
  return [pattern.base, cwd.refuse]
}

function split(path: string): string[] {
  const plain = DRIVE.test(path) ? withoutDrive(path) : path
  return plain.split("/").filter((part) => part !== "")
}

/** What of `parts` lies below `base`; undefined when it lies elsewhere. */
function below(base: readonly string[], parts: readonly string[]): readonly string[] | undefined {
  return base.every((part, i) => parts[i] === part) ? parts.slice(base.length) : undefined
}

/** Parts of a pattern by parts of a path: where no person wrote either, nobody works it out. */
const MAX_WORK = 10_000_000

function fits({ side, floating, segments }: PathPattern, parts: readonly string[]): boolean {
  if (segments.length === 0 || isEverything(segments)) return true
  if (segments.length * parts.length > MAX_WORK) return side === "refuse"
  return fitsFrom(floating ? ["**", ...segments] : segments, parts)
}

function isEverything(segments: readonly SegmentPattern[]): boolean {
  const [only] = segments
  if (segments.length !== 1 || only === undefined) return false
  return only === "**" || ("tokens" in only && only.tokens.length === 1 && only.tokens[0]!.kind === "star")
}

/**
 * Fits when the segments use up some first part of `parts`: a folder that fits covers what is in it. What stands between
 * two `**` is taken where it is first found, as nothing that follows could fit better further on.
 */
function fitsFrom(segments: readonly SegmentPattern[], parts: readonly string[]): boolean {
  let at = 0
  for (let from = 0; from < segments.length; ) {
    const floats = segments[from] === "**"
    if (floats) from++
    let to = from
    while (to < segments.length && segments[to] !== "**") to++
    const run = segments.slice(from, to) as Exclude<SegmentPattern, "**">[]
    const fitsHere = () => run.every((one, i) => at + i < parts.length && fitsSegment(one, parts[at + i]!))
    while (floats && at + run.length <= parts.length && !fitsHere()) at++
    if (!fitsHere()) return false
    at += run.length
    from = to
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

/** No system has longer names, in characters; nothing can be opened by one. */
const MAX_NAME_CHARS = 1024

function fitsSegment(pattern: Exclude<SegmentPattern, "**">, text: string): boolean {
  if ("literal" in pattern) return pattern.literal === text || isShortName(text, pattern.literal)
  if (text.length > MAX_NAME_CHARS) return false
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

/** `secret~1`: the short name that a disk of DOS descent may give to `secretsdir`, and `git~1` to `.git`. */
export function isShortName(text: string, literal: string): boolean {
  const at = text.indexOf("~")
  if (at < 1 || at > 6 || at + 2 !== text.length) return false
  if (literal.length <= text.length && !literal.startsWith(".")) return false
  return /\d$/.test(text) && literal.replace(/[. ]/g, "").toLowerCase().startsWith(text.slice(0, at).toLowerCase())
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
