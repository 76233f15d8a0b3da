/**
 * A question of the permission layer → one key of the person at the terminal.
 *
 * Invariant: what is asked about is shown whole and escaped; only a key pressed after the question stood there answers
 * it; several questions are answered one after another.
 */
import type { ApprovalAnswer, ApprovalRequest } from "sous"
import { escapeHidden, oneLine, wrap } from "./display.ts"
import type { Hold, Screen } from "./screen.ts"

/** The keyboard, as far as it is needed; `process.stdin` of a terminal is one. */
export interface Keyboard {
  setRawMode?(raw: boolean): unknown
  setEncoding(encoding: "utf8"): unknown
  on(event: "data" | "end", listener: (text: string) => void): unknown
  off(event: "data" | "end", listener: (text: string) => void): unknown
  resume(): unknown
  pause(): unknown
}

export interface AskerOptions {
  /** Called for Ctrl-C, which is a plain key while a question stands. */
  interrupt(): void
  /** How long typed-ahead keys are taken out of the way before a question is shown, ms. Default 30. */
  settleMs?: number
}

/** Asks the person at the terminal. */
export interface Asker {
  /** Undefined: the person is gone, or `signal` fired. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer | undefined>
  /** A question of our own, to be answered with yes or no. */
  confirm(lines: readonly string[], signal: AbortSignal): Promise<boolean>
  /** Whether a recipe gets the rules that it asks for. */
  grant(recipe: { name: string; allow: readonly string[] }, signal: AbortSignal): Promise<boolean>
}

/** Keys read while a question stands. */
interface Keys {
  /** The next keys as they came; undefined at the end of the input or when `signal` fired. */
  next(): Promise<string | undefined>
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
export function createAsker(keyboard: Keyboard, screen: Screen, options: AskerOptions): Asker {
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
  return {
    ask: (request, signal) => inTurn<ApprovalAnswer | undefined>(signal, (talk) => askAbout(request, talk), undefined),
    confirm: (lines, signal) => inTurn(signal, (talk) => confirm(lines, talk), false),
    grant: (recipe, signal) => inTurn(signal, (talk) => confirm(grantLines(recipe, screen), talk), false),
  }
}

async function askAbout(request: ApprovalRequest, talk: Talk): Promise<ApprovalAnswer | undefined> {
  const { keys, screen, others } = talk
  talk.hold.print(questionLines(request, screen, others).join("\n"))
  for (;;) {
    const typed = await keys.next()
    if (typed === undefined) return undefined
    if (/^y(es)?\s*$/i.test(typed)) return say(talk, "allowed", { behavior: "allow" })
    if (/^a(lways)?\s*$/i.test(typed) && request.suggestions.length > 0) {
      return say(talk, "always allowed in this session", { behavior: "allow", remember: "session" })
    }
    if (/^n/i.test(typed)) {
      const sentence = await readSentence(talk, typed.slice(1))
      if (sentence === undefined) return undefined
      return say(talk, "denied", sentence === "" ? { behavior: "deny" } : { behavior: "deny", message: sentence })
    }
  }
}

/** What the person sees: the tool, its whole input, the reason, the keys. */
export function questionLines(request: ApprovalRequest, screen: Screen, others = 0): string[] {
  const { bold, yellow, dim } = screen.colors
  const who = [request.agent.step, request.agent.depth > 0 ? `subagent ${request.agent.type}` : undefined]
  const where = who.filter((part) => part !== undefined).map((part) => oneLine(part))
  const always = request.suggestions.map((rule) => oneLine(rule)).join(", ")
  return [
    `${yellow("?")} ${bold(oneLine(request.tool))} wants to run${where.length > 0 ? dim(` (${where.join(", ")})`) : ""}`,
    ...inputLines(request.input).flatMap((line) => gutter(line, screen)),
    `  ${dim("because")} ${oneLine(request.decision.reason)}`,
    `  ${bold("y")} once  ${bold("n")} no${always === "" ? "" : `  ${bold("a")} always in this session: ${always}`}${others > 0 ? dim(`  (${others} more waiting)`) : ""}`,
  ]
}

function grantLines(recipe: { name: string; allow: readonly string[] }, screen: Screen): string[] {
  const { bold, yellow, dim } = screen.colors
  const rules = recipe.allow.map((rule) => `  ${dim("│")} ${oneLine(rule)}`)
  return [`${yellow("?")} Recipe ${bold(oneLine(recipe.name))} asks for`, ...rules]
}

/** Each field of the input; text as it is, line by line, all else as JSON. */
function inputLines(input: unknown): string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [JSON.stringify(input) ?? "undefined"]
  return Object.entries(input).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2)
    const [first = "", ...more] = text.split("\n")
    return [`${name}: ${first}`, ...more]
  })
}

