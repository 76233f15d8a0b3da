/**
 * The redirects of a command → the files they open, the scripts that run for their words, the texts they feed.
 *
 * Invariant: a redirect that is not understood is reported as trouble, never dropped.
 */
import type { ParsedScript, Redirection, RedirectOperator, SyntaxNode } from "unbash"
import type { ShellRedirect } from "./segment.ts"
import { readWord, type ShellState, type ShellWord, scriptsIn } from "./shell-word.ts"

/** What the redirects of a command open and feed. */
export interface ReadRedirects {
  files: ShellRedirect[]
  scripts: ParsedScript[]
  /** An unquoted here-document or here-string, whose text is not known before it runs. */
  expands: boolean
  /** A file, a here-document or a here-string, or another descriptor, becomes its input. */
  feeds: boolean
  /** Names that get the number of a descriptor: `{name}>file`. */
  assigned: string[]
  trouble?: string
}

/** Reads the redirects; a descriptor that is only copied opens nothing. */
export function readRedirects(redirects: readonly Redirection[], state: ShellState): ReadRedirects {
  const read: ReadRedirects = { files: [], scripts: [], expands: false, feeds: false, assigned: [] }
  for (const redirect of redirects) {
    read.scripts.push(...scriptsIn(redirect))
    if (redirect.descriptor?.type === "FileDescriptorVariable") read.assigned.push(redirect.descriptor.name)
    read.feeds ||= redirect.operator.startsWith("<")
    if (redirect.type === "HereDoc") {
      read.expands ||= redirect.delimiter?.quoted !== true
      if (redirect.closing === undefined) read.trouble ??= "its here-document has no end"
    } else if (redirect.target === undefined) read.trouble ??= "a redirect has no target"
    else {
      const { word } = readWord(redirect.target, state)
      if (redirect.type === "HereString") read.expands ||= word.value === undefined
      else read.files.push(...opened(redirect.operator, word))
    }
  }
  return read
}

function opened(operator: RedirectOperator, word: ShellWord): ShellRedirect[] {
  const copies = /^[<>]&$/.test(operator) && /^(?:\d+-?|-)$/.test(word.value ?? "")
  if (copies) return []
  const reads = operator.startsWith("<") ? [{ access: "read" as const, word }] : []
  return operator === "<" || operator === "<&" ? reads : [{ access: "write", word }, ...reads]
}

/** The texts that here-documents and here-strings feed to the command, as far as they can be guessed. */
export function stdinOf(redirects: readonly Redirection[], state: ShellState): string[] {
  return redirects.flatMap((redirect) => {
    if (redirect.type === "HereDoc") return [redirect.body.text]
    if (redirect.type !== "HereString" || redirect.target === undefined) return []
    const { value, guesses } = readWord(redirect.target, state).word
    return value === undefined ? [...guesses, UNKNOWN_TEXT] : [...guesses]
  })
}

/** A command that nobody knows before it runs: it stands for a text that is only guessed at. */
const UNKNOWN_TEXT = '"$0"'

/** The text that `echo`, `printf` or a `cat` of a here-document writes, for a shell that reads it. */
export function printedText(node: SyntaxNode, state: ShellState): string[] {
  if (node.type !== "Command") return []
  const name = node.name?.value ?? ""
  if (name === "cat") return stdinOf(node.redirects, state)
  if (name !== "echo" && name !== "printf") return []
  const read = node.args.map((arg) => (arg.type === "Word" ? readWord(arg, state).word : undefined))
  const words = read.map((word) => word?.guesses[0] ?? "")
  const text = words.filter((word, i) => i > 0 || !/^-[neE]+$|^(?:%[sb]|\\n)+$/.test(word)).join(" ")
  const plain = text.replaceAll("\\n", "\n")
  const known = read.every((word) => word?.value !== undefined && !word.glob) && !/\\|%/.test(plain)
  return known ? [plain] : [plain, UNKNOWN_TEXT]
}
