/**
 * A simple command of the syntax tree → its segment: words, redirects, and all that it runs in turn.
 *
 * Invariant: every command goes through `push`, so that none is looked at without what came before it.
 */
import type { Command, Function as FunctionNode, ParsedScript, SyntaxNode } from "unbash"
import type { InnerCommand, Segment } from "./segment.ts"
import { readRedirects, stdinOf } from "./shell-redirect.ts"
import { afterCommand, assignName, forkState, type MovingState, setParameters } from "./shell-state.ts"
import { readArgument, readAssignment, type ShellWord, splitWords } from "./shell-word.ts"
import { type Unwrapped, unwrap, writtenName } from "./wrapper.ts"
import { unwrapVariables } from "./wrapper-variable.ts"

/** Commands inside commands; deeper ones are trouble. */
export const MAX_DEPTH = 24
const MAX_SEGMENTS = 400
/** Words and redirects, those of inner commands counted again. */
const MAX_WORDS = 2000
/** The same of one command: each may be a file, which is looked up on the disk. */
const MAX_WORDS_EACH = 500

/** What one walk found, and what it is walking with. */
export interface Walk {
  parser: Pick<typeof import("unbash"), "parse" | "forEachChild">
  /** How to go on below: into a text, a parsed script, a node. */
  into: {
    text(text: string, walk: Walk): void
    script(script: ParsedScript, walk: Walk): void
    node(node: SyntaxNode, walk: Walk): void
  }
  state: MovingState
  nested: boolean
  depth: number
  source: string
  sink: Segment[]
  shared: {
    spans: string[]
    trouble?: string
    forkBomb: boolean
    count: number
    words: number
    calls: Set<FunctionNode>
  }
}

/** Notes why the whole command can never be allowed without a question; the first reason stays. */
export function trouble(walk: Walk, why: string): void {
  walk.shared.trouble ??= why
}

/** True when there is more than is looked through; the rough cut sees the rest. */
export function isFull({ shared }: Walk): boolean {
  return shared.count > MAX_SEGMENTS || shared.words > MAX_WORDS
}

/** A walk through a shell of its own. */
export function fork(walk: Walk): Walk {
  return { ...walk, state: forkState(walk.state) }
}

/** Adds the segment of a simple command, and changes the state as the command does. */
export function walkSimple(node: Command, walk: Walk, piped?: readonly string[]): void {
  const { state } = walk
  const prefix = node.prefix
    .filter((part) => part.type === "Assignment")
    .map((part) => ({ name: part.name, ...readAssignment(part, state) }))
  const parts = node.name ? [node.name, ...node.args].map((part) => readArgument(part, state)) : []
  const words = parts.map(({ word }) => word)
  const redirects = readRedirects(node.redirects, state)
  if (redirects.trouble !== undefined) trouble(walk, redirects.trouble)
  // A redirect in front of its command is legal, and nothing that a person writes.
  const odd = node.name !== undefined && node.prefix.some((part) => part.type === "Redirect")
  const place = { ...walk, nested: walk.nested || odd || redirects.expands }
  const scripts = [...prefix, ...parts].flatMap((part) => part.scripts)
  const stdin = [...(piped ?? []), ...stdinOf(node.redirects, state)]
  const isFed = piped !== undefined || redirects.feeds
  const tails = node.name ? [node.name, ...node.args].map(({ pos }) => walk.source.slice(pos, node.end)) : []
  const part = {
    words,
    assignments: prefix,
    redirects: redirects.files,
    tails,
    ...(isFed ? { fed: true as const } : {}),
  }
  push(place, part, [...scripts, ...redirects.scripts], stdin)
  if (words.length === 0) {
    for (const { name, word } of prefix) {
      assignName(state, name, { guesses: word.guesses, known: word.value !== undefined })
    }
  }
  for (const name of redirects.assigned) assignName(state, name, {})
  const assigned = prefix.map(({ name }) => name)
  if (words.length > 0) afterCommand(words, assigned, state)
}

