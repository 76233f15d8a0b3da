/**
 * A question of the permission layer → one key of the person at the terminal.
 *
 * Invariant: what is asked about is shown whole and escaped; only a key pressed after the question stood there answers
 * it; several questions are answered one after another.
 */
import type { ApprovalAnswer, ApprovalFloor, ApprovalRequest } from "sous"
import { escapeHidden, oneLine, widthOf, wrap } from "./display.ts"
import { ESCAPE, type Keyboard, type Keys, type ListenOptions, listen } from "./keyboard.ts"
import { grantLines, isPlan, keyLines, keysOf, questionLines } from "./question.ts"
import type { Hold, Screen } from "./screen.ts"

export type { Keyboard } from "./keyboard.ts"

/** Asks the person at the terminal. */
export interface Asker {
  /** Undefined: the person is gone, or `signal` fired. */
  ask(request: ApprovalRequest, signal: AbortSignal, floor?: ApprovalFloor): Promise<ApprovalAnswer | undefined>
  /** Whether a recipe gets the rules that it asks for. */
  grant(recipe: { name: string; allow: readonly string[] }, signal: AbortSignal): Promise<boolean>
  /** A question that takes a yes or a no. Enter is a no. */
  confirm(question: ConfirmQuestion, signal: AbortSignal): Promise<boolean>
  /** One of up to nine choices, by its index. Undefined: none; Esc and Enter choose nothing. */
  choose(question: { text: string; choices: readonly string[] }, signal: AbortSignal): Promise<number | undefined>
  /** Whether to go on in plan mode, after several denials. */
  offerPlanMode(signal: AbortSignal): Promise<boolean>
}

/** What a person is asked to say yes or no to. */
export interface ConfirmQuestion extends Said {
  /** One line. */
  text: string
  /** What a yes means, one line. */
  hint?: string
}

/** One question while it stands. */
interface Talk {
  keys: Keys
  screen: Screen
  hold: Hold
  /** Questions that wait behind this one. */
  others: number
}

/** Makes the asker of a terminal. */
export function createAsker(keyboard: Keyboard, screen: Screen, options: ListenOptions): Asker {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const inTurn = <T>(signal: AbortSignal, work: (talk: Talk) => Promise<T>, gone: T): Promise<T> => {
    waiting++
    const turn = last.then(async () => {
      waiting--
      if (signal.aborted) return gone
      const hold = screen.hold()
      const { keys, stop } = await listen(keyboard, signal, options)
      try {
        return await work({ keys, screen, hold, others: waiting })
      } finally {
        stop()
        hold.release()
      }
    })
    last = turn.catch(() => {})
    return turn
  }
  const confirm = (lines: readonly string[], signal: AbortSignal, said: Said) =>
    inTurn(signal, (talk) => askYesNo(lines, talk, said), false)
  return {
    ask: (request, signal, floor) =>
      inTurn<ApprovalAnswer | undefined>(signal, (talk) => askAbout(request, talk, floor), undefined),
    grant: (recipe, signal) => confirm(grantLines(recipe, screen), signal, { yes: "granted", no: "not granted" }),
    confirm: (question, signal) => confirm(confirmLines(question, screen), signal, { ...question, enter: "no" }),
    choose: (question, signal) => inTurn(signal, (talk) => askChoice(question, talk), undefined),
    offerPlanMode: (signal) => confirm(planOffer(screen), signal, { yes: "plan mode", no: "going on as before" }),
  }
}

function confirmLines({ text, hint }: ConfirmQuestion, screen: Screen): string[] {
  const { dim, yellow } = screen.colors
  const pieces = (line: string) => wrap(oneLine(line), screen.columns() - 6, { cautious: true })
  const [first = "", ...more] = pieces(text)
  const hints = hint === undefined ? [] : pieces(hint).map((piece) => `  ${dim(piece)}`)
  return [`${yellow("?")} ${first}`, ...more.map((piece) => `  ${dim("┊")} ${piece}`), ...hints]
}

function planOffer({ colors }: Screen): string[] {
  const question = "Three calls in a row were denied. Go on in plan mode?"
  return [`${colors.yellow("?")} ${question}`, `  ${colors.dim("nothing is changed there until you approve a plan")}`]
}

async function askAbout(
  request: ApprovalRequest,
  talk: Talk,
  floor: ApprovalFloor | undefined,
): Promise<ApprovalAnswer | undefined> {
  const { keys, screen, others, hold } = talk
  hold.print(questionLines(request, screen, others).join("\n"))
  const row = keysOf(request)
  for (;;) {
    const typed = await keys.next()
    if (typed === undefined) return undefined
    const refusal = /^no?(?=[\s,:]|$)[ \t,:]*/i.exec(typed)
    if (refusal) {
      // The no stands from here on; only its sentence is still to come.
      const release = floor?.hold()
      const sentence = await readSentence(talk, typed.slice(refusal[0].length))
      if (sentence !== undefined && sentence !== CANCELLED) return denial(talk, sentence)
      release?.()
      if (sentence === undefined) return undefined
      hold.print(keyLines(row, screen, others).join("\n"))
      continue
    }
    const [key] = /^(?:[aepry]|yes|always)(?=\s*$)/i.exec(typed) ?? []
    const known = row.some(([name]) => name === key?.[0]?.toLowerCase())
    if (known) return permission(talk, key![0]!.toLowerCase() as keyof typeof YES, request)
    if (typed.length > 1) await keys.settle()
  }
}

