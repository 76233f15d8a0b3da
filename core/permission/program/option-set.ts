/**
 * The options of a program, written as one line → what each of them takes and does.
 *
 * A word of the line is `-abc` (letters), `--one,two` (long names) or `-TT,` (a name with one dash), then what they take
 * (nothing; `=` a value; `?` a value that hangs on them or none), then what they do: `<` reads the file, `>` writes it,
 * `@` reads a file whose name follows an at sign, `+` reads a file or folder that says what the program does, `&` makes
 * it write its operands, `!` runs the command, `$` runs the code or the file of code, `*` shows the content of files, `%`
 * hides it; last `~`: not plainly harmless, `^`: with it no operand is the pattern, `/`: with it folders are looked
 * through.
 * Invariant: a line that does not parse throws when it is first used, so that a test finds it.
 */

/** What an option does beyond what its program does anyway. */
export type Effect = "plain" | "read" | "write" | "upload" | "steer" | "rewrite" | "run" | "code" | "show" | "hide"

/** One option. */
export interface Option {
  takes: "nothing" | "value" | "glued"
  effect: Effect
  /** It is known, and not plainly harmless. */
  odd: boolean
  /** It brings the pattern, the script or the mode, so that the first operand is none. */
  pattern: boolean
  /** With it the program looks through folders. */
  deep: boolean
}

/** By letter, and by name with its dashes. */
export interface OptionSet {
  letters: ReadonlyMap<string, Option>
  names: ReadonlyMap<string, Option>
}

const TAKES: Readonly<Record<string, Option["takes"]>> = { "": "nothing", "=": "value", "?": "glued" }
const EFFECTS: Readonly<Record<string, Effect>> = {
  "": "plain",
  "<": "read",
  ">": "write",
  "@": "upload",
  "+": "steer",
  $: "code",
  "&": "rewrite",
  "!": "run",
  "*": "show",
  "%": "hide",
}
const WORD = /^(--?)([^\s=?<>@&!~*%^/$]+?|\?)([=?]?)([<>@&!*%$]?|(?<=[=?])\+)([~^/]*)$/

/** Reads the line. `single`: names have one dash, as those of `find`. Throws for a word that is none of the above. */
export function parseOptions(line: string, single = false): OptionSet {
  const letters = new Map<string, Option>()
  const names = new Map<string, Option>()
  for (const word of line.split(/\s+/)) {
    if (word === "") continue
    const [, dashes, list, takes, effect, flags = ""] = WORD.exec(word) ?? []
    if (list === undefined) throw new Error(`"${word}" is no option`)
    const option: Option = {
      takes: TAKES[takes!]!,
      effect: EFFECTS[effect!]!,
      odd: flags.includes("~"),
      pattern: flags.includes("^"),
      deep: flags.includes("/"),
    }
    if (dashes === "--" || single || list.endsWith(",")) {
      for (const name of list.split(",")) if (name !== "") names.set(`${dashes}${name}`, option)
    } else for (const letter of list) letters.set(letter, option)
  }
  return { letters, names }
}
