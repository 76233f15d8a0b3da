/**
 * The text of a configuration of git → its entries, in order.
 *
 * Source: "Syntax" in git-config(1), and what config.c of git 2.47 does with what that leaves open.
 * Invariant: a text that git would refuse, or that is not understood to its last byte, has no entries but is undefined.
 */

/** One line of it, by the whole name of its key. */
export interface ConfigEntry {
  /** `core.bare`, `remote.origin.url`: section and key in lower case, the part between them as it is written. */
  name: string
  /** Lower case. */
  section: string
  /** What stands between section and key; undefined: nothing does. */
  sub: string | undefined
  /** Lower case. */
  key: string
  /** Bytes as Latin-1; undefined: there is no `=`, which means true. */
  value: string | undefined
}

const SPACE = /[ \t\n]*/y
const COMMENT = /[#;][^\n]*/y
const SECTION = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|(?=\n)|$)/y

/** `text`: bytes as Latin-1. */
export function parseConfig(text: string): ConfigEntry[] | undefined {
  const source = text.replace(/^\xef\xbb\xbf/, "").replaceAll("\r\n", "\n")
  if (/[\0\r]/.test(source)) return undefined
  const entries: ConfigEntry[] = []
  let prefix: string | undefined
  for (let at = 0; ; ) {
    at = endOf(SPACE, source, at) ?? at
    if (at >= source.length) return entries
    const comment = endOf(COMMENT, source, at)
    const section = comment === undefined ? matchAt(SECTION, source, at) : null
    if (section) prefix = prefixOf(section[1]!, section[2])
    const next = comment ?? (section && at + section[0].length)
    if (next) {
      at = next
      continue
    }
    const key = matchAt(KEY, source, at)
    if (key === null || prefix === undefined) return undefined
    at += key[0].length
    const read = key[2] === "=" ? readValue(source, at) : { value: undefined, end: at }
    if (read === undefined) return undefined
    at = read.end
    entries.push(createEntry(`${prefix}.${key[1]!.toLowerCase()}`, read.value))
  }
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

function endOf(pattern: RegExp, source: string, at: number): number | undefined {
  const found = matchAt(pattern, source, at)
  return found ? at + found[0].length : undefined
}

/** Only what stands in quotes keeps its case: `[Section.Sub]` is the old way to write `[section "sub"]`. */
function prefixOf(section: string, quoted: string | undefined): string {
  return quoted === undefined
    ? section.toLowerCase()
    : `${section.toLowerCase()}.${quoted.replace(/\\(.)/gs, (_, one: string) => one)}`
}

/** As git takes a name apart: at its first dot and at its last. */
function createEntry(name: string, value: string | undefined): ConfigEntry {
  const first = name.indexOf(".")
  const last = name.lastIndexOf(".")
  const sub = first === last ? undefined : name.slice(first + 1, last)
  return { name, section: name.slice(0, first), sub, key: name.slice(last + 1), value }
}

const ESCAPES: Readonly<Record<string, string>> = { t: "\t", b: "\b", n: "\n", "\\": "\\", '"': '"', "\n": "" }

/** The value that begins behind `=`: quotes and comments anywhere in it, lines that go on. */
function readValue(source: string, from: number): { value: string; end: number } | undefined {
  let value = ""
  let blanks = ""
  let isQuoted = false
  for (let at = from; ; at++) {
    const char = source[at] ?? "\n"
    if (char === "\n") return isQuoted ? undefined : { value, end: at }
    if (!isQuoted && (char === " " || char === "\t")) {
      if (value !== "") blanks += char
      continue
    }
    if (!isQuoted && (char === "#" || char === ";")) return { value, end: endOf(COMMENT, source, at)! }
    value += blanks
    blanks = ""
    if (char === '"') isQuoted = !isQuoted
    if (char !== '"' && char !== "\\") value += char
    if (char !== "\\") continue
    const escaped = ESCAPES[source[++at] ?? "\n"]
    if (escaped === undefined) return undefined
    value += escaped
  }
}
