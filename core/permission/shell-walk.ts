/**
 * The syntax tree of a command → its segments, read from left to right: folders move, variables are filled in.
 *
 * Invariant: a node that this file does not know is walked as a place where no allow pattern looks, never skipped.
 */
import type { Command, Function as FunctionNode, ParsedScript, Redirection, SyntaxNode } from "unbash"
import { isForkBomb } from "./fork-bomb.ts"
import type { InnerCommand, Segment } from "./segment.ts"
import { printedText, readRedirects, stdinOf } from "./shell-redirect.ts"
import { afterCommand, forkState, type MovingState, settleState, unite } from "./shell-state.ts"
import {
  literalWord,
  plainText,
  readArgument,
  readAssignment,
  readWord,
  scriptsIn,
  splitWords,
  wordsIn,
} from "./shell-word.ts"
import { type Unwrapped, unwrap } from "./wrapper.ts"

type Parser = Pick<typeof import("unbash"), "parse" | "forEachChild">

const MAX_DEPTH = 24
const MAX_SEGMENTS = 1000
/** Commands of a list that are also matched together with their neighbours. */
const MAX_LIST = 8

/** What one walk found, and what it is walking with. */
interface Walk {
  parser: Parser
  state: MovingState
  nested: boolean
  depth: number
  source: string
  sink: Segment[]
  shared: { spans: string[]; trouble?: string; forkBomb: boolean; count: number }
}

/** What a script is made of. */
export interface Walked {
  segments: Segment[]
  spans: string[]
  trouble?: string
  forkBomb: boolean
}

/** Walks a script that the parser read. `cwd`: absolute; `home`: absolute, or "" when unknown. */
export function walkCommand(text: string, parser: Parser, options: { cwd: string; home: string }): Walked {
  const walk: Walk = {
    parser,
    state: { home: options.home, bases: [options.cwd], variables: new Map(), stayed: undefined, moved: false },
    nested: false,
    depth: 0,
    source: text,
    sink: [],
    shared: { spans: [], forkBomb: false, count: 0 },
  }
  walkText(text, walk)
  return { segments: walk.sink, ...walk.shared }
}

function walkText(text: string, walk: Walk): void {
  if (walk.depth > MAX_DEPTH) trouble(walk, "its commands are nested too deep")
  else walkScript(walk.parser.parse(text), { ...walk, source: text, depth: walk.depth + 1 })
}

function trouble(walk: Walk, why: string): void {
  walk.shared.trouble ??= why
}

function walkScript(script: ParsedScript, walk: Walk): void {
  if (script.errors && script.errors.length > 0) trouble(walk, "it does not parse as shell")
  walkAll(script.commands, script.source === undefined ? walk : { ...walk, source: script.source })
}

/** Every run of neighbours in a list, as written: a pattern may speak of several commands at once. */
function addSpans(nodes: readonly SyntaxNode[], walk: Walk): void {
  const some = nodes.length > MAX_LIST ? [...nodes.slice(0, MAX_LIST - 1), nodes.at(-1)!] : nodes
  for (const [i, first] of some.entries()) {
    for (const last of some.slice(i)) walk.shared.spans.push(walk.source.slice(first.pos, last.end))
  }
}

/** Scripts of substitutions run in a shell of their own, where no allow pattern looks. */
function walkSubstitutions(scripts: readonly ParsedScript[], walk: Walk): void {
  for (const script of scripts) {
    const nested = walk.nested || plainText(script) === undefined
    walkScript(script, { ...fork(walk), nested, depth: walk.depth + 1 })
  }
}

function walkAll(nodes: readonly SyntaxNode[], walk: Walk): void {
  if (walk.depth > MAX_DEPTH) {
    trouble(walk, "its commands are nested too deep")
    return
  }
  addSpans(nodes, walk)
  for (const node of nodes) {
    walkNode(node, walk)
    settleState(walk.state)
  }
}

function fork(walk: Walk): Walk {
  return { ...walk, state: forkState(walk.state) }
}

function walkNode(node: SyntaxNode, walk: Walk): void {
  switch (node.type) {
    case "Statement":
      walkNode(node.command, node.background ? { ...fork(walk), nested: true } : walk)
      break
    case "CompoundList":
      walkAll(node.commands, walk)
      break
    case "AndOr":
      walkList(node, walk)
      break
    case "Pipeline":
      walkPipeline(node, walk)
      break
    case "Command":
      walkSimple(node, walk, [])
      break
    case "If":
      walkBranches(
        [node.clause, node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then]), node.else],
        walk,
      )
      break
    case "Subshell":
      walkAll(node.body.commands, { ...fork(walk), nested: true })
      break
    case "TestCommand":
      walkTest(node, walk)
      break
    case "Redirected":
      walkNode(node.command, walk)
      walkRedirected(node.redirects, walk)
      break
    case "Function":
      walkFunction(node, walk)
      break
    default:
      walkOther(node, walk)
  }
}

function walkList(node: Extract<SyntaxNode, { type: "AndOr" }>, walk: Walk): void {
  const { commands, operators } = node
  addSpans(commands, walk)
  for (const [i, command] of commands.entries()) {
    walkNode(command, walk)
    if (operators[i] === "&&") walk.state.stayed = undefined
    else settleState(walk.state)
  }
}

