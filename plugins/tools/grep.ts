/**
 * Grep: a regular expression → files, lines or counts, in the order of their paths.
 *
 * Invariant: the search ends as soon as the page is full; the same tree gives the same text, so a recorded run replays.
 * What a rule keeps from being read changes nothing in the result, neither a name nor a count.
 */
import { basename, dirname, join, resolve } from "node:path"
import { defineTool, type ToolContext, z } from "sous"
import { findExisting } from "./file.ts"
import { answering } from "./refusal.ts"
import { displayPath, runRipgrep } from "./ripgrep.ts"
import { headOf } from "./text.ts"

/** Results of a page when no limit is given, and the characters that end one. */
const HEAD_LIMIT = 250
const PAGE_CHARS = 28_000
/** Characters of a matching line that are shown. */
const LINE_CHARS = 500
const TIMEOUT_MS = 30_000

const lines = () => z.int().min(0).max(1000).optional()
const input = z.strictObject({
  pattern: z.string().min(1).describe("ripgrep regex"),
  path: z.string().min(1).optional().describe("File or folder; default the working directory"),
  glob: z.string().min(1).optional().describe("Only these files: *.{ts,tsx}"),
  type: z.string().min(1).optional().describe("ripgrep file type: js, py"),
  output_mode: z
    .enum(["files_with_matches", "content", "count"])
    .optional()
    .describe("Default files_with_matches; content shows lines"),
  "-A": lines().describe("Lines after"),
  "-B": lines().describe("Lines before"),
  "-C": lines().describe("Lines around"),
  "-n": z.boolean().optional().describe("Line numbers; default true"),
  "-i": z.boolean().optional().describe("Ignore case"),
  head_limit: z.int().min(0).optional().describe("Results to return; default 250, 0 all"),
  offset: z.int().min(0).optional().describe("Results to skip"),
  multiline: z.boolean().optional().describe("Let . and the pattern span lines"),
})
type Input = z.output<typeof input>

/** Searches in files. */
export const grepTool = defineTool({
  name: "Grep",
  description:
    "Search file contents with a regular expression. Respects .gitignore. Use it instead of grep or rg in a shell.",
  input,
  ruleName: "Read",
  readOnly: true,
  skipsDenied: true,
  targets: ({ path = "." }) => [{ kind: "path", access: "read", path }],
  execute: answering(async (input: Input, context) => {
    const place = await findPlace(input.path ?? ".", context)
    const page = createPage(input, place.show)
    const args = [...argumentsOf(input), ...(place.cwd.includes("/.git") ? [] : ["--glob=!**/.git"]), "--", place.start]
    const separator = modeOf(input) === "files_with_matches" ? "\0" : "\n"
    const take = leaveOut(place, context, page.take)
    const end = await runRipgrep({ args, cwd: place.cwd, timeoutMs: TIMEOUT_MS, separator, take }, context)
    const complaint = readable(end.complaint, place, context)
    const notes = [page.note(), complaint === "" ? "" : `(not everything could be searched: ${headOf(complaint, 500)})`]
    if (end.timedOut) notes.push(`(ended after ${TIMEOUT_MS / 1000} s: not everything was searched; narrow the path)`)
    const content = [...page.results, ...notes.filter((note) => note !== "")].join("\n")
    return { content, data: { mode: modeOf(input), results: page.results.length, truncated: page.isFull() } }
  }),
})

const modeOf = (input: Input) => input.output_mode ?? "files_with_matches"

/** Where ripgrep runs, what it is handed, and how the names that it prints are shown. */
interface Place {
  cwd: string
  start: string
  show(file: string): string
  /** What rules know the file by: its path as it was asked for, and with links followed. */
  paths(file: string): string[]
}

async function findPlace(path: string, context: ToolContext): Promise<Place> {
  const { real, stats } = await findExisting(path, context)
  const lexical = context.judged?.get(path)?.lexical ?? resolve(context.cwd, path)
  if (stats.isDirectory()) {
    const paths = (file: string) => [join(lexical, file), join(real, file)]
    return { cwd: real, start: ".", show: (file) => displayPath(join(lexical, file), context.cwd), paths }
  }
  const shown = displayPath(lexical, context.cwd)
  return { cwd: dirname(real), start: `./${basename(real)}`, show: () => shown, paths: () => [lexical, real] }
}

