/**
 * A piece of work much longer than its window, and the model that does it: it knows nothing but what its request says,
 * so whatever a compaction loses makes it go astray, and every request is held to the laws of the loop.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { definePlugin, defineTool, type MessageParam, type Plugin, z } from "sous"
import { checkConversation, type TurnMaker } from "sous/testing"

/** How much there is to do, and what it has to go through, in tokens. */
export interface Work {
  window: number
  /** What the results of all calls have together. */
  results: number
  /** Its first summary lacks a section. */
  forgets?: boolean
}

export const GOAL = "Move the ledger of all branches to the format Q7 without losing a cent."
export const LATE_WORDS = "One thing more: never round, not even for display."
export const LAW =
  "<law>\nAmounts are in ¢, never in floats — «always».\n\tKeep    this  spacing. \u0000\u2028 é ≠ e\u0301\n</law>\n"
export const OATH = "Sworn at step five: the totals are checked twice. ✍"
/** The step after which a person says more, and the one at which the oath is told. */
const LATE = 20
const OATH_STEP = 5
/** Three of these come at once: enough to lead from what is well under the window to what is over it. */
const BULK = 0.07
const SECTIONS = ["Goal", "Constraints", "Files", "Decisions", "Errors", "Open tasks", "Next step"]

/** Tokens as this model counts them: words are cheap, all else is dear. */
export function countTokens(text: string): number {
  let words = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index) | 32
    if ((code >= 97 && code <= 122) || code === 32) words++
  }
  return Math.ceil(words / 4.2 + (text.length - words) / 2.4)
}

/** What the model saw and what it found wrong. */
export interface Seen {
  faults: string[]
  requests: number
  /** Tokens of all results. */
  results: number
  /** Tokens of the largest request, and with the answer that it left room for. */
  largest: number
  largestWithAnswer: number
  /** Summaries and notes that were asked for, by model. */
  questions: Record<string, number>
  steps: number
}

/** The plugins of the work: its tool, pinned text at the start, a pinned reminder on the way. */
export function workPlugins({ window }: Work): Plugin[] {
  const probe = defineTool({
    name: "Probe",
    description: "Takes a step of the work.",
    input: z.strictObject({ step: z.int(), part: z.int() }),
    readOnly: true,
    maxResultChars: 1_000_000,
    execute: async ({ step, part }) =>
      `${newsOf(step, part)}\n${filler(step * 7 + part, window, kindOf(step) === "bulk" ? BULK : undefined)}`,
  })
  const remind = ({ turn }: { turn: number }) =>
    turn >= OATH_STEP ? [{ key: "oath", text: OATH, pinned: true }] : undefined
  const context = [{ name: "law", pinned: true, start: () => LAW, remind }]
  return [definePlugin({ name: "long-work", tools: [probe], context })]
}

/** Writes the files that the steps read. */
export function writeParts(cwd: string, work: Work): void {
  mkdirSync(join(cwd, "src"))
  for (let step = 1; step <= stepsFor(work); step++)
    if (kindOf(step) === "read")
      writeFileSync(join(cwd, "src", `part-${step}.ts`), filler(step, work.window).replaceAll(". ", ".\n"))
}

/** More than are needed, so that the work ends by what went through. */
function stepsFor({ window, results }: Work): number {
  return Math.ceil((results / window) * 40)
}

/** What a step does: for a while it is mostly reading, then mostly probing; now and then results come in bulk. */
function kindOf(step: number): "write" | "bulk" | "read" | "probe" {
  if (step % 10 === 0) return "write"
  if (step % 40 === 1) return "bulk"
  return step % 60 < 25 || step % 3 === 2 ? "read" : "probe"
}

/** What a step brings to light: an error, a task, a task that is done. */
function newsOf(step: number, part: number): string {
  if (part > 0) return "Nothing else."
  const news = [`The state after ${step} is consistent.`]
  if (step % 7 === 0) news.push(`Failure E-${1000 + step}: a total was off by one cent; solved by a second look.`)
  if (step % 9 === 0) news.push(`New task: OPEN-${step}.`)
  if (step % 27 === 0) news.push(`Done at last: CLOSED-${step - 18}.`)
  return news.join(" ")
}

