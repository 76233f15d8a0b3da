/**
 * The front matter of a rule → the test of the files that it is told for.
 *
 * Invariant: a rule that nobody understands is told in any case: a person has written it to be heard.
 */
import { relative } from "node:path"
import type { ContextStart } from "sous"
import { createGlobBudget, type GlobBudget, parseGlobs } from "./memory-glob.ts"
import type { Place } from "./memory-place.ts"
import { isInside } from "./memory-read.ts"

/** The key `paths`: as it was written, and whether an absolute path fits it. */
export interface RulePaths {
  written: readonly string[]
  fits(path: string): boolean
}

/** What the front matter of all rules together may cost: anybody's repository brings them. */
export interface RuleBudget {
  globs: GlobBudget
  /** Characters of front matter that YAML is to read, squared: that is what it takes at worst. */
  yaml: number
}

const MOST_FRONT_MATTER = 8 * 1024

/** For the rules of one gathering. */
export function createRuleBudget(): RuleBudget {
  return { globs: createGlobBudget(), yaml: 4 * MOST_FRONT_MATTER ** 2 }
}

/** What `paths` in the front matter of a rule fits; undefined when it is told in any case. */
export async function pathsOf(
  head: string,
  { path, ruleOf = [] }: Place,
  { warn, budget }: Pick<ContextStart, "warn"> & { budget: RuleBudget },
): Promise<RulePaths | undefined> {
  const written = await readPaths(head, budget)
  if (written === undefined) warn(`The front matter of the rule "${path}" is not understood: it is told in any case`)
  if (written === undefined || written.length === 0) return undefined
  const patterns = written.map((pattern) => pattern.replace(/^(!?)\//, "$1"))
  const globs = parseGlobs(patterns, budget.globs)
  for (const pattern of globs.refused) warn(`The pattern "${pattern}" in the rule "${path}" fits nothing`)
  const fits = (file: string) =>
    ruleOf.some((base) => isInside(file, base) && globs.fits(relative(base, file).replaceAll("\\", "/")))
  return { written, fits }
}

async function readPaths(head: string, budget: RuleBudget): Promise<string[] | undefined> {
  if (!head.includes("paths")) return []
  if (head.length > MOST_FRONT_MATTER) return undefined
  const plain = readPlain(head)
  if (plain !== undefined) return plain
  budget.yaml -= head.length ** 2
  if (budget.yaml < 0) return undefined
  const { parse } = await import("yaml")
  try {
    const value = parse(head, { logLevel: "error" }) as { paths?: unknown } | null
    const paths = value?.paths ?? []
    const list = typeof paths === "string" ? splitList(paths) : paths
    return Array.isArray(list) && list.every((entry) => typeof entry === "string") ? list : undefined
  } catch {
    return undefined
  }
}

/**
 * What nearly all rules hold: a text, or a text a line; undefined for anything else. Also where people forgot the
 * quotes: to YAML, `*` begins an alias and `{` a map.
 */
function readPlain(head: string): string[] | undefined {
  const lines = head.split(/\r?\n/)
  const at = lines.findIndex((line) => line.startsWith("paths:"))
  const value = lines[at]?.slice("paths:".length).trim()
  // A text may go on in the next line, which is left to YAML.
  if (value === undefined || (value !== "" && /^\s+\S/.test(lines[at + 1] ?? ""))) return undefined
  const whole = readScalar(value)
  if (value !== "") return whole === undefined ? allOf(splitList(value).map(readScalar)) : splitList(whole)
  const list: string[] = []
  for (const line of lines.slice(at + 1)) {
    if (line === "") continue
    if (/^[\w-]+:/.test(line)) break
    const text = readScalar(/^ *- +(.*?) *$/.exec(line)?.[1] ?? "")
    if (text === undefined) return undefined
    list.push(text)
  }
  return list
}

function allOf(texts: readonly (string | undefined)[]): string[] | undefined {
  return texts.includes(undefined) ? undefined : (texts as string[])
}

function readScalar(written: string): string | undefined {
  const quoted = /^"([^"\\]*)"$|^'([^']*)'$/.exec(written)
  if (quoted) return quoted[1] ?? quoted[2]
  return /^(?!null$|[-?] )[^"'[\]#&!|>%@`:~]+$/.test(written) ? written : undefined
}

/** `a, b/{c,d}` as two. */
function splitList(text: string): string[] {
  const parts = [""]
  let depth = 0
  for (const char of text) {
    if (char === "{") depth++
    if (char === "}") depth--
    if (char === "," && depth === 0) parts.push("")
    else parts.push(parts.pop() + char)
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "")
}
