/**
 * One word of a shell command → its value when it is known before the command runs, and what it may become when not.
 *
 * Invariant: `value` is never a guess; `guesses` may be wrong in both directions and serve refusing alone.
 */
import type { Assignment, ParameterExpansionPart, ParsedScript, SyntaxNode, Word, WordPart } from "unbash"

/** A word of a command line, or the target of a redirect. */
export interface ShellWord {
  /** As written. */
  raw: string
  /** After quote removal; undefined when it is only known when the command runs. An unquoted glob keeps its characters. */
  value: string | undefined
  /** What it may become, variables of the same command filled in; an unknown part counts as empty. Never an empty list. */
  guesses: readonly string[]
  /** Holds an unquoted `*`, `?` or `[…]`. */
  glob: boolean
  /** An unquoted expansion: its guess falls apart at blanks. */
  splits: boolean
  /** A guess that counts an unknown part as empty. */
  emptied: boolean
  /** Its parts are known, but for those that commands print which are looked at themselves. */
  printed?: true
}

/** What is known while a command is read from left to right. */
export interface ShellState {
  home: string
  /** Folders that relative paths may start from; undefined: not known. */
  bases: readonly string[] | undefined
  /** What variables may hold, set by the command itself. */
  variables: Map<string, readonly string[]>
  /** Keeps what an expansion sets; undefined: its value is not known. */
  assign(name: string, guesses: readonly string[] | undefined): void
}

/** A word, and the scripts that run to make it. */
export interface ReadWord {
  word: ShellWord
  scripts: ParsedScript[]
}

/** Stands in a guess for a part that is surely not empty. */
export const SOME_TEXT = "\uFFFC"
const MAX_GUESSES = 16
/** Braces in braces whose alternatives are told apart. */
const MAX_BRACES = 8
/** Longer ones are cut: a variable may hold itself many times over. */
const MAX_GUESS_CHARS = 10_000

interface Piece {
  value: string | undefined
  guesses: readonly string[]
  glob?: boolean
  splits?: boolean
  emptied?: boolean
}

/** Reads a word of the syntax tree. */
export function readWord(node: Word, state: ShellState): ReadWord {
  const pieces = node.parts?.map((part) => readPart(part, state, false)) ?? [literal(node.value)]
  const joined = expandTilde(node.text, join(pieces), state)
  const { value, guesses, glob = false, splits = false, emptied = false } = joined
  const word = { raw: node.text, value, guesses, glob, splits, emptied }
  const printed = value === undefined && !glob && node.parts?.every(isPrinted) === true
  return { word: printed ? { ...word, printed } : word, scripts: scriptsIn(node) }
}

/** Known as it is written, or printed by a command. */
function isPrinted(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
    case "CommandExpansion":
    case "ProcessSubstitution":
      return true
    case "DoubleQuoted":
      return part.parts.every(isPrinted)
    default:
      return false
  }
}

/** Reads `NAME=value`; its raw text is the whole of it, its value that of the right side. */
export function readAssignment(part: Assignment, state: ShellState): ReadWord {
  const index = part.index ? scriptsIn(part.index) : []
  if (part.value.type === "Word") {
    const { word, scripts } = readWord(part.value, state)
    return { word: { ...word, raw: part.text }, scripts: [...index, ...scripts] }
  }
  const elements = part.value.elements.map((element) => readWord(element, state))
  const guesses = [elements.map(({ word }) => word.guesses[0]).join(" ")]
  const word = { ...literalWord(part.text), value: undefined, guesses }
  return { word, scripts: [...index, ...elements.flatMap(({ scripts }) => scripts)] }
}

/** Reads an argument; `NAME=value` after `export`, `declare` and their like is one too. */
export function readArgument(part: Word | Assignment, state: ShellState): ReadWord {
  if (part.type === "Word") return readWord(part, state)
  const { word, scripts } = readAssignment(part, state)
  const value = word.value === undefined ? undefined : `${part.name}=${word.value}`
  const guesses = word.guesses.map((guess) => `${part.name}=${guess}`)
  return { word: { ...word, value, guesses }, scripts }
}

