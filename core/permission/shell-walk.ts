/**
 * The syntax tree of a command → its segments, read from left to right: folders move, variables are filled in.
 *
 * Invariant: a node that this file does not know is walked as a place where no allow pattern looks, never skipped.
 */
import type { Function as FunctionNode, ParsedScript, Redirection, SyntaxNode } from "unbash"
import { isForkBomb } from "./fork-bomb.ts"
import type { Segment } from "./segment.ts"
import { printedText, readRedirects } from "./shell-redirect.ts"
import { fork, isFull, MAX_DEPTH, push, trouble, type Walk, walkSimple, walkSubstitutions } from "./shell-segment.ts"
import { assignName, createState, settleState, unite } from "./shell-state.ts"
import { assignSums, literalWord, readWord, scriptsIn, wordsIn } from "./shell-word.ts"

/** Commands of a list that are also matched together with their neighbours. */
const MAX_LIST = 8

/** What a script is made of. */
export interface Walked {
  segments: Segment[]
  spans: string[]
  trouble?: string
  forkBomb: boolean
}

/** Walks a script that the parser read. `cwd`: absolute; `home`: absolute, or "" when unknown. */
export function walkCommand(text: string, parser: Walk["parser"], options: { cwd: string; home: string }): Walked {
  const walk: Walk = {
    parser,
    into: { text: walkText, script: walkScript, node: walkNode },
    state: createState(options.cwd, options.home),
    nested: false,
    depth: 0,
    source: text,
    sink: [],
    shared: { spans: [], forkBomb: false, count: 0, words: 0, calls: new Set() },
  }
  walkText(text, walk)
  const { spans, forkBomb, trouble: why } = walk.shared
  return { segments: walk.sink, spans, forkBomb, ...(why === undefined ? {} : { trouble: why }) }
}

function walkText(text: string, walk: Walk): void {
  if (walk.depth > MAX_DEPTH) trouble(walk, "its commands are nested too deep")
  else walkScript(walk.parser.parse(text), { ...walk, source: text, depth: walk.depth + 1 })
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

function walkNode(node: SyntaxNode, walk: Walk): void {
  if (isFull(walk)) return
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
      walkSimple(node, walk)
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
    if (command.type === "Command") walkSimple(command, part, before && printedText(before, part.state))
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

/** The body is looked at where it is defined, and again with its parameters where the name is called. */
function walkFunction(node: FunctionNode, walk: Walk): void {
  const name = node.name.value
  const body = { ...fork(walk), nested: true, sink: [] as Segment[] }
  walkNode(node.body, body)
  walk.sink.push(...body.sink)
  if (isForkBomb(node, walk.parser.forEachChild)) walk.shared.forkBomb = true
  walk.state.changes.functions.set(name, node)
  push({ ...walk, nested: true }, { words: [literalWord("function"), literalWord(name)] }, [])
}

/** Loops, groups, coprocesses, arithmetic: everything in them is looked at, nothing in them fits an allow pattern. */
function walkOther(node: SyntaxNode, walk: Walk): void {
  if (node.type === "For" || node.type === "Select") {
    const values = (node.wordlist ?? []).flatMap((word) => readWord(word, walk.state).word.guesses)
    assignName(walk.state, node.name.value, { guesses: values.length > 0 ? values.slice(0, 16) : [""] })
  }
  if (node.type === "Coproc" && node.name) assignName(walk.state, node.name.value, {})
  if (node.type.startsWith("Arithmetic")) assignSums(walk.source.slice(node.pos, node.end), walk.state)
  const inside = { ...walk, nested: true }
  const before = walk.state.bases
  const first = walk.sink.length
  walk.parser.forEachChild(node, (child) => {
    if (child.type === "Word" || child.type.startsWith("Arithmetic") || child.type === "CaseItem") {
      walkSubstitutions(scriptsIn(child), inside)
      if (child.type === "CaseItem") walkNode(child.body, inside)
    } else walkNode(child, inside)
  })
  if (node.type.startsWith("Arithmetic")) push(inside, { words: [literalWord("((")] }, [])
  walk.state.bases = unite(before, walk.state.bases)
  // What a loop sets at its end, its beginning sees in the next round.
  const { unsure } = walk.state.changes
  if (unsure !== undefined && LOOPS.has(node.type)) {
    for (const segment of walk.sink.slice(first)) if (segment.changed === undefined) segment.changed = unsure
  }
}

const LOOPS: ReadonlySet<string> = new Set(["For", "While", "Select", "ArithmeticFor"])

function walkTest(node: SyntaxNode, walk: Walk): void {
  const words = wordsIn(node).map((word) => readWord(word, walk.state).word)
  push(walk, { words: [literalWord("[["), ...words] }, scriptsIn(node))
}

/** `piped`: what is known of the text that a pipe hands it; left out: it stands behind no pipe. */
