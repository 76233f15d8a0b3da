/**
 * Reduces a request to what tells it from another: the key under which a cassette keeps its answer.
 *
 * The rule, in order: cache breakpoints and the output limit do not count; working directory, home and temporary folder
 * become `<cwd>`, `<home>`, `<tmp>`; what stands between <environment> tags does not count; run folders, UUIDs, dates,
 * times of day, durations, commit hashes and ports of this machine become a word each.
 *
 * Invariant: two requests with one key differ in nothing that a model should answer differently.
 */
import { createHash } from "node:crypto"
import { realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import type { JsonSchema, ModelOptions, ModelRequest } from "sous"

/** Words for the folders of this machine, there and back, in all texts of a value. */
export interface Folders {
  hide<T>(value: T): T
  show<T>(value: T): T
  hideIn(text: string): string
}

/** The folders that a cassette must not depend on. */
export function createFolders({ cwd, env }: Pick<ModelOptions, "cwd" | "env">): Folders {
  const words = [
    ["<cwd>", cwd],
    ["<cwd>", realOf(cwd)],
    ["<state>", env["XDG_STATE_HOME"]],
    ["<home>", env["HOME"]],
    ["<tmp>", tmpdir()],
  ].filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1].length > 1)
  const finds = words.map(
    ([word, folder]) => [new RegExp(`${escapePattern(folder)}(?![\\w.-]*\\w)`, "g"), word] as const,
  )
  const hideIn = (text: string) => finds.reduce((hidden, [find, word]) => hidden.replace(find, word), text)
  const showIn = (text: string) => words.reduce((shown, [word, folder]) => shown.replaceAll(word, folder), text)
  return { hideIn, hide: (value) => mapTexts(value, hideIn), show: (value) => mapTexts(value, showIn) }
}

/** Turns requests into normalised elements, JSON text each: system, tools, output, then the messages. */
export function createNormalizer(folders: Folders): (request: ModelRequest) => string[] {
  const known = new WeakMap<object, string>()
  const normalise = (element: object): string => {
    const made = known.get(element) ?? normaliseJson(element, folders)
    known.set(element, made)
    return made
  }
  return ({ system, tools, messages, effort, outputSchema }) => [
    `{"system":${normalise(system)}}`,
    `{"tools":${normalise(tools)}}`,
    `{"output":${normalise({ effort, schema: outputSchema })}}`,
    ...messages.map(normalise),
  ]
}

/** The key of a normalised request: 32 hex digits. */
export function keyOf(elements: readonly string[]): string {
  return hash(elements.join("\n"))
}

/** Names a schema; key order counts. */
export function schemaKey(schema: JsonSchema): string {
  return hash(JSON.stringify(schema))
}

const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/<environment>[\s\S]*?<\/environment>/g, "<environment/>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b\d{8}-\d{9}-[0-9a-f]{6}\b/g, "<run>"],
  [/([\\/]projects[\\/]+)[^\\/"\s]+-[0-9a-f]{12}\b/g, "$1<project>"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b\d{4}-\d\d-\d\d\b/g, "<date>"],
  [new RegExp(`\\b${DAY},? +${MONTH} +\\d{1,2} +\\d{1,2}:\\d\\d:\\d\\d(?: [A-Z]{2,5})? \\d{4}\\b`, "g"), "<time>"],
  [new RegExp(`\\b${MONTH} +\\d{1,2} +\\d{1,2}:\\d\\d\\b`, "g"), "<time>"],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b/g, "<time>"],
  [/\b\d+(?:[.,]\d+)? ?(?:ns|µs|ms|s|sec|secs|seconds?|min|minutes?)\b/g, "<duration>"],
  [/\b[0-9a-f]{40}\b/g, "<hash>"],
  [/((?:127\.0\.0\.1|localhost|\[::1\]):)\d{2,5}\b/g, "$1<port>"],
]

function normaliseJson(element: object, folders: Folders): string {
  return JSON.stringify(element, (key, value) => {
    if (key === "cache_control") return undefined
    return typeof value === "string" ? normaliseText(folders.hideIn(value)) : value
  })
}

function normaliseText(text: string): string {
  return VOLATILE.reduce((normal, [find, word]) => normal.replace(find, word), text)
}

function mapTexts<T>(value: T, change: (text: string) => string): T {
  return JSON.parse(JSON.stringify(value), (_, one) => (typeof one === "string" ? change(one) : one))
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32)
}

function realOf(folder: string): string | undefined {
  try {
    return realpathSync(folder)
  } catch {
    return undefined
  }
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
