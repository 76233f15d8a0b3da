/**
 * The rules of one behaviour, indexed by tool, by parameter, by the first word of a command and by the names of a path.
 *
 * Invariant: an index only leaves out rules that cannot fit; deciding is linear in what is left.
 */
import type { RuleSource } from "./decision.ts"
import type { FlagRule } from "./flag.ts"
import { createPathIndex, type PathIndex } from "./path-index.ts"
import { type CompiledRule, once } from "./specifier.ts"

/** The rules of one list: those of each tool, those whose tool is a pattern, and flags. */
export interface RuleTable {
  byTool: ReadonlyMap<string, RuleList>
  patterns: readonly CompiledRule[]
  flags: readonly FlagRule[]
  /** What was put together for names that were asked about. */
  joined: Map<string, JoinedList>
}

/** The rules that speak about one of a few names. */
interface JoinedList {
  all: readonly CompiledRule[]
  patterns: readonly CompiledRule[]
  paths(): PathIndex
  /** By the first word of a command; "" stands for every word that no rule begins with. */
  words: Map<string, readonly CompiledRule[]>
}

/** The rules of one tool, and the same by the first word of the commands that they may fit. */
interface RuleList {
  all: readonly CompiledRule[]
  bare: readonly CompiledRule[]
  /** By the parameter that their specifier may speak of. */
  byParameter(): ReadonlyMap<string, readonly CompiledRule[]>
  byWord(): { words: ReadonlyMap<string, readonly CompiledRule[]>; others: readonly CompiledRule[] }
}

/** Indexes the rules of one behaviour. */
export function createTable(
  rules: readonly CompiledRule[],
  flags: readonly FlagRule[],
  behavior: RuleSource["behavior"],
): RuleTable {
  const lists = new Map<string, CompiledRule[]>()
  const patterns: CompiledRule[] = []
  for (const rule of rules) {
    if (rule.source.behavior !== behavior) continue
    const list = lists.get(rule.tool)
    if (rule.toolPattern) patterns.push(rule)
    else if (list) list.push(rule)
    else lists.set(rule.tool, [rule])
  }
  const byTool = new Map(
    [...lists].map(([tool, all]) => {
      const bare = all.filter((rule) => rule.bare)
      return [tool, { all, bare, byParameter: once(() => indexByParameter(all)), byWord: once(() => indexByWord(all)) }]
    }),
  )
  return { byTool, patterns, flags: flags.filter(({ source }) => source.behavior === behavior), joined: new Map() }
}

/** The rules of a table that speak about one of the names; each once. */
export function rulesFor(table: RuleTable, names: readonly string[]): readonly CompiledRule[] {
  return joinedList(table, names).all
}

/** Of these, by their paths. */
export function pathRulesFor(table: RuleTable, names: readonly string[]): PathIndex {
  return joinedList(table, names).paths()
}

/** Tools have few names, but a call may name any. */
const MAX_JOINED = 100

function joinedList(table: RuleTable, names: readonly string[]): JoinedList {
  const key = names.join("\0")
  let list = table.joined.get(key)
  if (list === undefined) {
    const patterns = table.patterns.filter((rule) => names.some((name) => rule.speaksOf(name)))
    const all = [...new Set(names)].flatMap((name) => table.byTool.get(name)?.all ?? []).concat(patterns)
    list = { all, patterns, paths: once(() => createPathIndex(all)), words: new Map() }
    if (table.joined.size >= MAX_JOINED) table.joined.clear()
    table.joined.set(key, list)
  }
  return list
}

/** Of these, the rules that may fit a call as a whole: bare ones, and those about one of the parameters. */
export function wholeRulesFor(
  table: RuleTable,
  names: readonly string[],
  parameters: readonly string[],
): readonly CompiledRule[] {
  const found = [...new Set(names)].flatMap((name) => {
    const list = table.byTool.get(name)
    return list ? [...list.bare, ...parameters.flatMap((parameter) => list.byParameter().get(parameter) ?? [])] : []
  })
  return [...found, ...patternsFor(table, names)]
}

/** Of these, the rules that may fit a command whose first word is one of `words`. */
export function commandRulesFor(table: RuleTable, names: readonly string[], words: Words): readonly CompiledRule[] {
  const found: CompiledRule[] = []
  for (const name of new Set(names)) {
    const index = table.byTool.get(name)?.byWord()
    if (index === undefined) continue
    if (words.size < index.words.size) {
      for (const word of words.keys()) for (const rule of index.words.get(word) ?? []) found.push(rule)
    } else {
      for (const [word, rules] of index.words) if (words.has(word)) for (const rule of rules) found.push(rule)
    }
    for (const rule of index.others) found.push(rule)
  }
  return found.concat(patternsFor(table, names))
}

/** The same for one word. */
export function wordRulesFor(table: RuleTable, names: readonly string[], word: string): readonly CompiledRule[] {
  const { words } = joinedList(table, names)
  const isNamed = names.some((name) => table.byTool.get(name)?.byWord().words.has(word))
  const key = isNamed ? word : ""
  let found = words.get(key)
  if (found === undefined) {
    found = commandRulesFor(table, names, new Set([key]))
    words.set(key, found)
  }
  return found
}

type Words = { size: number; has(word: string): boolean; keys(): Iterable<string> }

function patternsFor(table: RuleTable, names: readonly string[]): readonly CompiledRule[] {
  return table.patterns.length === 0 ? table.patterns : joinedList(table, names).patterns
}

function indexByParameter(rules: readonly CompiledRule[]): ReadonlyMap<string, readonly CompiledRule[]> {
  const found = new Map<string, CompiledRule[]>()
  for (const rule of rules) {
    const name = rule.parameter()?.name
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), rule])
  }
  return found
}

function indexByWord(rules: readonly CompiledRule[]): ReturnType<RuleList["byWord"]> {
  const words = new Map<string, CompiledRule[]>()
  const others: CompiledRule[] = []
  for (const rule of rules) {
    const word = rule.bare ? undefined : rule.firstWord()
    const list = word === undefined ? others : (words.get(word) ?? [])
    list.push(rule)
    if (word !== undefined) words.set(word, list)
  }
  return { words, others }
}
