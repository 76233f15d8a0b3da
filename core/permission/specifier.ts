/**
 * One parsed rule → its readings: as a command pattern, a path, a domain, a name, a parameter, each made on first use.
 *
 * Invariant: which reading counts is said by what a call touches, never by the tool's name.
 */
import type { RuleSource } from "./decision.ts"
import { type PathAnchors, type PathPattern, parsePathPattern } from "./path-pattern.ts"
import { isExact, matchesWildcard, parseWildcard, type Wildcard } from "./wildcard.ts"

/** A rule, ready to be matched. */
export interface CompiledRule {
  source: RuleSource
  tool: string
  /** The tool part stands for more than one tool: it holds `*`, or names an MCP server. */
  toolPattern: boolean
  specifier: string | undefined
  /** It has no specifier, or one that stands for everything. */
  bare: boolean
  speaksOf(name: string): boolean
  /** Readings of the specifier as a command; empty for a rule without one. */
  commands(): readonly Wildcard[]
  /** The first word of every command that it may fit; undefined when that may be any. */
  firstWord(): string | undefined
  path(): PathPattern | undefined
  /** `domain:` rules: true when the host fits; any other: undefined. */
  domain(host: string): boolean | undefined
  /** The name of an agent or a skill. */
  name(text: string): boolean
  parameter(): { name: string; value: Wildcard } | undefined
}

/** Makes a rule; its readings are parsed when they are first asked for. */
export function createRule(
  { tool, specifier }: { tool: string; specifier?: string },
  source: RuleSource,
  anchors: PathAnchors,
): CompiledRule {
  const refuses = source.behavior !== "allow"
  const text = refuses ? specifier?.trim() : specifier
  const commands = once(() => (text === undefined ? [] : commandReadings(text, refuses)))
  return {
    source,
    tool,
    toolPattern: tool.includes("*") || isServer(tool),
    specifier: text,
    bare: text === undefined || text === "*" || (refuses && text === "**"),
    speaksOf: toolMatcher(tool),
    commands,
    firstWord: once(() => firstWordOf(commands())),
    path: once(() => (text === undefined ? undefined : parsePathPattern(text, anchors, refuses ? "refuse" : "allow"))),
    domain: domainMatcher(text, refuses),
    name: nameMatcher(text, refuses),
    parameter: once(() => readParameter(text)),
  }
}

function toolMatcher(tool: string): (name: string) => boolean {
  if (tool.includes("*")) {
    const pattern = { chunks: tool.split("*"), bounded: false }
    return (name) => matchesWildcard(pattern, name)
  }
  if (isServer(tool)) return (name) => name === tool || name.startsWith(`${tool}__`)
  // The older name of the same tool.
  if (tool === "Task" || tool === "Agent") return (name) => name === "Task" || name === "Agent"
  return (name) => name === tool
}

function isServer(tool: string): boolean {
  return tool.startsWith("mcp__") && tool.split("__").length === 2
}

/** As written, and with runs of blanks made one; a quote in the pattern stands for itself. */
function commandReadings(text: string, refuses: boolean): Wildcard[] {
  // A pattern without a star fits one text, the blanks inside of its quotes included.
  if (!refuses && isExact(parseWildcard(text))) return [parseWildcard(text)]
  const collapsed = text.replace(/[ \t]+/g, " ")
  const tight = refuses && collapsed.endsWith(" :*") ? `${collapsed.slice(0, -3)}:*` : collapsed
  return [...new Set([text, collapsed, tight])].map(parseWildcard)
}

function firstWordOf(readings: readonly Wildcard[]): string | undefined {
  const words = new Set(
    readings.map(({ chunks: [head = "", ...more], bounded }) => {
      const word = /^\S*(?=\s)/.exec(head)?.[0]
      return word ?? (bounded || more.length === 0 ? (more.length === 0 ? head : undefined) : undefined)
    }),
  )
  const [only] = words
  return words.size === 1 ? only : undefined
}

/** A guard that names a host or an address without saying `domain:` is meant for the host. */
function domainMatcher(text: string | undefined, refuses: boolean): (host: string) => boolean | undefined {
  const bare = refuses
    ? /^(?:https?:\/\/)?([\w*-]+(?:\.[\w*-]+)+\.?)(?::\d+)?(?:\/\**)?$/i.exec(text ?? "")?.[1]
    : undefined
  const given = /^domain\s*:(.*)$/s.exec(text ?? "")?.[1]?.trim() ?? bare
  if (given === undefined) return () => undefined
  const pattern = canonicalHost(given)
  if (pattern === "*") return () => true
  if (pattern.startsWith("*.")) return (host) => host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1
  const labels = pattern.split(".")
  return (host) => {
    const parts = host.split(".")
    return (
      parts.length === labels.length &&
      labels.every((label, i) => matchesWildcard({ chunks: label.split("*"), bounded: false }, parts[i]!))
    )
  }
}

function canonicalHost(text: string): string {
  const plain = text.toLowerCase().replace(/\.$/, "")
  if (plain.includes("*")) return plain
  try {
    return new URL(`http://${plain}`).hostname.replace(/\.$/, "")
  } catch {
    return plain
  }
}

function nameMatcher(text: string | undefined, refuses: boolean): (name: string) => boolean {
  if (text === undefined || text === "*") return () => true
  const pattern = parseWildcard(text)
  const [head = "", ...more] = pattern.chunks
  const isPrefix = pattern.bounded && more.length === 0
  // A skill's name may come with arguments behind it, and one of a plugin with the plugin in front of it.
  if (refuses) {
    const group = text.endsWith(":*") ? `${head}:` : undefined
    return (name) =>
      matchesWildcard(pattern, name) ||
      matchesWildcard(pattern, /^\S*/.exec(name)![0]) ||
      (group !== undefined && name.startsWith(group))
  }
  return (name) => (isExact(pattern) && head === name) || (isPrefix && (name === head || name.startsWith(`${head} `)))
}

function readParameter(text: string | undefined): { name: string; value: Wildcard } | undefined {
  const found = /^([A-Za-z_][\w-]*)\s*:(.*)$/s.exec(text ?? "")
  return found ? { name: found[1]!, value: parseWildcard(found[2]!.trim()) } : undefined
}

/** Makes a value when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