/** Drops the records of files that may not be read, and the lines between two groups when nothing stands between them. */
function leaveOut(place: Place, context: ToolContext, take: (record: string) => boolean): (record: string) => boolean {
  let last = { file: "", isOpen: true }
  let gap: "none" | "behind" | "between" = "none"
  return (record) => {
    if (record === "--") {
      if (gap === "behind") gap = "between"
      return true
    }
    const file = fileOf(record)
    if (file !== last.file) last = { file, isOpen: place.paths(file).every(context.mayRead) }
    if (!last.isOpen) return true
    const isFirst = gap === "between"
    gap = "behind"
    return (!isFirst || take("--")) && take(record)
  }
}

/** The file that a record or a complaint of ripgrep speaks of. */
function fileOf(record: string): string {
  return record.split(/\0|: (?=WARNING: |binary file matches)/, 1)[0]!
}

/** Complaints about files that may be read. */
function readable(complaint: string, place: Place, context: ToolContext): string {
  const kept = complaint.split("\n").filter((line) => {
    const file = /^(?:rg: )?(.+?): /.exec(line)?.[1]
    return file === undefined || place.paths(file).every(context.mayRead)
  })
  return kept.join("\n").trim()
}

function argumentsOf(input: Input): string[] {
  const args = ["--null", "--with-filename", "--hidden", "--sort=path", `--regexp=${input.pattern}`]
  if (input["-i"]) args.push("--ignore-case")
  if (input.multiline) args.push("--multiline", "--multiline-dotall")
  if (input.glob !== undefined) args.push(`--glob=${input.glob}`)
  if (input.type !== undefined) args.push(`--type=${input.type}`)
  const mode = modeOf(input)
  if (mode === "files_with_matches") args.push("--files-with-matches")
  if (mode === "count") args.push("--count")
  if (mode === "content") args.push(...contentArguments(input))
  return args
}

function contentArguments(input: Input): string[] {
  const args = [`--max-columns=${LINE_CHARS}`, "--max-columns-preview"]
  args.push(input["-n"] === false ? "--no-line-number" : "--line-number")
  const around = input["-C"] ?? 0
  args.push(`--after-context=${input["-A"] ?? around}`, `--before-context=${input["-B"] ?? around}`)
  return args
}

/** Keeps the results of one page, and knows when there are more. */
function createPage(input: Input, show: (file: string) => string) {
  const offset = input.offset ?? 0
  const limit = input.head_limit === 0 ? Number.POSITIVE_INFINITY : (input.head_limit ?? HEAD_LIMIT)
  const results: string[] = []
  let seen = 0
  let chars = 0
  let full = false
  const take = (record: string): boolean => {
    if (record === "" || seen++ < offset) return true
    const result = formatRecord(record, show)
    full = results.length >= limit || (results.length > 0 && chars + result.length > PAGE_CHARS)
    if (full) return false
    chars += result.length + 1
    results.push(result)
    return true
  }
  const note = () => {
    if (full)
      return `\n(results ${offset + 1} to ${offset + results.length}, more follow: narrow the search, or go on with offset ${offset + results.length})`
    if (results.length > 0) return ""
    return seen === 0 ? "No matches." : `(offset ${offset} is past the last of ${seen} results)`
  }
  return { results, take, note, isFull: () => full }
}

/** `file\0 12:text` → `file:12:text`; what has no file (the line between two groups) stays. */
function formatRecord(record: string, show: (file: string) => string): string {
  const [file, rest] = record.split("\0", 2) as [string, string?]
  if (rest === undefined) return file === "--" ? file : show(file)
  const mark = /^\d+([:-])/.exec(rest)?.[1] ?? ":"
  return `${show(file)}${mark}${headOf(rest, LINE_CHARS + 100)}`
}
