/**
 * The repository's own source as the house rules see it: files, text, imports.
 *
 * Invariant: reads only; no rule stands here. Comments and strings are told apart by a scan, not by a parser, which is
 * enough for code that the formatter has been over.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

/** The repository's folder, absolute. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")

/** One import of a file; `target` is a repository path for a relative one, else the package as written. */
export interface Import {
  target: string
  /** Counts from 1. */
  line: number
  typeOnly: boolean
  /** Loaded when the code runs, by `import(…)`. */
  lazy: boolean
}

/** Paths under the given files and folders that end in `ending`, relative to the repository, sorted; none for what is not there. */
export function listFiles(places: readonly string[], ending = ".ts"): string[] {
  return places.flatMap((place) => walk(join(root, place)).filter((path) => path.endsWith(ending))).sort()
}

function walk(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return []
  if (stat.isFile()) return [relative(root, path)]
  return readdirSync(path).flatMap((name) => (name === "node_modules" ? [] : walk(join(path, name))))
}

/** All the code that ships. */
export function shippedFiles(): string[] {
  return listFiles(["cli.ts", "core", "plugins", "recipes"])
}

/** The text of a repository path. */
export function readSource(path: string): string {
  return readFileSync(join(root, path), "utf8")
}

/** The text with comments and the insides of strings blanked, lines and columns kept; `${…}` in a template stays. */
export function codeOnly(text: string): string {
  let previous = ""
  return text.replace(TOKENS, (token) => {
    const kept = keptPart(token, previous)
    if (token.trim() !== "" && !/^\/[/*]/.test(token)) previous = token.slice(-1)
    return kept
  })
}

const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*|[\s\S]/g

function keptPart(token: string, previous: string): string {
  if (token.length === 1) return token
  if (/^\/[/*]/.test(token)) return blank(token)
  if (token.startsWith("`")) return token.replace(/\$\{[^{}]*\}|[^\n`]/g, (part) => (part.length > 1 ? part : " "))
  // A slash after a value divides; only elsewhere does it open a pattern.
  if (token.startsWith("/")) return /[\w)\]]/.test(previous) ? token : blank(token)
  return token[0] + blank(token.slice(1, -1)) + token[0]
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ")
}

/** The line, counted from 1, at an offset of a text. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length
}

/** Every import and re-export of a file, in order. */
export function importsOf(path: string): Import[] {
  const text = readSource(path)
  return [...codeOnly(text).matchAll(STATEMENTS)].flatMap((match) => {
    const rest = text.slice(match.index + match[0].length)
    const quoted = /^(["'])([^"'\n]+)\1\)?(\.[A-Z])?/.exec(rest)
    if (quoted === null) return []
    const dynamic = match[0].includes("(")
    // `import("x").Name` is a type: a loaded module is awaited or handed to `then` first.
    const typeOnly = dynamic ? quoted[3] !== undefined : /^(?:import|export)\s+type\b/.test(match[0])
    const target = resolveTarget(path, quoted[2]!)
    return [{ target, line: lineAt(text, match.index), typeOnly, lazy: dynamic && !typeOnly }]
  })
}

const STATEMENTS = /\b(?:import|export)\b[^;"'()]*?\bfrom\s*(?=["'])|\bimport\s*\(\s*|\bimport\s+(?=["'])/g

function resolveTarget(from: string, specifier: string): string {
  return specifier.startsWith(".") ? relative(root, join(root, dirname(from), specifier)) : specifier
}
