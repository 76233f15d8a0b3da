/**
 * Explained settings → lines for people: all of them in a table, or one of them with all that is known about it.
 *
 * Invariant: nothing that the explanation holds is left out of the long form; a value is one line.
 */
import { relative } from "node:path"
import type { Origin } from "../permission/decision.ts"
import type { ExplainedSetting, ExplainedValue } from "../settings/explained.ts"

/** What the paths of files are shown relative to. */
interface Place {
  cwd: string
  home: string | undefined
}

/** Each value that counts, with where it comes from; then what was ignored. */
export function tableOf(settings: readonly ExplainedSetting[], place: Place): string {
  const rows = settings.flatMap((setting) => rowsOf(setting, place))
  const ignored = settings.flatMap(({ ignored }) =>
    ignored.map((one) => [`  ${one.path}`, oneLine(one.value), `${whereOf(one, place)}  ${one.reason}`]),
  )
  return [...columns(rows), ...(ignored.length === 0 ? [] : ["Ignored", ...columns(ignored)]), ""].join("\n")
}

function rowsOf({ key, value, by, entries, default: usual, note }: ExplainedSetting, place: Place): string[][] {
  if (entries) {
    return entries.map((entry) => [
      entry.name ? `${key}.${entry.name}` : key,
      oneLine(entry.value),
      whereOf(entry, place),
    ])
  }
  if (value === undefined) return []
  const where = by ? whereOf(by, place) : usual === undefined ? "" : "default"
  return [[key, oneLine(value), note ? `${where}  ${note}` : where]]
}

/** All about single keys. */
export function describeSettings(settings: readonly ExplainedSetting[], place: Place): string {
  return settings.map((setting) => `${describe(setting, place).join("\n")}\n`).join("\n")
}

function describe(setting: ExplainedSetting, place: Place): string[] {
  const { key, sentence, merge, by, value, entries, beaten, ignored, note } = setting
  const row = (word: string, one: ExplainedValue, why = "") => [
    `  ${word}`,
    one.name ? `${one.name}  ${oneLine(one.value)}` : oneLine(one.value),
    `${whereOf(one, place)}${why}`,
  ]
  const single =
    entries || value === undefined ? [] : [["  value", oneLine(value), by ? whereOf(by, place) : "default"]]
  const nothing = value === undefined && !entries?.length ? ["  nobody set it"] : []
  const usual = setting.default === undefined ? [] : [`  default  ${oneLine(setting.default)}`]
  return [
    sentence === undefined ? `${key}  no key of sous` : `${key}  ${sentence}`,
    ...(sentence === undefined ? [] : nothing),
    ...columns([
      ...single,
      ...(entries ?? []).map((one) => row("value", one)),
      ...beaten.map((one) => row("beaten", one)),
      ...ignored.map((one) => row("ignored", one, `  ${one.reason}`)),
    ]),
    ...(note ? [`  note     ${note}`] : []),
    ...usual,
    ...(merge ? [`  merge    ${MERGES[merge]}`] : []),
  ]
}

const MERGES = {
  replace: "the strongest scope's value counts: managed, CLI, local, project, user",
  union: "the entries of all scopes count; of one name, the strongest scope's",
  tighten: "the strictest value counts, whoever set it",
} as const

function whereOf({ scope, file, line, column, granted }: Origin & { granted?: string }, place: Place): string {
  const who = granted === undefined ? scope : `${scope} (granted ${granted.slice(0, 10)})`
  if (file === undefined) return who
  return `${who}  ${[near(file, place), line, column].filter((part) => part !== undefined).join(":")}`
}

function near(file: string, { cwd, home }: Place): string {
  const below = relative(cwd, file)
  if (!below.startsWith("..")) return below
  return home !== undefined && file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file
}

/** The longest that a value may be shown, characters. */
const LONGEST = 100

function oneLine(value: unknown): string {
  const text = (typeof value === "string" ? value : JSON.stringify(value))?.replaceAll("\n", "\\n") ?? ""
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
}

function columns(rows: readonly string[][]): string[] {
  const widths = [0, 1].map((index) => Math.min(60, Math.max(0, ...rows.map((row) => row[index]?.length ?? 0))))
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  )
}
