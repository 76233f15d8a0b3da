/**
 * Glob: a pattern → the files whose paths match it, newest first.
 *
 * Invariant: nothing outside of the searched folder is listed, and nothing that a rule keeps from being read; rules are
 * matched against the folder, and against the one below it that the pattern begins with.
 */
import { isAbsolute, join, resolve } from "node:path"
import { defineTool, type ToolContext, z } from "sous"
import { findExisting } from "./file.ts"
import { answering, Refused } from "./refusal.ts"
import { displayPath, runRipgrep } from "./ripgrep.ts"
import { count } from "./text.ts"

/** Files that the model is shown. */
const SHOWN_FILES = 100
/** Files that a recipe gets. */
const KEPT_FILES = 20_000
const TIMEOUT_MS = 20_000

const input = z.strictObject({
  pattern: z.string().min(1).describe("Such as src/**/*.{ts,tsx}; without a slash it matches at any depth"),
  path: z.string().min(1).optional().describe("Folder to search; default the working directory"),
})
type Input = z.output<typeof input>

/** Finds files by name. */
export const globTool = defineTool({
  name: "Glob",
  description:
    "Find files by name, newest first, at most 100. Includes hidden and ignored files, except in .git and node_modules unless named.",
  input,
  ruleName: "Read",
  readOnly: true,
  skipsDenied: true,
  targets: (input) => foldersOf(input).map((path) => ({ kind: "path", access: "read", path })),
  execute: answering(async (input: Input, context) => {
    const { folder, pattern } = placeOf(input)
    if (pattern.split("/").includes(".."))
      throw new Refused(`"${input.pattern}" has ".." behind a wildcard: write the folder into path`)
    const { real, stats } = await findExisting(folder, context)
    if (!stats.isDirectory()) throw new Refused(`"${folder}" is a file: Read it, or search its folder`)
    const shown = context.judged?.get(folder)?.lexical ?? resolve(context.cwd, folder)
    const isOpen = (file: string) => context.mayRead(join(shown, file)) && context.mayRead(join(real, file))
    const search = await findFiles(real, { pattern, isOpen }, context)
    const files = search.files.map((file) => displayPath(join(shown, file), context.cwd))
    return {
      content: describe(files, search),
      data: { files, total: search.total, truncated: search.total > files.length },
    }
  }),
})

/** Splits a search into the folder where it starts and a pattern below it: `/a/b/*.ts` starts in `/a/b`. */
function placeOf(input: Input): { folder: string; pattern: string } {
  const parts = (input.pattern.endsWith("/") ? `${input.pattern}**` : input.pattern).split("/")
  const magic = parts.findIndex((part) => /[*?[\]{}!]/.test(part))
  const literal = parts.slice(0, magic === -1 ? -1 : magic)
  const isElsewhere = isAbsolute(input.pattern) || input.pattern.startsWith("~/")
  const leavesFolder = isElsewhere || literal.includes("..")
  if (!leavesFolder) return { folder: input.path ?? ".", pattern: parts.join("/").replace(/^(\.\/)+/, "") }
  const start = literal.join("/") || "/"
  const folder = isElsewhere ? start : join(input.path ?? ".", start)
  // Anchored: below a folder that was spelt out, a bare name means that folder alone.
  return { folder, pattern: `/${parts.slice(literal.length).join("/")}` }
}

/** The folder, and the one below it in which all results lie: `secrets` for `secrets/**`. */
function foldersOf(input: Input): string[] {
  const { folder, pattern } = placeOf(input)
  const parts = pattern.replace(/^\//, "").split("/")
  const magic = parts.findIndex((part) => /[*?[\]{}!\\]/.test(part))
  const literal = parts.slice(0, magic === -1 ? undefined : magic).join("/")
  return literal === "" ? [folder] : [folder, join(folder, literal)]
}

interface Search {
  files: string[]
  total: number
  timedOut: boolean
}

async function findFiles(
  cwd: string,
  { pattern, isOpen }: { pattern: string; isOpen(file: string): boolean },
  context: ToolContext,
): Promise<Search> {
  const noise = [".git", "node_modules"].filter((name) => !`${cwd}/${pattern}`.includes(name))
  const search = { files: [] as string[], total: 0 }
  const take = (file: string) => {
    if (file !== "" && isOpen(file) && search.total++ < KEPT_FILES) search.files.push(file)
    return true
  }
  const globs = [pattern, ...noise.map((name) => `!**/${name}`)].map((glob) => `--glob=${glob}`)
  const args = ["--files", "--null", "--no-ignore", "--hidden", "--no-messages", "--sortr=modified", ...globs]
  const { timedOut } = await runRipgrep({ args, cwd, timeoutMs: TIMEOUT_MS, separator: "\0", take }, context)
  return { ...search, timedOut }
}

function describe(files: readonly string[], { total, timedOut }: Search): string {
  const notes = []
  const shown = files.slice(0, SHOWN_FILES)
  if (files.length === 0) notes.push("No files match.")
  if (total > shown.length)
    notes.push(`(the newest ${shown.length} of ${count(total, "file")}; narrow the pattern or the path)`)
  if (timedOut) notes.push(`(ended after ${TIMEOUT_MS / 1000} s: not everything was searched; narrow the path)`)
  return [...shown, ...notes].join("\n")
}
