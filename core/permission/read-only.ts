/**
 * A simple command → the operands that it reads, when it is surely read-only: a table of programs and harmless options.
 *
 * Invariant: what is not in the table, be it a program, an option or an abbreviation of one, is not read-only.
 */
import { type ReadOnlySpec, readsOf } from "./option.ts"
import { gitReads } from "./read-only-git.ts"
import type { Segment } from "./segment.ts"
import type { ShellWord } from "./shell-word.ts"

const TEXT = { operands: "text" } as const
const TABLE: Readonly<Record<string, ReadOnlySpec>> = {
  pwd: { flags: "LP", operands: "none", tame: true },
  echo: { ...TEXT, flags: "neE", tame: true, accepts: () => true },
  printf: { ...TEXT, accepts: (_, args) => !/^-./.test(args[0] ?? "") },
  true: TEXT,
  false: TEXT,
  ":": TEXT,
  whoami: { operands: "none" },
  id: { ...TEXT, flags: "ugGnrz" },
  uname: { flags: "asnrvmpio", operands: "none" },
  hostname: { operands: "none" },
  uptime: { flags: "ps", operands: "none" },
  nproc: { operands: "none", long: "all" },
  arch: { operands: "none" },
  date: {
    ...TEXT,
    flags: "uRI",
    valued: "d",
    long: "utc iso-8601 iso-8601= rfc-3339= date=",
    accepts: (operands) => operands?.every((one) => one.startsWith("+")) ?? false,
  },
  which: { ...TEXT, flags: "a" },
  type: { ...TEXT, flags: "aptP" },
  sleep: TEXT,
  seq: { ...TEXT, flags: "w", valued: "sf" },
  expr: TEXT,
  basename: { ...TEXT, flags: "az", valued: "s" },
  dirname: { ...TEXT, flags: "z" },
  test: { operands: "text", accepts: testsPlainly },
  "[": { operands: "text", accepts: testsPlainly },
  "[[": { operands: "text", accepts: testsPlainly },
  cd: { flags: "LP", most: 1 },
  ls: {
    flags: "aAbBcCdfFgGhiIklmnNopqQrRsStuUvwxXZ1",
    long: "all almost-all human-readable recursive reverse size time-style= sort= color color= group-directories-first directory inode classify full-time time=",
    tame: true,
  },
  cat: { flags: "AbeEnstTuv", long: "number number-nonblank show-all show-ends show-tabs squeeze-blank" },
  head: { flags: "qvz0123456789", valued: "nc", long: "lines= bytes= quiet verbose" },
  tail: { flags: "qvz0123456789", valued: "nc", long: "lines= bytes= quiet verbose" },
  wc: { flags: "cmlLw", long: "bytes chars lines words max-line-length" },
  nl: { flags: "p", valued: "bdfhilnsvw" },
  tac: { flags: "br", valued: "s" },
  rev: {},
  cut: {
    flags: "nsz",
    valued: "bcdf",
    long: "bytes= characters= delimiter= fields= complement output-delimiter= only-delimited",
  },
  tr: { ...TEXT, flags: "cCdst" },
  fold: { flags: "bs", valued: "w" },
  column: { flags: "tx", valued: "s" },
  sort: {
    flags: "bdfghiMnRrsuVcCmz",
    valued: "kt",
    long: "numeric-sort reverse unique key= field-separator= human-numeric-sort version-sort ignore-case stable",
  },
  uniq: { flags: "cdDiuz", valued: "fsw", long: "count repeated unique ignore-case", most: 1 },
  comm: { flags: "123iz" },
  diff: {
    flags: "abBcdeEiNqsTtuwyp",
    valued: "UCW",
    long: "brief color color= unified unified= context context= ignore-case ignore-all-space ignore-blank-lines ignore-space-change side-by-side new-file report-identical-files",
    most: 2,
  },
  cmp: { flags: "bls", valued: "in" },
  stat: { flags: "fLtx", valued: "c", long: "format= printf= dereference terse" },
  file: { flags: "bhiLNrs0", long: "brief mime mime-type mime-encoding dereference" },
  du: { flags: "abchklmPsSx0", valued: "dt", long: "all summarize human-readable max-depth= total apparent-size" },
  df: { flags: "ahHiklPT", long: "human-readable print-type" },
  realpath: { flags: "eLmPqsz" },
  readlink: { flags: "efmnqsvz" },
  md5sum: { flags: "btz" },
  sha1sum: { flags: "btz" },
  sha256sum: { flags: "btz" },
  sha512sum: { flags: "btz" },
  cksum: {},
  od: { flags: "bcdfhilosvx", valued: "AjNtw" },
  hexdump: { flags: "bcCdovx", valued: "ns" },
  base64: { flags: "di", valued: "w", long: "decode wrap=" },
  tree: { flags: "adfipsughDFrtvxnCS", valued: "LIP", long: "dirsfirst noreport gitignore" },
  grep: {
    operands: "pattern",
    flags: "EFGPiyvwxcLloqsbHhnTZaIrzU0123456789",
    valued: "emABC",
    long: "extended-regexp fixed-strings perl-regexp ignore-case invert-match word-regexp count files-with-matches files-without-match only-matching line-number no-filename with-filename recursive quiet color color= include= exclude= exclude-dir= max-count= after-context= before-context= context= regexp= text null",
  },
  rg: {
    operands: "pattern",
    flags: "aFIilNnoPpqSsUuvwxcHV0.",
    valued: "ABCeEgjmMrtT",
    long: "files-with-matches files-without-match fixed-strings ignore-case smart-case line-number no-line-number hidden no-ignore glob= type= type-not= count count-matches only-matching word-regexp max-count= max-depth= after-context= before-context= context= regexp= multiline json no-heading heading color= sort= files stats",
  },
}
const SAME: Readonly<Record<string, string>> = { egrep: "grep", fgrep: "grep", dir: "ls", vdir: "ls" }