const YES = {
  y: { says: "allowed" },
  e: { says: "allowed, accepting edits", mode: "acceptEdits" },
  a: { says: "always allowed in this session", remember: "session" },
  p: { says: "always allowed in this project", remember: "project" },
  r: { says: "allowed for this step", remember: "step" },
} as const satisfies Record<string, { says: string } & Pick<ApprovalAnswer, "mode" | "remember">>

function permission(talk: Talk, key: keyof typeof YES, request: ApprovalRequest): ApprovalAnswer {
  const { says, ...more } = YES[key]
  return say(talk, isPlan(request) ? says.replace("allowed", "approved") : says, { behavior: "allow", ...more })
}

function denial(talk: Talk, sentence: string): ApprovalAnswer {
  return say(talk, "denied", sentence === "" ? { behavior: "deny" } : { behavior: "deny", message: sentence })
}

/** What is said after an answer. */
interface Said {
  yes: string
  no: string
  /** What Enter alone is. Left out: it is no answer. */
  enter?: "no"
}

async function askYesNo(lines: readonly string[], talk: Talk, said: Said): Promise<boolean> {
  const { keys, screen, hold } = talk
  const row = keyLines(
    [
      ["y", "yes"],
      ["n", said.enter === "no" ? "no (Enter)" : "no"],
    ],
    screen,
  )
  hold.print([...lines, ...row].join("\n"))
  for (;;) {
    const typed = await keys.next()
    if (typed === undefined) return false
    if (/^y(es)?\s*$/i.test(typed)) return say(talk, said.yes, true)
    if (/^no?\s*$/i.test(typed) || (said.enter === "no" && /^[\r\n]+$/.test(typed))) return say(talk, said.no, false)
    if (typed.length > 1) await keys.settle()
  }
}

async function askChoice(
  { text, choices }: { text: string; choices: readonly string[] },
  talk: Talk,
): Promise<number | undefined> {
  const { keys, screen, hold } = talk
  const { bold, dim, yellow } = screen.colors
  const lines = choices.map((choice, at) => `  ${bold(`${at + 1}`)} ${startOf(oneLine(choice), screen.columns() - 6)}`)
  hold.print([`${yellow("?")} ${text}`, ...lines, dim("  a number, or Enter for none")].join("\n"))
  for (;;) {
    const typed = await keys.next()
    if (typed === undefined) return undefined
    if (typed === ESCAPE || /^[\r\n]+$/.test(typed)) return say(talk, "none", undefined)
    const [number] = /^[1-9](?=\s*$)/.exec(typed) ?? []
    const choice = number === undefined ? undefined : choices[Number(number) - 1]
    if (choice !== undefined) return say(talk, choice, Number(number) - 1)
    if (typed.length > 1) await keys.settle()
  }
}

function startOf(text: string, columns: number): string {
  return wrap(text, Math.max(1, columns))[0] ?? ""
}

/** Stands for a sentence that was begun and given up: the question is open again. */
const CANCELLED = Symbol("cancelled")

/** Reads a line, echoing it. `start` is what came with the key before. Undefined: the person is gone. */
async function readSentence(
  { keys, hold, screen }: Talk,
  start: string,
): Promise<string | typeof CANCELLED | undefined> {
  let line = ""
  let typed: string | undefined = start
  if (!/[\r\n]/.test(typed)) hold.print("  a sentence for the model, or Enter; Esc goes back:")
  for (;;) {
    if (typed === ESCAPE) return CANCELLED
    const end = typed.search(/[\r\n]/)
    for (const key of end < 0 ? typed : typed.slice(0, end)) {
      if (key === "\x7f" || key === "\b") line = [...line].slice(0, -1).join("")
      else if (key === "\x15") line = ""
      else if (key >= " ") line += key
    }
    if (end < 0 || line !== "") hold.echo(`  > ${endOf(escapeHidden(line), screen.columns() - 6)}`)
    if (end >= 0) return line.trim()
    typed = await keys.next()
    if (typed === undefined) return undefined
  }
}

/** The end of a text that is too long for the line: that is where the person writes. */
function endOf(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  const characters = [...text]
  while (widthOf(characters.join("")) >= columns) characters.shift()
  return `…${characters.join("")}`
}

function say<T>({ hold, screen }: Talk, what: string, answer: T): T {
  hold.print(screen.colors.dim(`  ${what}`))
  return answer
}
