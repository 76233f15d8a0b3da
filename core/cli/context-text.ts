/**
 * What occupies a window → a bar and a table for people.
 *
 * Invariant: plain text; the bar tells its parts by letters, so that it reads without colours.
 */
import type { ContextKind, ContextSurvey } from "../context/survey.ts"
import type { WindowSurvey } from "../run-context.ts"

/** Characters of a bar. */
const BAR = 60

const LETTERS: Record<ContextKind, string> = {
  system: "S",
  tools: "T",
  memory: "M",
  context: "C",
  summary: "Z",
  person: "P",
  answers: "A",
  results: "R",
  reminders: "N",
}

/** What a part is, in so many words. */
const NAMES: Record<ContextKind, (count: number) => string> = {
  system: () => "system prompt",
  tools: (count) => `tools, ${count}`,
  memory: () => "memory",
  context: () => "environment and lists",
  summary: () => "summary and scene",
  person: (count) => `person, ${many(count, "message")}`,
  answers: (count) => `answers, ${many(count, "block")}`,
  results: (count) => `tool results, ${count}`,
  reminders: (count) => `reminders, ${count}`,
}

export interface WindowTextOptions {
  /** A session's id; left out: it is a new conversation. */
  session?: string
  /** Also what the parts are made of. */
  isWhole: boolean
}

/** A window with all that is in it, ending in a newline. */
export function windowText(survey: WindowSurvey, { session, isWhole }: WindowTextOptions): string {
  const { model, window, isGuess, tokens, counted, parts, free, reserve } = survey
  const subject =
    session === undefined ? "A new conversation here" : `Session ${session}, ${many(survey.messages, "message")}`
  const size = `${tokenCount(window)} tokens${isGuess ? ", a guess" : ""}`
  const rows = [
    ...parts.flatMap((part) => [
      [LETTERS[part.kind], NAMES[part.kind](part.count), part.tokens] as const,
      ...(isWhole ? part.items.map(({ name, tokens: size }) => ["", `  ${name}`, size] as const) : []),
    ]),
    ["", "in use", tokens] as const,
    ["·", "free", free] as const,
    ["x", "reserve, for an answer", reserve] as const,
  ]
  const exact =
    counted === 0
      ? "Estimated; nothing was counted yet"
      : `${tokenCount(counted)} tokens of it were counted by the model`
  return `${[
    `${subject} · ${model ?? "no model"} · ${size}`,
    barOf(survey),
    ...tableOf(rows, window),
    session === undefined ? "Estimated, and without the prompt and what hooks add to it" : exact,
  ].join("\n")}\n`
}

/** Two surveys beside one another, one line for each kind. */
export function comparisonText(before: ContextSurvey, after: ContextSurvey): string[] {
  const sizeOf = ({ parts }: ContextSurvey, kind: ContextKind) => parts.find((part) => part.kind === kind)?.tokens ?? 0
  const kinds = (Object.keys(NAMES) as ContextKind[]).filter((kind) => sizeOf(before, kind) + sizeOf(after, kind) > 0)
  const rows = kinds.map((kind) => [NAMES[kind](0).split(",")[0]!, sizeOf(before, kind), sizeOf(after, kind)] as const)
  const all = [["", "before", "after"], ...[...rows, ["in all", before.tokens, after.tokens] as const].map(asText)]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]!.length)))
  return all.map(([name, one, other]) =>
    [name!.padEnd(widths[0]!), one!.padStart(widths[1]!), other!.padStart(widths[2]!)].join("  "),
  )
}

/** `950`, `12.3k`, `1.2M`. */
export function tokenCount(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  return tokens < 999_950 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1e6).toFixed(1)}M`
}

/** `1 message`, `2 messages`. */
export function many(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`
}

function asText([name, one, other]: readonly [string, number, number]): string[] {
  return [name, tokenCount(one), tokenCount(other)]
}

function tableOf(rows: readonly (readonly [string, string, number])[], window: number): string[] {
  const width = Math.max(...rows.map(([, name]) => name.length))
  return rows.map(([letter, name, tokens]) => {
    const share = `${((tokens / window) * 100).toFixed(1)} %`
    return `  ${letter.padEnd(1)}  ${name.padEnd(width)}  ${tokenCount(tokens).padStart(7)}  ${share.padStart(7)}`
  })
}

/** Each part has a cell at the least; the last cells are the reserve. */
function barOf({ parts, window, reserve, free }: WindowSurvey): string {
  const cells = parts.map(({ kind, tokens }) => LETTERS[kind].repeat(Math.max(1, Math.round((tokens / window) * BAR))))
  const kept = "x".repeat(Math.min(BAR, Math.max(1, Math.round((reserve / window) * BAR))))
  const used = cells.join("")
  const room = Math.max(free > 0 ? 1 : 0, BAR - used.length - kept.length)
  return `[${used}${"·".repeat(room)}${kept}]`
}