/** Text of one to five hundredths of the window, or of another share of it; now prose, now numbers. */
function filler(seed: number, window: number, share = 0.01 + 0.04 * (((seed * 2654435761) % 1000) / 1000)): string {
  const tokens = window * share
  const unit = seed % 4 === 0 ? "4f 9a 03 1c 7e b2. " : "the sum of this branch was found to be right again. "
  return unit.repeat(Math.ceil(tokens / countTokens(unit)))
}

/** What must not be lost once so many steps are done. What only the last one brought is told in the next. */
function truthAfter(steps: number): string[] {
  const numbers = Array.from({ length: steps }, (_, index) => index + 1)
  const closed = numbers.filter((step) => step % 27 === 0).map((step) => step - 18)
  return numbers
    .slice(0, -1)
    .flatMap((step) => [
      ...(step % 7 === 0 ? [`E-${1000 + step}`] : []),
      ...(step % 9 === 0 && !closed.includes(step) ? [`OPEN-${step}`] : []),
    ])
}

/** The model, and what it has seen so far. `queue` says something to the agent while it works. */
export function createWorker(work: Work, queue: (text: string) => void): { make: TurnMaker; seen: Seen } {
  const seen: Seen = {
    ...{ faults: [], requests: 0, results: 0, largest: 0, largestWithAnswer: 0, questions: {}, steps: 0 },
  }
  let oath: string | undefined
  let lacked = false
  const fault = (text: string) => {
    if (seen.faults.length < 200) seen.faults.push(`request ${seen.requests}, step ${seen.steps + 1}: ${text}`)
  }
  const check = (wrong: boolean, text: string) => wrong && fault(text)

  const make: TurnMaker = (body) => {
    seen.requests++
    const messages = body.messages as unknown as MessageParam[]
    const blocks = textsOf(messages)
    const all = blocks.join("\n")
    const tokens = countTokens(JSON.stringify([body.system, body.tools, messages]))
    seen.largest = Math.max(seen.largest, tokens)
    seen.largestWithAnswer = Math.max(seen.largestWithAnswer, tokens + body.max_tokens)
    check(tokens + body.max_tokens > work.window, `${tokens} and ${body.max_tokens} tokens are over the window`)
    try {
      checkConversation(messages)
    } catch (error) {
      fault((error as Error).message)
    }
    const known = knownIn(all)
    const usage = { input_tokens: tokens, output_tokens: 60 }
    if (SECTIONS.every((name) => blocks.at(-1)!.includes(`## ${name}`))) {
      check(lacked && !/lack|missing/i.test(blocks.at(-1)!), "a summary without its tasks was not asked for again")
      lacked = work.forgets === true && Object.keys(seen.questions).length === 0
      seen.questions[body.model] = (seen.questions[body.model] ?? 0) + 1
      return { text: summaryOf(known, lacked ? ["Open tasks"] : []), usage }
    }
    holdsAll(known)
    check(blocks.filter((text) => text === LAW).length !== 1, "the pinned law is not there as it was, once")
    oath ??= blocks.find((text) => text.includes(OATH))
    check(seen.steps > OATH_STEP && blocks.filter((text) => text === oath).length !== 1, "the pinned oath is not there")
    check(seen.steps > LATE + 1 && !blocks.includes(LATE_WORDS), "the person's last words are not there")
    check(!all.includes(GOAL), "the goal is not there")
    seen.results += newResults(messages)
    seen.steps = known.next
    if (seen.steps === LATE) queue(LATE_WORDS)
    return seen.results >= work.results ? { text: "All is moved.", usage } : { content: stepTurn(known), usage }
  }

  /** What the request says is what is so. */
  function holdsAll(known: Known): void {
    const lost = truthAfter(seen.steps).filter((name) => !known.errors.has(name) && !known.open.has(name))
    check(lost.length > 0, `these are not there any more: ${lost.join(", ")}`)
    const files = filesAfter(seen.steps).slice(-3)
    check(!files.every((file) => known.files.has(file)), `one of the files ${files.join(", ")} is not there`)
  }
  return { make, seen }
}