/** A word whose value is known, as quote removal left it. */
export function literalWord(value: string, raw = value): ShellWord {
  return { raw, value, guesses: [value], glob: false, splits: false, emptied: false }
}

/** The words after a guess fell apart at its blanks; words without a text fall out. */
export function splitWords(words: readonly ShellWord[]): readonly ShellWord[] {
  if (!words.some((word) => word.splits)) return words
  return words.flatMap((word) => {
    const [only] = word.guesses
    if (!word.splits || word.value !== undefined || word.guesses.length !== 1 || only === undefined) return [word]
    const parts = only.split(/\s+/).filter((part) => part !== "")
    return parts.map((part) => ({ ...word, guesses: [part] }))
  })
}

/** Every script that runs while the node is expanded: substitutions of all kinds, at any depth. */
export function scriptsIn(node: SyntaxNode): ParsedScript[] {
  const found: ParsedScript[] = []
  const visit = (child: SyntaxNode) => {
    if (child.type === "Script") found.push(child as ParsedScript)
    else forEach(child, visit)
  }
  forEach(node, visit)
  return found
}

/** The words that stand right below the node, but not in one another. */
export function wordsIn(node: SyntaxNode): Word[] {
  const found: Word[] = []
  const visit = (child: SyntaxNode) => {
    if (child.type === "Word") found.push(child)
    else forEach(child, visit)
  }
  forEach(node, visit)
  return found
}

type ForEachChild = typeof import("unbash").forEachChild
let forEach: ForEachChild = () => {
  throw new Error("the shell parser is not loaded")
}

/** Hands the parser's walker over; words cannot be read before. */
export function useWalker(forEachChild: ForEachChild): void {
  forEach = forEachChild
}

function readPart(part: WordPart, state: ShellState, quoted: boolean): Piece {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return literal(part.value)
    case "DoubleQuoted":
    case "LocaleString":
      return join(part.parts.map((inner) => readPart(inner, state, true)))
    case "SimpleExpansion":
      return { ...lookUp(part.text.slice(1), state), splits: !quoted }
    case "ParameterExpansion":
      return { ...readParameter(part, state), splits: !quoted }
    case "CommandExpansion":
      return { ...readSubstitution(part.script, state, quoted), splits: !quoted }
    case "Glob":
      return { value: part.text, guesses: [part.text], glob: true }
    case "BraceExpansion":
      return { value: undefined, guesses: expandBraces(part.text) }
    case "ExtendedGlob":
      return { value: undefined, guesses: [part.text], glob: true }
    case "ArithmeticExpansion":
      assignSums(part.text, state)
      return { value: undefined, guesses: [SOME_TEXT] }
    default:
      return { value: undefined, guesses: [SOME_TEXT] }
  }
}

/** Keeps the names that a sum sets: `a = 1`, `b++`, `--c`. */
export function assignSums(text: string, state: ShellState): void {
  for (const [, before, after] of text.matchAll(SETS)) state.assign((before ?? after)!, undefined)
}
const SETS =
  /([A-Za-z_]\w{0,200})(?:\[[^\]]{0,200}\])?\s{0,20}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s{0,20}([A-Za-z_]\w{0,200})/g

function literal(value: string): Piece {
  return { value, guesses: [value] }
}

function join(pieces: readonly Piece[]): Piece {
  let value: string | undefined = ""
  let guesses: readonly string[] = [""]
  for (const piece of pieces) {
    value = value === undefined || piece.value === undefined ? undefined : value + piece.value
    guesses = guesses
      .flatMap((start) => piece.guesses.map((end) => (start + end).slice(0, MAX_GUESS_CHARS)))
      .slice(0, MAX_GUESSES)
  }
  const some = (key: "glob" | "splits" | "emptied") => pieces.some((piece) => piece[key])
  return { value, guesses, glob: some("glob"), splits: some("splits"), emptied: some("emptied") }
}

const UNKNOWN: Piece = { value: undefined, guesses: [""], emptied: true }