/** One line behind a bar; a line that is too long goes on behind a dotted one, so that nothing can pass for our own text. */
function gutter(line: string, screen: Screen): string[] {
  const pieces = wrap(escapeHidden(line).replaceAll("\t", "\\t"), screen.columns() - 6)
  return pieces.map((piece, index) => `  ${screen.colors.dim(index === 0 ? "│" : "┊")} ${piece}`)
}

async function confirm(lines: readonly string[], talk: Talk): Promise<boolean> {
  const { keys, screen } = talk
  const { bold } = screen.colors
  talk.hold.print([...lines, `  ${bold("y")} yes  ${bold("n")} no`].join("\n"))
  for (;;) {
    const typed = await keys.next()
    if (typed === undefined) return false
    if (/^y(es)?\s*$/i.test(typed)) return say(talk, "granted", true)
    if (/^n/i.test(typed)) return say(talk, "not granted", false)
  }
}

/** Reads a line, echoing it. `start` is what came with the key before. Undefined: the person is gone. */
async function readSentence({ keys, hold }: Talk, start: string): Promise<string | undefined> {
  let line = ""
  let typed: string | undefined = start.replace(/^o?\b[\s,:]*(?=\S)/i, "")
  if (!/[\r\n]/.test(typed)) hold.print("  a sentence for the model, or Enter:")
  for (;;) {
    const end = typed.search(/[\r\n]/)
    for (const key of end < 0 ? typed : typed.slice(0, end)) {
      if (key === "\x7f" || key === "\b") line = [...line].slice(0, -1).join("")
      else if (key === "\x15") line = ""
      else if (key >= " ") line += key
    }
    if (end >= 0) break
    hold.echo(`  > ${escapeHidden(line)}`)
    typed = await keys.next()
    if (typed === undefined) return undefined
  }
  if (line !== "") hold.print("")
  return line.trim()
}

function say<T>({ hold, screen }: Talk, what: string, answer: T): T {
  hold.print(screen.colors.dim(`  ${what}`))
  return answer
}

/** Turns the keyboard on, throws away what was typed before, and gives what comes from then on. */
async function listen(
  keyboard: Keyboard,
  signal: AbortSignal,
  options: AskerOptions,
): Promise<{ keys: Keys; stop(): void }> {
  const typed: string[] = []
  let wake: ((text: string | undefined) => void) | undefined
  let gone = false
  const leave = () => {
    gone = true
    wake?.(undefined)
  }
  const hear = (chunk: string) => {
    if (chunk.includes("\x03")) return options.interrupt()
    // Arrow and function keys end in letters; none of them is an answer.
    const text = chunk.replace(/\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?/gs, "")
    if (text === "") return
    if (wake) wake(text)
    else typed.push(text)
  }
  keyboard.setEncoding("utf8")
  keyboard.setRawMode?.(true)
  keyboard.on("data", hear)
  keyboard.on("end", leave)
  signal.addEventListener("abort", leave)
  keyboard.resume()
  await new Promise((resolve) => setTimeout(resolve, options.settleMs ?? 30))
  typed.length = 0
  return {
    keys: {
      async next() {
        const text = gone ? undefined : typed.shift()
        if (text !== undefined || gone) return text
        return await new Promise<string | undefined>((resolve) => {
          wake = (value) => {
            wake = undefined
            resolve(value)
          }
        })
      },
    },
    stop() {
      keyboard.off("data", hear)
      keyboard.off("end", leave)
      signal.removeEventListener("abort", leave)
      keyboard.setRawMode?.(false)
      keyboard.pause()
    },
  }
}
