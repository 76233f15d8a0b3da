/**
 * `sous compact [SESSION]`: makes room in a session; with `--try STRATEGY` it only says what would become of it.
 *
 * Invariant: trying changes nothing; compacting holds the session's lock as a run does.
 */
import { SousError } from "../error.ts"
import type { CompactionTrial } from "../run-compact-try.ts"
import { given } from "../settings/given.ts"
import type { CommandLine } from "./command-line.ts"
import { comparisonText, many, tokenCount } from "./context-text.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { follow } from "./run.ts"
import { openSession, runOptions, type Session, withKit } from "./session.ts"
import { readStored } from "./stored-session.ts"

/** Returns the exit code: 1 when nothing came of it. Throws CLI_…, SESSION_… errors and COMPACTION_UNKNOWN. */
export async function compact(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "compact")
  if (line.values.try === "")
    throw new SousError("CLI_VALUE_INVALID", { flag: "--try", value: "", wanted: "the name of a strategy" })
  const session = await openSession(line, host)
  const stored = await readStored(line.args[0], session)
  if (line.values.try !== undefined) return await tryOut(line.values.try, stored, session)
  const { focus } = line.values
  const prompt = ["/compact", ...(focus ? [focus] : [])].join(" ")
  const options = { ...runOptions(session), session: { resume: stored.file } }
  return await withKit(session, (kit) => follow(session, (onEvent) => kit.prompt(prompt, { ...options, onEvent })))
}

type Stored = Awaited<ReturnType<typeof readStored>>

async function tryOut(strategy: string, stored: Stored, session: Session): Promise<number> {
  const { host, line } = session
  const { focus, json, verbose } = line.values
  const options = { ...runOptions(session), ...given({ focus }), entries: stored.entries }
  const trial = await withKit(session, (kit) => kit.tryCompaction(strategy, options))
  const warnings = [...session.loaded.warnings, ...stored.warnings, ...trial.warnings]
  for (const warning of warnings) host.tell(`! ${warning}`)
  if (json) host.print(`${JSON.stringify({ session: stored.id, ...trial, warnings })}\n`)
  else host.print(host.escape(trialText(trial, { session: stored.id, isWhole: verbose ?? false })))
  return trial.ok ? 0 : 1
}

/** Characters of a summary that are shown. */
const SUMMARY_CHARS = 2_000
/** Lines in the place of results that are shown. */
const MOST_DROPPED = 10

function trialText(trial: CompactionTrial, { session, isWhole }: { session: string; isWhole: boolean }): string {
  const { strategy, before, after } = trial
  if (!trial.ok) {
    const why = trial.reason.startsWith(`${strategy}: `) ? trial.reason.slice(strategy.length + 2) : trial.reason
    return `${strategy} would leave session ${session} as it is: ${why}\n`
  }
  const saved = before.tokens - after.tokens
  const share = Math.round((saved / before.tokens) * 100)
  return `${[
    `${strategy} would save ${tokenCount(saved)} of ${tokenCount(before.tokens)} tokens (${share} %) of session ${session}; nothing was changed`,
    `kept     ${many(trial.kept, "message")} as they are`,
    `dropped  ${many(trial.gone, "message")}, and ${many(trial.dropped.length, "result")} of those that are kept`,
    ...askedText(trial),
    "",
    ...comparisonText(before, after),
    ...(trial.dropped.length === 0 ? [] : ["", ...firstOf(trial.dropped, isWhole ? Infinity : MOST_DROPPED)]),
    ...(trial.opening.length === 0 ? [] : ["", openingText(trial, isWhole ? Infinity : SUMMARY_CHARS)]),
  ].join("\n")}\n`
}

function askedText({ usage, usd }: CompactionTrial): string[] {
  if (usage.output === 0) return []
  const cost = usd === undefined ? "" : `, $${usd.toFixed(4)}`
  const sent = usage.input + usage.cacheRead + usage.cacheWrite
  return [`asked    a model: ${tokenCount(sent)} tokens in, ${tokenCount(usage.output)} out${cost}`]
}

function firstOf(lines: readonly string[], most: number): string[] {
  const more = lines.length - most
  return [...lines.slice(0, most), ...(more > 0 ? [`… ${more} more (--verbose shows them)`] : [])]
}

function openingText({ opening }: CompactionTrial & { ok: true }, most: number): string {
  const text = opening.flatMap((block) => (block.type === "text" ? [block.text] : [`[${block.type}]`])).join("\n\n")
  return text.length <= most ? text : `${text.slice(0, most)}… (--verbose shows all of it)`
}
