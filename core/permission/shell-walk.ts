/**
 * The syntax tree of a command → its segments, read from left to right: folders move, variables are filled in.
 *
 * Invariant: a node that this file does not know is walked as a place where no allow pattern looks, never skipped.
 */
import { resolve } from "node:path"
import type { Assignment, Command, Function as FunctionNode, ParsedScript, Redirection, SyntaxNode, Word } from "unbash"
import type { InnerCommand, Segment, ShellRedirect } from "./segment.ts"
import { literalWord, plainText, readWord, type ShellState, type ShellWord, scriptsIn, splitWords } from "./shell-word.ts"
import { programName, type Unwrapped, unwrap } from "./wrapper.ts"

type Parser = Pick<typeof import("unbash"), "parse" | "forEachChild">

const MAX_DEPTH = 24
const MAX_SEGMENTS = 1000
const MAX_BASES = 8

/** What one walk found, and what it is walking with. */
interface Walk {
  parser: Parser
  state: WalkState
  nested: boolean
  depth: number
  source: string
  sink: Segment[]
  shared: { spans: string[]; trouble?: string; forkBomb: boolean; count: number }
}

interface WalkState extends ShellState {
  /** Folders that a failed `cd` leaves behind. */
  stayed: readonly string[] | undefined
  /** A `cd` came before. */
  moved: boolean
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

/** Scripts of substitutions run in a shell of their own, where no allow pattern looks. */
function walkSubstitutions(scripts: readonly ParsedScript[], walk: Walk): void {
  for (const script of scripts) {
    const nested = walk.nested || plainText(script) === undefined
    walkScript(script, { ...fork(walk), nested, depth: walk.depth + 1 })
  }
}

function walkAll(nodes: readonly SyntaxNode[], walk: Walk): void {
  if (walk.depth > MAX_DEPTH) return trouble(walk, "its commands are nested too deep")
  for (const node of nodes) {
    walkNode(node, walk)
    settle(walk)
  }
}

function fork(walk: Walk): Walk {
  const { state } = walk
  return { ...walk, state: { ...state, variables: new Map(state.variables), stayed: undefined } }
}

/** After a command whose success nobody asked for: a `cd` may have failed. */
function settle({ state }: Walk): void {
  if (state.stayed) state.bases = union(state.bases, state.stayed)
  state.stayed = undefined
}

function union(a: readonly string[] | undefined, b: readonly string[] | undefined): readonly string[] | undefined {
  if (a === undefined || b === undefined) return undefined
  const all = [...new Set([...a, ...b])]
  return all.length > MAX_BASES ? undefined : all
}

function walkNode(node: SyntaxNode, walk: Walk): void {
  switch (node.type) {
    case "Statement":
      if (node.background) return walkNode(node.command, { ...fork(walk), nested: true })
      return walkNode(node.command, walk)
    case "CompoundList":
      return walkAll(node.commands, walk)
    case "AndOr":
      return walkList(node, walk)
    case "Pipeline":
      return walkPipeline(node, walk)
    case "Command":
      return walkSimple(node, walk, [])
    case "If":
      return walkBranches([node.clause, node.then, ...node.elif.flatMap((elif) => [elif.clause, elif.then]), node.else], walk)
    case "Subshell":
      return walkAll(node.body.commands, { ...fork(walk), nested: true })
    case "TestCommand":
      return push(walk, { words: [literalWord("[["), ...wordsIn(node, walk).map((word) => readWord(word, walk.state).word)] }, scriptsIn(node))
    case "Redirected":
      walkNode(node.command, walk)
      return walkRedirected(node.redirects, walk)
    case "Function":
      return walkFunction(node, walk)
    default:
      return walkOther(node, walk)
  }
}

function walkList(node: Extract<SyntaxNode, { type: "AndOr" }>, walk: Walk): void {
  const { commands, operators } = node
  for (const command of commands.slice(0, MAX_BASES)) walk.shared.spans.push(walk.source.slice(command.pos, node.end))
  for (const [i, command] of commands.entries()) {
    walkNode(command, walk)
    if (operators[i] === "&&") walk.state.stayed = undefined
    else settle(walk)
  }
}

function walkPipeline(node: Extract<SyntaxNode, { type: "Pipeline" }>, walk: Walk): void {
  const { commands } = node
  walk.shared.spans.push(walk.source.slice(node.pos, node.end))
  const posix = node.prefixes.some((prefix) => prefix.type === "Time" && prefix.posix !== undefined)
  const inside = posix ? { ...walk, nested: true } : walk
  if (commands.length === 1) return walkNode(commands[0]!, inside)
  for (const [i, command] of commands.entries()) {
    const part = fork(inside)
    const before = commands[i - 1]
    if (command.type === "Command") walkSimple(command, part, before ? printed(before, part) : [])
    else walkNode(command, part)
  }
}

/** The text that `echo` and `printf` write, and a here-document that `cat` passes on, for a shell that reads it. */
function printed(node: SyntaxNode, walk: Walk): string[] {
  if (node.type !== "Command") return []
  const name = node.name?.value ?? ""
  if (name === "cat") return stdinOf(node.redirects, walk)
  if (name !== "echo" && name !== "printf") return []
  const words = node.args.flatMap((arg) => (arg.type === "Word" ? [readWord(arg, walk.state).word.guesses[0]!] : []))
  return [words.filter((word, i) => i > 0 || !/^-[neE]+$|^(?:%[sb]|\\n)+$/.test(word)).join(" ").replaceAll("\\n", "\n")]
}

/** Branches run in the folder that they find; afterwards any of their folders may be the current one. */
function walkBranches(lists: readonly (SyntaxNode | undefined)[], walk: Walk): void {
  for (const list of lists) {
    if (list === undefined) continue
    const branch = { ...walk, state: { ...walk.state } }
    walkNode(list, branch)
    walk.state.bases = union(walk.state.bases, branch.state.bases)
    walk.state.moved ||= branch.state.moved
  }
}

function walkRedirected(redirects: readonly Redirection[], walk: Walk): void {
  const read = readRedirects(redirects, walk)
  if (read.files.length > 0 || read.scripts.length > 0) push(walk, { words: [], redirects: read.files }, read.scripts)
}

function walkFunction(node: FunctionNode, walk: Walk): void {
  const body = { ...fork(walk), nested: true, sink: [] as Segment[] }
  walkNode(node.body, body)
  walk.sink.push(...body.sink)
  if (isForkBomb(node, walk.parser)) walk.shared.forkBomb = true
  push({ ...walk, nested: true }, { words: [literalWord("function"), literalWord(node.name.value)], opaque: "it gives a name another meaning" }, [])
}

/** A function that pipes itself into itself, or starts itself twice with one of the two in the background. */
function isForkBomb(node: FunctionNode, { forEachChild }: Parser): boolean {
  const isCall = (child: SyntaxNode) => child.type === "Command" && child.name?.value === node.name.value
  let calls = 0
  let behind = 0
  let piped = false
  const visit = (child: SyntaxNode) => {
    if (child.type === "Pipeline") piped ||= child.commands.filter(isCall).length > 1
    if (child.type === "Statement" && child.background && isCall(child.command)) behind++
    if (isCall(child)) calls++
    else forEachChild(child, visit)
  }
  visit(node.body)
  return piped || (behind > 0 && calls > 1)
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
  walk.state.bases = union(before, walk.state.bases)
}

function wordsIn(node: SyntaxNode, walk: Walk): Word[] {
  const found: Word[] = []
  const visit = (child: SyntaxNode) => {
    if (child.type === "Word") found.push(child)
    else walk.parser.forEachChild(child, visit)
  }
  walk.parser.forEachChild(node, visit)
  return found
}

function walkSimple(node: Command, walk: Walk, stdin: readonly string[]): void {
  const scripts: ParsedScript[] = []
  const read = (word: Word): ShellWord => {
    const one = readWord(word, walk.state)
    scripts.push(...one.scripts)
    return one.word
  }
  const assign = (part: Assignment) => ({ name: part.name, word: readAssignment(part, read, scripts) })
  const assignments = node.prefix.filter((part) => part.type === "Assignment").map(assign)
  const args = node.args.map((arg) => (arg.type === "Word" ? read(arg) : argumentOf(assign(arg), arg.text)))
  const redirects = readRedirects(node.redirects, walk)
  const words = node.name ? [read(node.name), ...args] : []
  // A redirect in front of its command is legal, and nothing that a person writes.
  const odd = node.name !== undefined && node.prefix.some((part) => part.type === "Redirect")
  const place = { ...walk, nested: walk.nested || odd || redirects.expands }
  const fed = [...stdin, ...stdinOf(node.redirects, walk)]
  push(place, { words, assignments, redirects: redirects.files }, [...scripts, ...redirects.scripts], fed)
  if (words.length === 0) for (const { name, word } of assignments) walk.state.variables.set(name, word.guesses)
  else afterCommand(words, node, walk)
}

function readAssignment(part: Assignment, read: (word: Word) => ShellWord, scripts: ParsedScript[]): ShellWord {
  if (part.index) scripts.push(...scriptsIn(part.index))
  if (part.value.type === "Word") return { ...read(part.value), raw: part.text }
  const elements = part.value.elements.map(read)
  return { ...literalWord(part.text), value: undefined, guesses: [elements.map((word) => word.guesses[0]).join(" ")] }
}

function argumentOf({ name, word }: { name: string; word: ShellWord }, raw: string): ShellWord {
  const value = word.value === undefined ? undefined : `${name}=${word.value}`
  return { ...word, raw, value, guesses: word.guesses.map((guess) => `${name}=${guess}`) }
}

/** `expands`: an unquoted here-document, whose text is not known before it runs. */
function readRedirects(redirects: readonly Redirection[], walk: Walk) {
  const files: ShellRedirect[] = []
  const scripts: ParsedScript[] = []
  let expands = false
  for (const redirect of redirects) {
    scripts.push(...scriptsIn(redirect))
    if (redirect.type === "HereDoc") {
      expands ||= redirect.delimiter?.quoted !== true
      if (redirect.closing === undefined) trouble(walk, "its here-document has no end")
      continue
    }
    if (redirect.target === undefined) trouble(walk, "a redirect has no target")
    else {
      const { word } = readWord(redirect.target, walk.state)
      if (redirect.type === "HereString") expands ||= word.value === undefined
      else if (!/^[<>]&$/.test(redirect.operator) || !/^(?:\d+-?|-)$/.test(word.value ?? "")) {
        if (redirect.operator !== "<" && redirect.operator !== "<&") files.push({ access: "write", word })
        if (redirect.operator.startsWith("<")) files.push({ access: "read", word })
      }
    }
  }
  return { files, scripts, expands }
}

function stdinOf(redirects: readonly Redirection[], walk: Walk): string[] {
  return redirects.flatMap((redirect) => {
    if (redirect.type === "HereDoc") return [redirect.body.text]
    if (redirect.type !== "HereString" || redirect.target === undefined) return []
    return [...readWord(redirect.target, walk.state).word.guesses]
  })
}

/** Adds a segment, what it runs in turn, and the scripts that run to make its words. */
function push(
  walk: Walk,
  part: Partial<Segment> & Pick<Segment, "words">,
  scripts: readonly ParsedScript[],
  stdin: readonly string[] = [],
): void {
  if (++walk.shared.count > MAX_SEGMENTS) return trouble(walk, "it has too many commands")
  const { bases } = walk.state
  const words = splitWords(part.words)
  const found = unwrap(words, stdin)
  const opaque = part.opaque ?? found.find((one) => one.kind === "opaque")?.why
  const segment: Segment = {
    assignments: [],
    redirects: [],
    ...part,
    bases,
    moved: walk.state.moved,
    nested: walk.nested,
    inner: found.flatMap((one) => walkInner(one, walk)),
    ...(opaque === undefined ? {} : { opaque }),
  }
  walk.sink.push(segment)
  walkSubstitutions(scripts, walk)
}

function walkInner(found: Unwrapped, walk: Walk): InnerCommand[] {
  if (found.kind === "opaque") return []
  if (walk.depth > MAX_DEPTH) {
    trouble(walk, "its commands are nested too deep")
    return []
  }
  const inside: Walk = { ...fork(walk), sink: [], depth: walk.depth + 1 }
  if (found.kind === "command") push(inside, { words: found.words }, [])
  else for (const text of found.texts) walkText(text, { ...inside, nested: true })
  return [{ segments: inside.sink, at: found.at, clear: found.kind === "command" && found.clear }]
}

/** What a builtin leaves behind for the commands after it. */
function afterCommand(words: readonly ShellWord[], node: Command, walk: Walk): void {
  const name = programName(words)
  if (name === "command" || name === "builtin") return afterCommand(words.slice(1), node, walk)
  if (name === "cd" || name === "pushd" || name === "popd") return move(words, node, walk)
  if (name === "set" && words[1]?.raw === "--") {
    const values = words.slice(2).map((word) => word.guesses[0]!)
    for (const key of ["@", "*"]) walk.state.variables.set(key, [values.join(" ")])
    for (const [i, value] of values.entries()) walk.state.variables.set(String(i + 1), [value])
  }
  if (name === "read" || name === "mapfile") for (const word of words.slice(1)) walk.state.variables.set(word.guesses[0]!, [""])
  if (!/^(?:export|declare|typeset|local|readonly)$/.test(name)) return
  for (const word of words.slice(1)) {
    const set = /^([A-Za-z_]\w*)\+?=(.*)$/s.exec(word.guesses[0]!)
    if (set) walk.state.variables.set(set[1]!, [set[2]!])
  }
}

function move(words: readonly ShellWord[], node: Command, walk: Walk): void {
  const { state } = walk
  const [target, ...more] = words.slice(1).filter((word) => !/^-[LPe]+$|^--$/.test(word.raw))
  const searches = state.variables.has("CDPATH") || node.prefix.some((part) => part.type === "Assignment" && part.name === "CDPATH")
  const to = target === undefined ? (programName(words) === "cd" ? state.home || undefined : undefined) : target.value
  state.stayed = union(state.stayed ?? state.bases, state.bases)
  state.moved = true
  const known = to !== undefined && more.length === 0 && !searches && !target?.glob && !/^[-+]/.test(to)
  state.bases = known ? state.bases?.map((base) => resolve(base, to)) : undefined
}
