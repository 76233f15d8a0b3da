/**
 * A run's result → the answer for stdout, and the last lines for people: status, time, tokens, cost, what failed.
 *
 * Invariant: the answer is written as it is; everything else is escaped.
 */
import type { RunEvent, RunResult } from "sous"
import { escapeControls, formatCount, formatDuration, formatUsd, oneLine } from "./display.ts"
import type { Screen } from "./screen.ts"

/** What goes to stdout: text as it is, anything else as JSON; empty when the run has no output. */
export function answerText(output: unknown): string {
  if (output === undefined || output === null) return ""
  const text = typeof output === "string" ? output : JSON.stringify(output, null, 2)
  return text === "" || text.endsWith("\n") ? text : text + "\n"
}

/** One line: `✓ review ok · 4 turns · 12.3k in, 1.1k out · $0.03 · 12s`. */
export function summaryLine(result: RunResult, screen: Screen): string {
  const { green, yellow, red, dim } = screen.colors
  const { usage } = result
  const mark = { ok: green("✓"), degraded: yellow("!"), waiting: yellow("…") }[result.status as string] ?? red("✗")
  const facts = [
    `${result.turns} ${result.turns === 1 ? "turn" : "turns"}`,
    `${formatCount(usage.input + usage.cacheRead + usage.cacheWrite)} in, ${formatCount(usage.output)} out`,
    ...(result.usd ? [formatUsd(result.usd)] : []),
    formatDuration(result.durationMs),
  ]
  return `${mark} ${oneLine(result.recipe)} ${result.status} ${dim(`· ${facts.join(" · ")}`)}`
}

/** A request that did not begin as the one before it, so that the prompt's cache did not help. */
export type CacheBreak = Pick<Extract<RunEvent, { type: "cache_break" }>, "cause" | "by" | "tokens">

/** One line: `2 breaks of the prompt's cache, about 90.1k tokens: compaction (cut), tools (Look) 2 ×`; none without any. */
export function breakLines(breaks: readonly CacheBreak[], screen: Screen): string[] {
  if (breaks.length === 0) return []
  const counts = new Map<string, number>()
  for (const { cause, by } of breaks) {
    const name = `${cause} (${oneLine(by)})`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const names = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ${count} ×`))
  const tokens = formatCount(breaks.reduce((sum, one) => sum + one.tokens, 0))
  const what = `${breaks.length} ${breaks.length === 1 ? "break" : "breaks"} of the prompt's cache`
  return [screen.colors.dim(`${what}, about ${tokens} tokens: ${names.join(", ")}`)]
}

/** What went wrong, one line each: the failure that ended the run, tolerated failures, denials. */
export function failureLines(result: RunResult): string[] {
  const { failure, tolerated, denials } = result
  const lines: string[] = []
  if (failure) {
    const step = failure.step === undefined ? "" : ` in step "${oneLine(failure.step)}"`
    const [first = "", ...more] = escapeControls(failure.error).split("\n")
    lines.push(`Failed${step} (${failure.cause}): ${first}`, ...more.map((line) => `  ${line}`))
    if (failure.mend !== undefined) lines.push(`  mend  ${escapeControls(failure.mend)}`)
    if (failure.code !== undefined) lines.push(`  code  ${failure.code}`)
  }
  if (tolerated > 0) lines.push(`${tolerated} tolerated ${tolerated === 1 ? "failure" : "failures"}`)
  const reasons = new Set(denials.map(({ tool, reason }) => `${tool} was denied: ${oneLine(reason)}`))
  return [...lines, ...(failure ? reasons : [])]
}