/** The files of the steps done, read or written. */
function filesAfter(steps: number): string[] {
  return Array.from({ length: steps }, (_, index) => index + 1).flatMap((step) =>
    kindOf(step) === "write" ? `src/out-${step}.ts` : kindOf(step) === "read" ? `src/part-${step}.ts` : [],
  )
}

interface Known {
  errors: Set<string>
  open: Set<string>
  files: Set<string>
  next: number
  hasLateWords: boolean
}

/** All that the model can know: it reads its request. */
function knownIn(all: string): Known {
  const found = (pattern: RegExp) => new Set([...all.matchAll(pattern)].map(([, name]) => name!))
  const closed = found(/CLOSED-(\d+)/g)
  const done = [...found(/\bI take step (\d+) now/g)].map(Number)
  const told = [...found(/\btake step (\d+) next/g)].map(Number)
  return {
    errors: found(/\b(E-\d+)\b/g),
    open: new Set([...found(/\bOPEN-(\d+)\b/g)].filter((name) => !closed.has(name)).map((name) => `OPEN-${name}`)),
    files: found(/(src\/(?:part|out)-\d+\.ts)/g),
    next: Math.max(1, ...done.map((step) => step + 1), ...told),
    hasLateWords: all.includes(LATE_WORDS),
  }
}

/** A summary of what is known, without some of its sections. */
function summaryOf({ errors, open, files, next, hasLateWords }: Known, without: readonly string[]): string {
  const texts: Record<string, string> = {
    Goal: GOAL,
    Constraints: hasLateWords ? LATE_WORDS : "none",
    Files: [...files].slice(-6).join(", ") || "none",
    Decisions: "The branches go one after the other.",
    Errors: [...errors].join(", ") || "none",
    "Open tasks": [...open].join(", ") || "none",
    "Next step": `take step ${next} next`,
  }
  return SECTIONS.filter((name) => !without.includes(name))
    .map((name) => `## ${name}\n${texts[name]}`)
    .join("\n\n")
}

/** One step: a file is written, read, or up to three parts are probed. */
function stepTurn({ next }: Known) {
  const text = `I take step ${next} now. Before: ${newsOf(next - 1, 0)}`
  return [{ text }, ...callsOf(next).map((tool) => ({ tool }))]
}

function callsOf(step: number): Record<string, unknown>[] {
  const probes = (parts: number) => Array.from({ length: parts }, (_, part) => ({ Probe: { step, part } }))
  switch (kindOf(step)) {
    case "write":
      return [{ Write: { file_path: `src/out-${step}.ts`, content: `export const step = ${step}\n` } }]
    case "read":
      return [{ Read: { file_path: `src/part-${step}.ts` } }]
    case "bulk":
      return probes(3)
    case "probe":
      return probes((step % 3) + 1)
  }
}

function textsOf(messages: readonly MessageParam[]): string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : content.flatMap((block) => {
          if (block.type === "text") return [block.text]
          if (block.type === "tool_use") return [JSON.stringify(block.input)]
          return block.type === "tool_result" ? [resultText(block.content)] : []
        }),
  )
}

function resultText(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? "")
  return content.map(({ text }: { text?: string }) => text ?? "").join("\n")
}

/** Tokens of the results that the last message brings. */
function newResults(messages: readonly MessageParam[]): number {
  const last = messages.findLast(({ content }) => Array.isArray(content) && content[0]?.type === "tool_result")
  if (last === undefined || messages.indexOf(last) < messages.findLastIndex(({ role }) => role === "assistant"))
    return 0
  return countTokens(textsOf([last]).join("\n"))
}
