/**
 * One settings or hooks file → all that is wrong with it, and its rules and hooks for those who look at them together.
 *
 * Invariant: it does not stop at the first fault; what the loader refuses is an error, what it leaves out a warning.
 */
import { isSousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import type { RuleSource } from "../permission/decision.ts"
import { checkPart, findFaults } from "../settings/check.ts"
import { readClaude } from "../settings/claude.ts"
import { parseDocument, type SettingsDocument } from "../settings/document.ts"
import { readHooks } from "../settings/hook-entry.ts"
import { hookFileSchema } from "../settings/hook-schema.ts"
import type { SettingsScope } from "../settings/merge.ts"
import type { Tool } from "../tool.ts"
import { type Finding, type FindingPlace, findingOf, placeIn } from "./check-finding.ts"
import { foreignHooks } from "./check-hook-foreign.ts"
import { escapedRules, rulesOf } from "./check-settings-rule.ts"
import { oddSettings } from "./check-settings-text.ts"

/** Whose form a file has: ours, that of Claude Code, or a `.hooks.json`. */
export type SettingsForm = "own" | "claude" | "hooks"

/** A file to look at. */
export interface SettingsFile {
  /** Absolute. */
  file: string
  text: string
  form: SettingsForm
  scope: SettingsScope
  /** Hooks of a plugin of Claude Code, in which what is foreign is left out. */
  isPlugin?: boolean
  /** Those that are here, for examples. */
  tools: readonly Tool[]
}

/** What was found in it. */
export interface SettingsFindings {
  findings: Finding[]
  rules: RuleSource[]
  hooks: HookSource[]
  /** Names of variables that its `env` sets. */
  variables: string[]
  /** The keys that it sets, dotted, with their places. */
  keys: Map<string, FindingPlace>
}

type Fields = Readonly<Record<string, unknown>>

/** Looks at a file. */
export async function checkSettingsFile(given: SettingsFile): Promise<SettingsFindings> {
  const nothing: SettingsFindings = { findings: [], rules: [], hooks: [], variables: [], keys: new Map() }
  const { file, text, form } = given
  try {
    const document = await parseDocument(file, text)
    if (!isFields(document.value)) {
      const place = placeIn(file, document.at, [])
      return {
        ...nothing,
        findings: [{ level: "error", ...place, what: "", problem: "it is no object", mend: "write { … }" }],
      }
    }
    const opened = { ...given, document, value: document.value }
    const findings = form === "own" ? ownFaults(file, document) : []
    const read =
      form === "own"
        ? hooksOf(opened, opened.value.hooks)
        : form === "hooks"
          ? await hookFile(opened)
          : await claudeParts(opened)
    return {
      findings: [
        ...withForeign([...findings, ...read.findings], opened),
        ...(form === "hooks" ? [] : [...oddSettings(opened), ...escapedRules(opened)]),
      ],
      rules: form === "hooks" ? [] : rulesOf(opened),
      hooks: read.hooks,
      variables: isFields(document.value.env) ? Object.keys(document.value.env) : [],
      keys: new Map(keysOf(document.value).map((path) => [path.join("."), placeIn(file, document.at, path)])),
    }
  } catch (error) {
    return { ...nothing, findings: [{ ...findingOf(error, file), file }] }
  }
}

/** Of hooks as another program writes them it is said once whose they are, and not name by name what is unknown. */
function withForeign(findings: Finding[], { file, document, value, tools }: Opened): Finding[] {
  const found = foreignHooks(value, tools)
  if (found === undefined) return findings
  const { program, example } = found
  const mend =
    example === undefined
      ? 'write "hooks": { "PreToolUse": [{ "matcher": "TOOL", "command": "…" }] }'
      : `for "${example.event}" write "hooks": ${example.here}`
  const problem = `its hooks are written for ${program}, and not read as such`
  const place = placeIn(file, document.at, ["hooks"])
  const own = findings.filter(
    ({ code, problem: text }) => code !== "SETTINGS_KEY_UNKNOWN" || !/"(?:hooks|version)\b/.test(text),
  )
  return [{ level: "error", ...place, what: "", problem, mend }, ...own]
}

function ownFaults(file: string, document: SettingsDocument): Finding[] {
  return findFaults(file, document).map((fault) => {
    const isServers = (fault.details as { key?: unknown }).key === "mcpServers"
    return { ...findingOf(fault, file), ...(isServers ? { mend: "put MCP servers into .mcp.json" } : {}) }
  })
}

interface Opened extends SettingsFile {
  document: SettingsDocument
  value: Fields
}

interface Read {
  findings: Finding[]
  hooks: HookSource[]
}

/** Each entry of `hooks` by itself, so that one which is wrong hides no other. */
function hooksOf({ file, scope, document }: Opened, hooks: unknown): Read {
  const read: Read = { findings: [], hooks: [] }
  if (!isFields(hooks)) return read
  for (const [event, entries] of Object.entries(hooks)) {
    for (const { list, at } of singleHandlers(entries, document)) {
      try {
        const found = readHooks({ scope, file, hooks: { [event]: list }, at })
        read.hooks.push(...found.drafts.map(({ source }) => source))
        read.findings.push(
          ...found.notRaised.map(({ origin }) => notRaised(event, { file, line: 1, column: 1, ...origin })),
        )
      } catch (error) {
        read.findings.push(findingOf(error, file))
      }
    }
  }
  return read
}

function notRaised(event: string, { file, line, column }: FindingPlace): Finding {
  return {
    level: "note",
    file,
    line,
    column,
    what: `${event} hook`,
    problem: "the event is not raised here, so it never runs",
    mend: "",
  }
}

/** Lists that hold one handler each, at its index; places are those of the whole. */
function singleHandlers(entries: unknown, { at }: SettingsDocument): { list: unknown; at: SettingsDocument["at"] }[] {
  if (!Array.isArray(entries)) return [{ list: entries, at }]
  return entries.flatMap((entry: unknown, index) => {
    const inner = isFields(entry) && Array.isArray(entry.hooks) ? entry.hooks : []
    if (entry === undefined) return []
    if (!isFields(entry) || inner.length < 2) return [{ list: alone(entry, index), at }]
    return inner.flatMap((handler: unknown, nth) => {
      if (handler === undefined) return []
      const shifted: SettingsDocument["at"] = (path) =>
        at(path[3] === "hooks" && path[4] === 0 ? [...path.slice(0, 4), nth, ...path.slice(5)] : path)
      return [{ list: alone({ ...entry, hooks: [handler] }, index), at: shifted }]
    })
  })
}

function alone(entry: unknown, index: number): unknown[] {
  const list: unknown[] = []
  list[index] = entry
  return list
}

async function hookFile(opened: Opened): Promise<Read> {
  const { file, document, value } = opened
  const findings: Finding[] = []
  for (const key of Object.keys(value)) {
    try {
      const shape = hookFileSchema.partial()
      checkPart(shape, { [key]: value[key] }, { file, at: document.at, path: [], meant: () => "remove it" })
    } catch (error) {
      findings.push(findingOf(error, file))
    }
  }
  if (!("hooks" in value)) {
    const place = placeIn(file, document.at, [])
    findings.push({
      level: "error",
      ...place,
      what: "",
      problem: 'it has no "hooks"',
      mend: 'write { "hooks": { … } }',
    })
  }
  const { hooks } = value
  const read = opened.isPlugin ? await claudeParts({ ...opened, value: { hooks } }) : hooksOf(opened, hooks)
  return { ...read, findings: [...findings, ...read.findings] }
}

/** Key by key: what one of them makes the loader throw hides no other. */
async function claudeParts(opened: Opened): Promise<Read> {
  const read: Read = { findings: [], hooks: [] }
  for (const [key, value] of Object.entries(opened.value)) {
    const isHooks = key === "hooks" && isFields(value)
    const parts = isHooks ? Object.entries(value).map(([event, list]) => ({ [event]: list })) : [value]
    for (const part of parts) await claudePart(opened, { [key]: part }, read)
  }
  return read
}

async function claudePart(opened: Opened, value: Fields, read: Read): Promise<void> {
  const { file, scope, document } = opened
  try {
    const { values, ignored, warnings } = await readClaude(file, { value, at: document.at }, scope)
    const told = warnings.map((warning) => toldOf(warning, file))
    const silent = ignored.filter(({ path }) => !told.some(({ what }) => what === `"${path}"`))
    read.findings.push(...told)
    for (const { path, reason } of silent) {
      const place = placeIn(file, document.at, path.split("."))
      read.findings.push({ level: "note", ...place, what: `"${path}"`, problem: reason, mend: "" })
    }
    const found = hooksOf(opened, values.hooks)
    read.hooks.push(...found.hooks, ...leftOutHooks(opened, value.hooks, values.hooks))
    read.findings.push(...found.findings)
  } catch (error) {
    if (!isSousError(error)) throw error
    read.findings.push(findingOf(error, file))
  }
}

/** Groups that are left out for their matcher, without it: their commands are looked at all the same. */
function leftOutHooks(opened: Opened, written: unknown, kept: unknown): HookSource[] {
  if (!isFields(written) || !isFields(kept)) return []
  return Object.entries(written).flatMap(([event, entries]) => {
    const list = kept[event]
    if (!Array.isArray(entries) || !Array.isArray(list)) return []
    const holes = entries.map((entry: unknown, index) => {
      return list[index] === undefined && isFields(entry) ? { hooks: entry.hooks } : undefined
    })
    return hooksOf(opened, { [event]: holes }).hooks
  })
}

/** The loader's sentence `"key" at file:1:2 is left out: problem; mend`, taken apart. */
function toldOf(warning: string, file: string): Finding {
  const [, key, line, column, said = warning] = /^"(.*?)" at .*?:(\d+):(\d+) (.*)$/s.exec(warning) ?? []
  const [problem = said, ...mends] = said.replace(/^is /, "it is ").split(/; (?=(?:write|choose|remove) )/)
  const place = { file, line: Number(line ?? 1), column: Number(column ?? 1) }
  return { level: "warning", ...place, what: key === undefined ? "" : `"${key}"`, problem, mend: mends.join("; ") }
}

/** Every key that holds no object, and those one below one that does. */
function keysOf(value: Fields): string[][] {
  return Object.entries(value).flatMap(([key, field]) =>
    isFields(field) && /^(?:permissions|budget|compat|env)$/.test(key)
      ? Object.keys(field).map((name) => [key, name])
      : [[key]],
  )
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