/** Adds a segment, what it runs in turn, and the scripts that run to make its words. */
export function push(
  walk: Walk,
  part: Partial<Segment> & Pick<Segment, "words">,
  scripts: readonly ParsedScript[],
  stdin: readonly string[] = [],
): void {
  const count = part.words.length + (part.redirects?.length ?? 0)
  walk.shared.words += count
  walk.shared.count++
  if (isFull(walk) || count > MAX_WORDS_EACH) {
    trouble(walk, "it has too many commands or words")
    return
  }
  const { bases } = walk.state
  const words = splitWords(part.words)
  const found = [...unwrap(part.words, stdin), ...unwrapVariables(part.assignments ?? [], words)]
  // A word that falls apart is guessed at for refusals; no allow rule may look through what is left of it.
  const guessed =
    words.every((word, i) => word === part.words[i]) && words.length === part.words.length
      ? []
      : unwrap(words, stdin).map((one) => ({ ...one, clear: false }))
  const ran = [...found, ...guessed]
  const { unsure, functions } = walk.state.changes
  const named = functions.size > 0 && words.length > 0 && functions.has(writtenName(words))
  const changed = unsure ?? (named ? "its name was given another meaning" : undefined)
  const tails = part.tails ?? []
  const opaque = part.opaque ?? ran.find((one) => one.kind === "opaque")?.why
  const segment: Segment = {
    assignments: [],
    redirects: [],
    tails: [],
    ...part,
    bases,
    moved: walk.state.moved,
    nested: walk.nested,
    inner: [
      ...ran.flatMap((one, i) => walkInner(one, i < found.length ? tails : [], { walk, stdin })),
      ...(named ? walkCall(words, walk) : []),
    ],
    ...(opaque === undefined ? {} : { opaque }),
    ...(changed === undefined ? {} : { changed }),
  }
  walk.sink.push(segment)
  walkSubstitutions(scripts, walk)
}

function walkInner(
  found: Unwrapped,
  tails: readonly string[],
  { walk, stdin }: { walk: Walk; stdin: readonly string[] },
): InnerCommand[] {
  if (found.kind === "opaque" || isFull(walk)) return []
  if (walk.depth > MAX_DEPTH) {
    trouble(walk, "its commands are nested too deep")
    return []
  }
  const here = found.kind === "script" && found.here === true
  const inside: Walk = { ...(here ? walk : fork(walk)), sink: [], depth: walk.depth + 1 }
  if (found.kind === "command")
    push(inside, { words: found.words, tails: tails.slice(found.at, found.at + found.words.length) }, [], stdin)
  else for (const text of found.texts) walk.into.text(text, { ...inside, nested: true })
  const owned = found.owned ? { owned: true as const } : {}
  return [{ segments: inside.sink, at: found.at, clear: found.kind === "command" && found.clear, ...owned }]
}

/** The commands that a call of a function runs; none for one that runs already. */
function walkCall(words: readonly ShellWord[], walk: Walk): InnerCommand[] {
  const node = walk.state.changes.functions.get(writtenName(words))
  const { calls } = walk.shared
  if (node === undefined || calls.has(node) || walk.depth > MAX_DEPTH) return []
  const inside: Walk = { ...fork(walk), nested: true, sink: [], depth: walk.depth + 1 }
  setParameters(words.slice(1), inside.state)
  calls.add(node)
  walk.into.node(node.body, inside)
  calls.delete(node)
  for (const name of inside.state.changes.set) walk.state.changes.set.add(name)
  walk.state.changes.unsure ??= inside.state.changes.unsure
  return [{ segments: inside.sink, at: 0, clear: false }]
}

/** Scripts of substitutions run in a shell of their own; what they print is a word that nobody knows. */
export function walkSubstitutions(scripts: readonly ParsedScript[], walk: Walk): void {
  for (const script of scripts) walk.into.script(script, { ...fork(walk), depth: walk.depth + 1 })
}
