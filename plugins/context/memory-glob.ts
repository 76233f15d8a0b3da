/**
 * Globs of settings and of rules' front matter → tests of paths: `*`, `?`, `[a-z]`, `**`, `{a,b}`, and `!` in a list.
 *
 * Invariant: no pattern costs more than its length times that of the path, since anybody's repository brings them: a
 * regular expression could try for years.
 */

/** Patterns that became tests, and those that fit nothing: too much to expand, or a `[` that nothing closes. */
export interface Globs {
  /** Takes a path with `/` between its parts. */
  fits(path: string): boolean
  /** As they were written. */
  refused: readonly string[]
}

/** What parsing may still cost, in characters of patterns once their braces are apart; it goes down. */
export interface GlobBudget {
  left: number
}

const MOST_ALTERNATIVES = 1000
const MOST_CHARACTERS = 4000
const MOST_EXPANDED = 200_000

/** A budget for patterns that share one. */
export function createGlobBudget(): GlobBudget {
  return { left: MOST_EXPANDED }
}

/** Parses a list of them. A path fits when one of them fits and none with `!` before it does. */
export function parseGlobs(patterns: readonly string[], budget: GlobBudget = createGlobBudget()): Globs {
  const refused: string[] = []
  const lists: Record<"yes" | "no", Glob[]> = { yes: [], no: [] }
  for (const pattern of patterns) {
    const written = pattern.startsWith("!") ? pattern.slice(1) : pattern
    const room = MOST_ALTERNATIVES - lists.yes.length - lists.no.length
    const globs = expandBraces(written, { room, budget })?.map(parseGlob)
    if (globs === undefined || globs.includes(undefined)) refused.push(pattern)
    else lists[written === pattern ? "yes" : "no"].push(...(globs as Glob[]))
  }
  return {
    fits(path) {
      const parts = path.split("/")
      const isFitting = (glob: Glob) => fitsAll(glob, parts, { isStar: (part) => part === "**", fits: fitsPart })
      return lists.yes.some(isFitting) && !lists.no.some(isFitting)
    },
    refused,
  }
}

type Glob = readonly ("**" | readonly Token[])[]
type Token = { char: string } | { set: readonly [string, string][]; negated: boolean } | "?" | "*"

function parseGlob(pattern: string): Glob | undefined {
  // A folder stands for all in it.
  const parts = pattern.replace(/^\.\//, "").replace(/\/$/, "/**").split("/")
  const glob = parts.map((part) => (part === "**" ? part : parsePart(part)))
  return glob.includes(undefined) ? undefined : (glob as Glob)
}

function parsePart(part: string): Token[] | undefined {
  const tokens: Token[] = []
  const chars = [...part]
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!
    if (char === "*" || char === "?") tokens.push(char)
    else if (char === "\\" && at + 1 < chars.length) tokens.push({ char: chars[++at]! })
    else if (char === "[") {
      const negated = chars[at + 1] === "!" || chars[at + 1] === "^"
      const from = at + (negated ? 2 : 1)
      // As in a shell, a `]` that comes first stands for itself.
      const to = chars.indexOf("]", from + 1)
      if (to < 0) return undefined
      tokens.push({ set: rangesOf(chars.slice(from, to)), negated })
      at = to
    } else tokens.push({ char })
  }
  return tokens
}

function rangesOf(chars: readonly string[]): [string, string][] {
  const ranges: [string, string][] = []
  for (let at = 0; at < chars.length; at++) {
    const isRange = chars[at + 1] === "-" && at + 2 < chars.length
    ranges.push([chars[at]!, chars[isRange ? at + 2 : at]!])
    if (isRange) at += 2
  }
  return ranges
}

function fitsPart(tokens: Glob[number], part: string): boolean {
  return fitsAll(tokens as readonly Token[], [...part], { isStar: (token) => token === "*", fits: fitsChar })
}

function fitsChar(token: Token, char: string): boolean {
  if (token === "?" || token === "*") return true
  if ("char" in token) return token.char === char
  return token.set.some(([from, to]) => from <= char && char <= to) !== token.negated
}

/** Wildcards over a list: when something fails to fit, the star that was met last takes one item more. */
function fitsAll<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  { isStar, fits }: { isStar(part: P): boolean; fits(part: P, item: T): boolean },
): boolean {
  let [at, star, taken] = [0, -1, 0]
  for (let item = 0; item < items.length; ) {
    if (at < pattern.length && isStar(pattern[at]!)) {
      star = at++
      taken = item
    } else if (at < pattern.length && fits(pattern[at]!, items[item]!)) {
      at++
      item++
    } else if (star < 0) return false
    else {
      at = star + 1
      item = ++taken
    }
  }
  while (at < pattern.length && isStar(pattern[at]!)) at++
  return at === pattern.length
}

/** `a{b,c}` as `ab` and `ac`; undefined when they would be more than there is room for. */
function expandBraces(pattern: string, { room, budget }: { room: number; budget: GlobBudget }): string[] | undefined {
  const done: string[] = []
  const open = [pattern]
  while (open.length > 0) {
    if (pattern.length > MOST_CHARACTERS || done.length + open.length > room) return undefined
    const next = open.pop()!
    // Also for what comes to nothing: a thousand rules may try.
    budget.left -= next.length
    if (budget.left < 0) return undefined
    const group = findGroup(next)
    if (group === undefined) done.push(next)
    else for (const choice of group.choices) open.push(next.slice(0, group.from) + choice + next.slice(group.to))
  }
  return done
}

/** The first pair of braces with a comma directly in it. */
function findGroup(pattern: string): { from: number; to: number; choices: string[] } | undefined {
  const open: { from: number; commas: number[] }[] = []
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === "\\") at++
    else if (char === "{") open.push({ from: at, commas: [] })
    else if (char === ",") open.at(-1)?.commas.push(at)
    else if (char === "}") {
      const group = open.pop()
      if (group === undefined || group.commas.length === 0) continue
      const ends = [...group.commas, at]
      const choices = ends.map((end, index) => pattern.slice((ends[index - 1] ?? group.from) + 1, end))
      return { from: group.from, to: at + 1, choices }
    }
  }
  return undefined
}