/** Variables that a command may set for itself and stay what it is. */
export const HARMLESS_VARIABLES =
  /^(?:NODE_ENV|LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|CI|TERM|COLUMNS|LINES|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)$/

const cache = new WeakMap<Segment, { files: readonly ShellWord[] | undefined }>()

/** The words that it reads as files; undefined when it is not surely read-only. Redirects are not looked at. */
export function readOnlyFiles(segment: Segment): readonly ShellWord[] | undefined {
  let known = cache.get(segment)
  if (known === undefined) {
    known = { files: filesOf(segment) }
    cache.set(segment, known)
  }
  return known.files
}

function filesOf(segment: Segment): readonly ShellWord[] | undefined {
  const { words, assignments, nested, opaque } = segment
  if (nested || opaque !== undefined) return undefined
  if (assignments.some(({ name, word }) => !HARMLESS_VARIABLES.test(name) || word.value === undefined)) return undefined
  if (words.length === 0) return []
  if (words.some((word) => word.value === undefined)) return undefined
  const name = words[0]!.value!
  if (name === "git") return segment.moved || words.some((word) => word.glob) ? undefined : gitReads(words.slice(1))
  if (name === "cd" && (words.length !== 2 || words[1]!.value === "-")) return undefined
  if (name === "find") return findReads(words.slice(1))
  if (name === "sed") return sedReads(words.slice(1))
  const spec = Object.hasOwn(TABLE, SAME[name] ?? name) ? TABLE[SAME[name] ?? name] : undefined
  return spec && readsOf(words.slice(1), spec)
}

/** `-v` looks at variables, and a subscript of one may hold a command. */
function testsPlainly(_: readonly string[] | undefined, args: readonly string[]): boolean {
  return !args.includes("-v") && !args.some((arg) => /\$\(|`|\[.*\]/.test(arg))
}

const FIND_TESTS = new Set(
  "name iname path ipath type maxdepth mindepth newer mtime mmin atime ctime size perm user group regex iregex regextype links inum lname ilname samefile wholename iwholename amin cmin uid gid fstype used xtype anewer cnewer".split(
    " ",
  ),
)
const FIND_PLAIN = new Set(
  "print print0 prune not and or a o empty true false depth xdev mount executable readable writable ls quit daystart nouser nogroup noleaf".split(
    " ",
  ),
)

function findReads(args: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const starts: ShellWord[] = []
  if (args.some((word) => word.glob)) return undefined
  for (let i = 0; i < args.length; i++) {
    const text = args[i]!.value!
    if (/^(?:-[HLP]|[()!,])$/.test(text)) continue
    if (!text.startsWith("-")) starts.push(args[i]!)
    else if (FIND_TESTS.has(text.slice(1))) i++
    else if (!FIND_PLAIN.has(text.slice(1))) return undefined
  }
  return starts
}

/** Only scripts that print or drop lines: `sed -n '1,20p'`, `sed '/x/d'`, `sed 's/a/b/g'`. */
function sedReads(args: readonly ShellWord[]): readonly ShellWord[] | undefined {
  if (args.some((word) => word.glob)) return undefined
  const options = args.filter((word) => /^-./.test(word.value!))
  if (options.some((word) => !/^-(?:[nErsz]+|-(?:quiet|silent|regexp-extended))$/.test(word.value!))) return undefined
  const [script, ...files] = args.filter((word) => !options.includes(word))
  return script && isPlainSed(script.value!) ? files : undefined
}

const SED_PLACE = "(?:\\d+|\\$|/[^/\\\\\\n]*/)"
const SED_LINES = new RegExp(`^(?:${SED_PLACE}(?:,${SED_PLACE})?)?!?[pdq=]$`)
const SED_REPLACE = /^s(?:\/[^/\\\n]*\/[^/\\\n]*\/|\|[^|\\\n]*\|[^|\\\n]*\||#[^#\\\n]*#[^#\\\n]*#)[gIip0-9]*$/

/** True for a sed script that can neither write a file nor run a command. */
export function isPlainSed(script: string): boolean {
  return script.split(";").every((part) => SED_LINES.test(part.trim()) || SED_REPLACE.test(part.trim()))
}
