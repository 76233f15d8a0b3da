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

/** Words for the folders of this machine, there and back. */
export interface Folders {
  /** Takes JSON text and returns JSON text, with words in place of folders. */
  hide(json: string): string
  show(json: string): string
}

/** The folders that a cassette must not depend on. */
export function createFolders({ cwd, env }: Pick<ModelOptions, "cwd" | "env">): Folders {
  const words = [
    ["<cwd>", cwd],
    ["<cwd>", realOf(cwd)],
    ["<state>", env["XDG_STATE_HOME"]],
    ["<home>", env["HOME"]],
    ["<tmp>", tmpdir()],
  ]
    .filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1].length > 1)
    .map(([word, folder]) => ({ word, json: JSON.stringify(folder).slice(1, -1) }))
  const hidden = words.map(({ word, json }) => ({
    word,
    find: new RegExp(`${escapePattern(json)}(?![\\w.-]*\\w)`, "g"),
  }))
  return {
    hide: (text) => hidden.reduce((hid, { word, find }) => hid.replace(find, word), text),
    show: (text) => words.reduce((shown, { word, json }) => shown.replaceAll(word, json), text),
  }
}

/** Turns requests into normalised elements, JSON text each: system, tools, output, then the messages. */
export function createNormalizer(folders: Folders): (request: ModelRequest) => string[] {
  const known = new WeakMap<object, string>()
  const normalise = (element: object): string => {
    const made = known.get(element) ?? normaliseJson(JSON.stringify(element, withoutCacheControl), folders)
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

const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/<environment>.*?<\/environment>/g, "<environment/>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b\d{8}-\d{9}-[0-9a-f]{6}\b/g, "<run>"],
  [/([\\/]projects[\\/]+)[^\\/"\s]+-[0-9a-f]{12}\b/g, "$1<project>"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b\d{4}-\d\d-\d\d\b/g, "<date>"],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b/g, "<time>"],
  [/\b\d+(?:[.,]\d+)? ?(?:ns|µs|ms|s|sec|secs|seconds?|min|minutes?)\b/g, "<duration>"],
  [/\b[0-9a-f]{40}\b/g, "<hash>"],
  [/((?:127\.0\.0\.1|localhost|\[::1\]):)\d{2,5}\b/g, "$1<port>"],
]

function normaliseJson(json: string, folders: Folders): string {
  return VOLATILE.reduce((text, [find, word]) => text.replace(find, word), folders.hide(json))
}

function withoutCacheControl(key: string, value: unknown): unknown {
  return key === "cache_control" ? undefined : value
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
