/**
 * The arguments of a command and a row of harmless options → its file operands, or nothing.
 *
 * Invariant: an option that is not in the row, or only the beginning of one that is, makes the command not read-only.
 */
import type { ShellWord } from "./shell-word.ts"

/** A row of the table. */
export interface ReadOnlySpec {
  /** Letters of options without a value. */
  flags?: string
  /** Letters of options with a value. */
  valued?: string
  /** Long options, separated by blanks; `name=` takes a value. */
  long?: string
  /** What its operands are: files (default), plain text, a pattern and then files; `none`: it takes none. */
  operands?: "files" | "text" | "pattern" | "none"
  /** It opens no file that it names and no option of it does harm, so that a glob may stand anywhere. */
  tame?: true
  /** Operands at most. */
  most?: number
  /** For text: decides alone. `operands` is undefined when an option is not in the row. */
  accepts?(operands: readonly string[] | undefined, args: readonly string[]): boolean
}

/** The file operands, when all options are in the row. */
export function readsOf(args: readonly ShellWord[], spec: ReadOnlySpec): readonly ShellWord[] | undefined {
  // A glob may bring names that read as options, more files than one, and links to anywhere.
  if (!spec.tame && args.some((word) => word.glob)) return undefined
  const operands = spec.operands === "text" ? args : sortArguments(args, spec)
  if (operands === undefined || operands.length > (spec.operands === "none" ? 0 : (spec.most ?? Infinity)))
    return undefined
  const texts = args.map((word) => word.value!)
  if (spec.operands === "text") {
    const plain = sortArguments(args, spec)
    const accepts = spec.accepts ?? (() => plain !== undefined)
    return accepts(
      plain?.map((word) => word.value!),
      texts,
    )
      ? []
      : undefined
  }
  if (spec.operands !== "pattern") return operands
  const named = texts.some((text) => /^(?:-[A-Za-z]*e|--regexp=|--files$)/.test(text))
  return named ? operands : operands.slice(1)
}

function sortArguments(args: readonly ShellWord[], spec: ReadOnlySpec): ShellWord[] | undefined {
  const { flags = "", valued = "", long = "" } = spec
  const names = new Set(long.split(" "))
  const operands: ShellWord[] = []
  for (let i = 0; i < args.length; i++) {
    const text = args[i]!.value!
    if (text === "--") return [...operands, ...args.slice(i + 1)]
    if (!/^-./.test(text)) operands.push(args[i]!)
    else if (text.startsWith("--")) {
      const [name, value] = text.slice(2).split(/=(.*)/s)
      if (!names.has(value === undefined ? name! : `${name}=`)) return undefined
    } else {
      const letters = [...text.slice(1)]
      const at = letters.findIndex((letter) => !flags.includes(letter))
      if (at < 0) continue
      if (!valued.includes(letters[at]!)) return undefined
      if (at === letters.length - 1) i++
    }
  }
  return operands
}
