/**
 * The hooks of a pack, in its files or its manifest → one handler each, that starts what it names from the pack's copy.
 *
 * Invariant: what runs comes from the copy that was verified; an entry that is not understood is refused, but in a plugin
 * of Claude Code what is foreign is left out with a note, as there.
 */
import { mkdirSync } from "node:fs"
import { HOOKS } from "../hook.ts"
import type { HookForm, HookSource } from "../hook-source.ts"
import type { Tree } from "../session/tree.ts"
import { type HookDraft, type HookFile, readHooks } from "../settings/hook-entry.ts"
import { FOREIGN_EVENTS, GROUP, HANDLERS } from "../settings/hook-schema.ts"
import { asFields, invalid, type PackManifest, readFile } from "./shape.ts"

/** The hooks of one pack as they were written. */
export interface PackHooks {
  drafts: HookDraft[]
  /** What was left out, one sentence each. */
  notes: string[]
}

/** Reads them. Throws PACK_MANIFEST_INVALID or what settings throw for hooks. */
export async function readPackHooks(tree: Tree, manifest: PackManifest): Promise<PackHooks> {
  const drafts: HookDraft[] = []
  const notes: string[] = []
  for (const given of manifest.hooks) {
    const file = typeof given === "string" ? given : manifest.file
    const value = typeof given === "string" ? await readFile(tree, given) : given
    if (value === undefined) throw invalid(manifest.file, `there is no file "${file}" with hooks`, `correct "hooks"`)
    const isForeign = manifest.dialect === "claude-code"
    const hooks = hooksIn(value, file, isForeign ? { foreign: notes } : {})
    const known = isForeign ? withoutForeign(hooks, file, notes) : hooks
    const part: HookFile = { scope: "user", file: `${manifest.name}/${file}`, hooks: known, at: () => undefined }
    const { drafts: read, notRaised } = readHooks(part)
    drafts.push(...read)
    notes.push(...notRaised.map(({ event }) => `nothing raises the event ${event} of ${file} here`))
  }
  return { drafts, notes: [...new Set([...notes, ...longNotes(drafts)])] }
}

export interface PackPlace {
  name: string
  /** The copy that is started from, absolute. */
  root: string
  /** Where its hooks may keep what they want to find again, absolute. */
  data: string
  /** The files of the copy, by relative path. */
  files: Tree["files"]
}

/** The hook as it is started: with the pack's folders in its environment and in its command. */
export function placeHook(source: HookSource, place: PackPlace): HookSource {
  const env = folderVariables(place)
  const { form } = source
  if (form.type === "command" && /(?:PLUGIN|PACK)_DATA/.test([form.command, ...(form.args ?? [])].join(" ")))
    mkdirSync(place.data, { recursive: true, mode: 0o700 })
  const filled = fillForm(form, env)
  return { ...source, form: filled, env, expects: { root: place.root, files: filesIn(filled, place) } }
}

/** The files of the copy that a command names: each is looked at again right before the command starts. */
function filesIn(form: HookForm, { root, files }: PackPlace): Record<string, string> {
  const text = form.type === "command" ? [form.command, ...(form.args ?? [])].join(" ") : ""
  const named = [...files].filter(([path]) => text.includes(`/${path}`))
  return Object.fromEntries(named.map(([path, { sha256 }]) => [`${root}/${path}`, sha256]))
}

/** What a hook does, for people: its command, address or question. */
export function sayHook({ form }: Pick<HookSource, "form">): string {
  if (form.type === "command") return [form.command, ...(form.args ?? [])].join(" ")
  if (form.type === "http") return `POST ${form.url}`
  if (form.type === "mcp_tool") return `${form.server}/${form.tool}`
  return `${form.type === "agent" ? "asks an agent" : "asks a model"}: ${form.prompt}`
}

function folderVariables({ root, data }: PackPlace): Record<string, string> {
  return { CLAUDE_PLUGIN_ROOT: root, SOUS_PACK_ROOT: root, CLAUDE_PLUGIN_DATA: data, SOUS_PACK_DATA: data }
}

/** A path with these characters needs no quotes in a shell, wherever it is put. */
const PLAIN_PATH = /^[\w./@:+-]+$/

/** A path that is not plain is left to the shell, which finds it in the environment; a program's arguments see no shell. */
function fillForm(form: HookForm, env: Readonly<Record<string, string>>): HookForm {
  if (form.type !== "command") return form
  const { command, args } = form
  if (args !== undefined) return { ...form, command: fill(command, env), args: args.map((one) => fill(one, env)) }
  const plain = Object.entries(env).filter(([, path]) => PLAIN_PATH.test(path))
  return { ...form, command: fill(command, Object.fromEntries(plain)) }
}

function fill(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced, bare) => {
    const name = braced ?? bare
    return Object.hasOwn(env, name) ? env[name]! : whole
  })
}

/** The events of a file, which stand in "hooks" or alone. `foreign`: what else stands beside them is left out. */
function hooksIn(value: unknown, file: string, { foreign }: { foreign?: string[] }): Record<string, unknown> {
  const { hooks, $schema: _, description: __, ...rest } = asFields(value)
  const found = hooks === undefined ? value : hooks
  if (typeof found !== "object" || found === null || Array.isArray(found))
    throw invalid(file, '"hooks" is no object of events', `correct ${file}`)
  const beside = hooks === undefined ? [] : Object.keys(rest)
  if (beside[0] !== undefined && foreign === undefined)
    throw invalid(file, `unknown key "${beside[0]}"`, `write events into "hooks" of ${file}`)
  foreign?.push(...beside.map((key) => `the unknown field "${key}" of ${file} is left out`))
  return found as Record<string, unknown>
}

/** A hook that is given so long was probably given milliseconds, ms. */
const LONG_MS = 600_000

function longNotes(drafts: readonly HookDraft[]): string[] {
  const long = drafts.filter(({ source: { timeoutMs = 0 } }) => timeoutMs > LONG_MS)
  return long.map(({ source: { event, timeoutMs = 0 } }) => {
    return `a hook of ${event} may take ${Math.round(timeoutMs / 60_000)} minutes: timeouts are in seconds`
  })
}

/** Takes out of the hooks of a foreign plugin what nothing here understands; a note for each. */
function withoutForeign(hooks: Record<string, unknown>, file: string, notes: string[]): Record<string, unknown> {
  const known = Object.entries(hooks).filter(([event]) => {
    const isKnown = Object.hasOwn(HOOKS, event) || FOREIGN_EVENTS.some((name) => name === event)
    if (!isKnown) notes.push(`the unknown event "${event}" of ${file} is left out`)
    return isKnown
  })
  const entries = known.map(([event, groups]) => [event, Array.isArray(groups) ? groups.map(group) : groups])
  return Object.fromEntries(entries)

  function group(one: unknown): unknown {
    const { hooks: handlers, ...head } = asFields(one)
    if (!Array.isArray(handlers)) return one
    return { ...keep(head, Object.keys(GROUP.shape)), hooks: handlers.map(handler) }
  }
  function handler(one: unknown): unknown {
    const fields = asFields(one)
    const type = String(fields.type)
    return Object.hasOwn(HANDLERS, type) ? keep(fields, Object.keys(HANDLERS[type as "command"].shape)) : one
  }
  function keep(fields: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
    const kept = Object.entries(fields).filter(([name, value]) => {
      if (!names.includes(name)) notes.push(`the unknown field "${name}" of a hook in ${file} is left out`)
      return names.includes(name) && value !== null
    })
    return Object.fromEntries(kept)
  }
}
