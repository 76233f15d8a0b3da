/**
 * What is known about one program, or one sub-command of it: its options, its operands, what it runs.
 *
 * Invariant: data only. What a row leaves out is not known, which never makes a command safer.
 */
import { type OptionSet, parseOptions } from "./option-set.ts"

/**
 * What the operands are. `pattern`: a pattern, then files to read · `rights`: a mode, then files · `copy`, `move`: sources,
 * then the target · `pair`: a file to read, then one to write · `pack`: an archive to write, then files · `unpack`: an
 * archive, whose files land in the current folder · `edit`: files that are read and written · `replace`: files that give
 * way to others · `steer`: files or folders whose code it runs.
 */
export type Operands =
  | "text"
  | "read"
  | "steer"
  | "pattern"
  | "write"
  | "edit"
  | "replace"
  | "remove"
  | "rights"
  | "copy"
  | "move"
  | "pair"
  | "pack"
  | "unpack"

/** The program only looks, as long as its options are harmless. */
export interface Plain {
  /** Operands at most. */
  most?: number
  /** It opens no file that it names and no option of it does harm, so that a glob may stand anywhere. */
  glob?: true
  /** A folder among its operands is looked through, links in it followed. */
  flat?: true
  /** No word that it is handed makes it write or run anything. */
  fed?: true
  /** Decides by the texts of the operands (undefined when an option is not known) and of all words. */
  test?(operands: readonly string[] | undefined, words: readonly string[]): boolean
}

/** The words behind its own are a command. */
export interface Runs {
  /** Operands in front of the command. */
  skips: number
  /** The command begins behind `--`, if there is one. */
  dashes?: true
  /** It cannot change what the command means: `always`, or `bare` when it has no options. */
  clear?: "always" | "bare"
  /** Takes `NAME=value` in front of the command. */
  assigns?: true
  /** Joins its words and hands them to a shell. */
  joins?: true
  /** Each of its operands is a command for a shell. */
  each?: true
  /** A rule about the program speaks for the command too: it runs elsewhere, or is part of the project. */
  owns?: true
  /** Without a command it runs what is written to it. */
  reads?: true
  /** It hands words to the command that nobody sees. */
  feeds?: true
}

/** One row of the table. */
export interface Row {
  options: OptionSet
  operands: Operands
  plain?: Plain
  runs?: Runs
  /** The first operand names a sub-command, which has a row of its own. */
  subs?: true
  /** Its first word may be a cluster of options without a dash. */
  bundles?: true
  /** Long names have one dash. */
  single?: true
  /** The words that run something, beside options. */
  running?: RegExp
  /** Without an option that names a file to write, it writes into the current folder. */
  drops?: true
  /** It looks through folders, the current one when it names none. */
  deep?: true
  /** Whether it shows the content of files of a repository: always, or with an option that says so. */
  shows?: "always" | "asked"
}

type More = Omit<Row, "options" | "operands">

/** Makes a row; its line of options is read when it is first asked for. */
export function row(operands: Operands, line = "", more: More = {}): Row {
  let options: OptionSet | undefined
  return {
    ...more,
    operands,
    get options() {
      options ??= parseOptions(line, more.single)
      return options
    },
  }
}

/** A row of a program that only looks. */
export function look(operands: Operands, line = "", plain: Plain = {}): Row {
  return row(operands, line, { plain })
}

/** A row of a program that runs the command behind its own words. */
export function runner(line = "", runs: Partial<Runs> = {}, more: More = {}): Row {
  return row("text", line, { ...more, runs: { skips: 0, ...runs } })
}