/** `$HOME` and `$PWD` are known as long as the command does not set them; what it sets itself is a guess. */
function lookUp(name: string, state: ShellState): Piece {
  const set = state.variables.get(name)
  if (set) return { value: undefined, guesses: set }
  if (name === "HOME" && state.home !== "") return literal(state.home)
  if (name === "PWD" && state.bases?.length === 1) return literal(state.bases[0]!)
  return UNKNOWN
}

function readParameter(part: ParameterExpansionPart, state: ShellState): Piece {
  const { operation, prefix } = part
  if (prefix !== undefined) return { value: undefined, guesses: [SOME_TEXT] }
  const held = lookUp(part.parameter, state)
  if (operation === undefined) return held
  if (operation.type !== "Default") return { ...held, value: undefined }
  const empty = held.guesses.includes("")
  if (operation.operator.endsWith("?")) return { value: undefined, guesses: empty ? [SOME_TEXT] : held.guesses }
  const { guesses } = readWord(operation.operand, state).word
  if (operation.operator.endsWith("=")) state.assign(part.parameter, guesses)
  if (operation.operator.endsWith("+")) return { value: undefined, guesses: ["", ...guesses] }
  return { value: undefined, guesses: empty ? guesses : [...held.guesses, ...guesses] }
}

/** The text of `$(cat <<'EOF' … EOF)`, the usual way to hand over a message; undefined for any other script. */
export function plainText(script: ParsedScript | undefined): string | undefined {
  const command = onlyCommand(script)
  const [only] = command?.suffix ?? []
  if (command?.name?.text !== "cat" || command.suffix.length !== 1 || only?.type !== "HereDoc") return undefined
  const known = only.delimiter?.quoted === true && only.closing !== undefined && only.operator === "<<"
  return known ? only.body.text.replace(/\n+$/, "") : undefined
}

function onlyCommand(script: ParsedScript | undefined) {
  const statement = script?.commands.length === 1 ? script.commands[0] : undefined
  const command = statement?.command
  return command?.type === "Command" && !statement?.background && command.prefix.length === 0 ? command : undefined
}

/** Some substitutions can be foretold: a plain text, and `$(echo x)` as a guess. */
function readSubstitution(script: ParsedScript | undefined, state: ShellState, quoted: boolean): Piece {
  const text = plainText(script)
  if (text !== undefined) return { value: quoted ? text : undefined, guesses: [text] }
  const command = onlyCommand(script)
  if (command?.name?.value !== "echo") return UNKNOWN
  const words = command.args.map((arg) => (arg.type === "Word" ? readWord(arg, state).word.guesses[0]! : arg.text))
  return { value: undefined, guesses: [words.join(" ")] }
}

function expandTilde(raw: string, piece: Piece, state: ShellState): Piece {
  if (!raw.startsWith("~")) return piece
  const plain = /^~(?=\/|$)/.test(raw)
  if (!plain || state.home === "") return { ...piece, value: undefined }
  const home = (text: string) => state.home + text.slice(1)
  return {
    ...piece,
    value: piece.value === undefined ? undefined : home(piece.value),
    guesses: piece.guesses.map(home),
  }
}

/** `{a,b}` → its alternatives, nested ones too; a range stays as it is. */
function expandBraces(text: string, nested = 0): string[] {
  const parts = nested > MAX_BRACES ? [] : alternatives(text)
  if (parts.length <= 1) return [text]
  return parts
    .flatMap((part) => (part.startsWith("{") && part.endsWith("}") ? expandBraces(part, nested + 1) : [part]))
    .slice(0, MAX_GUESSES)
}

function alternatives(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 1
  for (const { 0: mark, index } of text.matchAll(/[{},]/g)) {
    if (mark === "{") depth++
    if (mark === "}") depth--
    const ends = index === text.length - 1
    if ((mark !== "," || depth !== 1 || parts.length >= MAX_GUESSES) && !ends) continue
    parts.push(text.slice(start, index))
    start = index + 1
  }
  return parts
}
