/**
 * What `sous check` found: one row for each fault, and the same rows as lines for people or as JSON.
 *
 * Invariant: every row has a place, a reason and a mend; no secret that stood in a file is in a row.
 */
import { relative } from "node:path"
import { isSousError, type SousError } from "../error.ts"
import { maskText } from "./check-secret.ts"

/**
 * error: it stops a start, or something that somebody relies on is not there; warning: it does not do what it seems to;
 * note: it does, and somebody may want to know.
 */
export type FindingLevel = "error" | "warning" | "note"

/** One thing that was found. */
export interface Finding {
  level: FindingLevel
  /** Of a fault that has one in the table of errors. */
  code?: string
  /** Absolute, or as it was named; "" for what stands in no file. */
  file: string
  /** Counts from 1; 1 where only the file is known. */
  line: number
  column: number
  /** What it is about: `allow rule "Bash(ls)"`. */
  what: string
  /** One clause. */
  problem: string
  /** One imperative clause; "" where nothing has to be done. */
  mend: string
}

/** A file that was looked at, and what it was taken for. */
export interface CheckedFile {
  file: string
  as: string
}

/** All that a check came to. */
export interface CheckReport {
  files: CheckedFile[]
  findings: Finding[]
}

/** Where something stands in a file. */
export interface FindingPlace {
  file: string
  line: number
  column: number
}

/** The place of a value in a document; the file's beginning where it has none. */
export function placeIn(
  file: string,
  at: (path: readonly (string | number)[]) => { line: number; column: number } | undefined,
  path: readonly (string | number)[],
): FindingPlace {
  return { file, line: 1, column: 1, ...at(path) }
}

/** Any fault as a row; one that names its own file and place keeps them. */
export function findingOf(error: unknown, file: string): Finding {
  if (!isSousError(error)) {
    const problem = error instanceof Error ? error.message : String(error)
    return { level: "error", file, line: 1, column: 1, what: "", problem, mend: "" }
  }
  const details = error.details as { file?: unknown; from?: unknown; line?: unknown; column?: unknown }
  const [, from, fromLine, fromColumn] = /^(.*):(\d+):(\d+)$/s.exec(String(details.from ?? "")) ?? []
  const { problem, mend } = withoutPlace(error)
  return {
    level: "error",
    code: error.code,
    file: typeof details.file === "string" && details.file !== "--settings" ? details.file : (from ?? file),
    line: numberOf(details.line) ?? numberOf(fromLine) ?? 1,
    column: numberOf(details.column) ?? numberOf(fromColumn) ?? 1,
    what: "",
    problem,
    mend,
  }
}

/** The sentences about files name their place, which the row has already. */
function withoutPlace({ code, message, mend }: SousError): { problem: string; mend: string } {
  if (!/^(?:SETTINGS_(?:KEY|VALUE|FILE_BROKEN)|RECIPE_YAML|CLI_TABLE)/.test(code)) return { problem: message, mend }
  const problem = message.replace(/ at (?:\S.*?:)?\d+:\d+(?= is wrong:|:|$)/, "")
  return { problem, mend: /^correct .*:\d+:\d+$/.test(mend) ? "correct it" : mend }
}

function numberOf(value: unknown): number | undefined {
  const number = Number(value)
  return Number.isInteger(number) && number > 0 ? number : undefined
}

/** True when nothing is worse than a warning. */
export function isFine({ findings }: CheckReport): boolean {
  return findings.every(({ level }) => level !== "error")
}

/** Each finding once, in the order of files and lines; secrets masked. */
export function settleFindings(report: CheckReport): CheckReport {
  const order = new Map(report.files.map(({ file }, index) => [file, index]))
  const rankOf = ({ file }: Finding) => order.get(file) ?? order.size
  const seen = new Set<string>()
  const findings = report.findings
    .map((one) => ({ ...one, what: maskText(one.what), problem: maskText(one.problem), mend: maskText(one.mend) }))
    .filter((one) => {
      const key = JSON.stringify([one.file, one.line, one.column, one.what, one.problem])
      return !seen.has(key) && seen.add(key)
    })
    .sort((a, b) => rankOf(a) - rankOf(b) || a.line - b.line || a.column - b.column)
  return { files: report.files, findings }
}

/** One finding a line, then one line for each file without an error: what it was taken for. */
export function formatReport({ files, findings }: CheckReport, cwd: string): string {
  const lines = findings.map(({ level, file, line, column, what, problem, mend, code }) => {
    const place = file === "" ? "" : `${nearOf(file, cwd)}:${line}:${column}  `
    const about = what === "" ? "" : `${what}: `
    const more = [mend, ...(code === undefined ? [] : [`(${code})`])].filter((part) => part !== "").join(" ")
    return oneLine(`${level.padEnd(7)}  ${place}${about}${problem}${more === "" ? "" : `; ${more}`}`)
  })
  const broken = new Set(findings.filter(({ level }) => level === "error").map(({ file }) => file))
  const good = files
    .filter(({ file }) => !broken.has(file))
    .map(({ file, as }) => `ok       ${nearOf(file, cwd)}  ${as}`)
  return [...lines, ...good].map((one) => `${one}\n`).join("")
}

/** For machines. */
export function jsonReport(report: CheckReport): object {
  return { ok: isFine(report), ...report }
}

function nearOf(file: string, cwd: string): string {
  const near = relative(cwd, file)
  return near === "" || near.startsWith("..") ? file : near
}

function oneLine(text: string): string {
  return text.replace(/\r?\n/g, "\\n")
}