function walkPipeline(node: Extract<SyntaxNode, { type: "Pipeline" }>, walk: Walk): void {
  const { commands } = node
  walk.shared.spans.push(walk.source.slice(node.pos, node.end))
  const posix = node.prefixes.some((prefix) => prefix.type === "Time" && prefix.posix !== undefined)
  const inside = posix ? { ...walk, nested: true } : walk
  if (commands.length === 1) {
    walkNode(commands[0]!, inside)
    return
  }
  for (const [i, command] of commands.entries()) {
    const part = fork(inside)
    const before = commands[i - 1]
    if (command.type === "Command") walkSimple(command, part, before ? printedText(before, part.state) : [])
    else walkNode(command, part)
  }
}

/** Branches run in the folder that they find; afterwards any of their folders may be the current one. */
function walkBranches(lists: readonly (SyntaxNode | undefined)[], walk: Walk): void {
  for (const list of lists) {
    if (list === undefined) continue
    const branch = { ...walk, state: { ...walk.state } }
    walkNode(list, branch)
    walk.state.bases = unite(walk.state.bases, branch.state.bases)
    walk.state.moved ||= branch.state.moved
  }
}

function walkRedirected(redirects: readonly Redirection[], walk: Walk): void {
  const read = readRedirects(redirects, walk.state)
  if (read.trouble !== undefined) trouble(walk, read.trouble)
  if (read.files.length > 0 || read.scripts.length > 0) push(walk, { words: [], redirects: read.files }, read.scripts)
}

function walkFunction(node: FunctionNode, walk: Walk): void {
  const body = { ...fork(walk), nested: true, sink: [] as Segment[] }
  walkNode(node.body, body)
  walk.sink.push(...body.sink)
  if (isForkBomb(node, walk.parser.forEachChild)) walk.shared.forkBomb = true
  push(
    { ...walk, nested: true },
    { words: [literalWord("function"), literalWord(node.name.value)], opaque: "it gives a name another meaning" },
    [],
  )
}

/** Loops, groups, coprocesses, arithmetic: everything in them is looked at, nothing in them fits an allow pattern. */
function walkOther(node: SyntaxNode, walk: Walk): void {
  if (node.type === "For" || node.type === "Select") {
    const values = (node.wordlist ?? []).flatMap((word) => readWord(word, walk.state).word.guesses)
    walk.state.variables.set(node.name.value, values.length > 0 ? values.slice(0, 16) : [""])
  }
  const inside = { ...walk, nested: true }
  const before = walk.state.bases
  walk.parser.forEachChild(node, (child) => {
    if (child.type === "Word" || child.type.startsWith("Arithmetic") || child.type === "CaseItem") {
      walkSubstitutions(scriptsIn(child), inside)
      if (child.type === "CaseItem") walkNode(child.body, inside)
    } else walkNode(child, inside)
  })
  if (node.type.startsWith("Arithmetic")) push(inside, { words: [literalWord("((")] }, [])
  walk.state.bases = unite(before, walk.state.bases)
}

function walkTest(node: SyntaxNode, walk: Walk): void {
  const words = wordsIn(node).map((word) => readWord(word, walk.state).word)
  push(walk, { words: [literalWord("[["), ...words] }, scriptsIn(node))
}

function walkSimple(node: Command, walk: Walk, stdin: readonly string[]): void {
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
  const fed = [...stdin, ...stdinOf(node.redirects, state)]
  const tails = node.name ? [node.name, ...node.args].map(({ pos }) => walk.source.slice(pos, node.end)) : []
  const part = { words, assignments: prefix, redirects: redirects.files, tails }
  push(place, part, [...scripts, ...redirects.scripts], fed)
  if (words.length === 0) for (const { name, word } of prefix) state.variables.set(name, word.guesses)
  const assigned = prefix.map(({ name }) => name)
  if (words.length > 0) afterCommand(words, assigned, state)
}

/** Adds a segment, what it runs in turn, and the scripts that run to make its words. */
function push(
  walk: Walk,
  part: Partial<Segment> & Pick<Segment, "words">,
  scripts: readonly ParsedScript[],
  stdin: readonly string[] = [],
): void {
  if (++walk.shared.count > MAX_SEGMENTS) {
    trouble(walk, "it has too many commands")
    return
  }
  const { bases } = walk.state
  const words = splitWords(part.words)
  const found = unwrap(part.words, stdin)
  // A word that falls apart is guessed at for refusals; no allow rule may look through what is left of it.
  const guessed =
    words.every((word, i) => word === part.words[i]) && words.length === part.words.length
      ? []
      : unwrap(words, stdin).map((one) => ({ ...one, clear: false }))
  const ran = [...found, ...guessed]
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
    inner: ran.flatMap((one, i) => walkInner(one, i < found.length ? tails : [], walk)),
    ...(opaque === undefined ? {} : { opaque }),
  }
  walk.sink.push(segment)
  walkSubstitutions(scripts, walk)
}

function walkInner(found: Unwrapped, tails: readonly string[], walk: Walk): InnerCommand[] {
  if (found.kind === "opaque") return []
  if (walk.depth > MAX_DEPTH) {
    trouble(walk, "its commands are nested too deep")
    return []
  }
  const inside: Walk = { ...fork(walk), sink: [], depth: walk.depth + 1 }
  if (found.kind === "command")
    push(inside, { words: found.words, tails: tails.slice(found.at, found.at + found.words.length) }, [])
  else for (const text of found.texts) walkText(text, { ...inside, nested: true })
  return [{ segments: inside.sink, at: found.at, clear: found.kind === "command" && found.clear }]
}
