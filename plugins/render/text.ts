/**
 * The events of one prompt → the text as it streams, and one line for each tool call with its output folded.
 *
 * Invariant: the text of subagents is never shown as the answer; where stdout is no terminal nothing is streamed to it.
 */
import type { RunEvent } from "sous"
import { clip, escapeControls, formatDuration, oneLine, summarizeInput, wrap } from "./display.ts"
import { type Detail, printCommon, type Renderer } from "./renderer.ts"
import type { Screen } from "./screen.ts"

export interface TextOptions {
  detail: Detail
  /** Writes the answer's text as it comes; left out: the text is not streamed. */
  answer?: (text: string) => void
}

interface Call {
  name: string
  summary: string
  /** By the clock of the events, ms. */
  started: number
  progress: string
  nested: boolean
}

const SPINNER = ["◐", "◓", "◑", "◒"]
const FOLDED_LINES = 3

/** Shows a conversation on a screen. */
export function createTextRenderer(screen: Screen, options: TextOptions): Renderer {
  const calls = new Map<string, Call>()
  const text = createTextFlow(screen, options.answer)
  let mainAgent: string | undefined
  let ticks = 0
  const draw = () => {
    const spinner = SPINNER[ticks++ % SPINNER.length]!
    screen.draw([...text.pending(), ...[...calls.values()].map((call) => runningLine(screen, call, spinner))])
  }
  const timer = screen.live && options.detail !== "quiet" ? setInterval(draw, 120).unref() : undefined

  const show = (event: RunEvent) => {
    mainAgent ??= event.agent
    const nested = event.agent !== mainAgent
    switch (event.type) {
      case "text":
        if (!nested) text.push(event.text)
        return
      case "tool_use":
        if (!nested) text.end()
        calls.set(event.id, {
          name: event.name,
          summary: summarizeInput(event.input),
          started: Date.parse(event.ts),
          progress: "",
          nested,
        })
        return
      case "tool_progress": {
        const call = calls.get(event.id)
        if (call) call.progress = oneLine(event.text.trimEnd().split("\n").at(-1) ?? "")
        return
      }
      case "tool_result": {
        const call = calls.get(event.id)
        calls.delete(event.id)
        if (call && options.detail !== "quiet")
          screen.print(finishedLines(screen, call, event, options.detail).join("\n"))
        return
      }
      case "run_finished":
        text.end()
        return
    }
  }
  return {
    handle(event) {
      show(event)
      printCommon(screen, event, options.detail)
      if (options.detail !== "quiet") draw()
    },
    close() {
      clearInterval(timer)
      text.end()
      screen.draw([])
    },
  }
}

/** Streams text: whole lines are written for good, the unfinished one is drawn until it ends. */
function createTextFlow(screen: Screen, answer: ((text: string) => void) | undefined) {
  let line = ""
  return {
    push(text: string) {
      if (!answer) return
      if (!screen.live) {
        answer(escapeControls(text))
        line = (line + text).slice((line + text).lastIndexOf("\n") + 1)
        return
      }
      line += text
      const end = line.lastIndexOf("\n") + 1
      const whole = line.slice(0, end)
      line = line.slice(end)
      if (whole !== "") screen.above(() => answer(escapeControls(whole)))
    },
    /** Ends a line that is unfinished. */
    end() {
      const rest = line
      line = ""
      if (!answer || rest === "") return
      if (screen.live) screen.above(() => answer(escapeControls(rest) + "\n"))
      else answer("\n")
    },
    pending: (): string[] => (screen.live && line !== "" ? wrap(escapeControls(line), screen.columns() - 1) : []),
  }
}

function runningLine(screen: Screen, call: Call, spinner: string): string {
  const { cyan, dim } = screen.colors
  const time = formatDuration(Math.max(0, Date.now() - call.started))
  const room = Math.max(8, screen.columns() - call.name.length - time.length - 10)
  const indent = call.nested ? "  " : ""
  const what = [call.name, clip(call.progress || call.summary, room)].filter(Boolean).join(" ")
  return `${indent}${cyan(spinner)} ${what} ${dim(time)}`
}

function finishedLines(
  screen: Screen,
  call: Call,
  result: RunEvent & { type: "tool_result" },
  detail: Detail,
): string[] {
  const { green, red, dim } = screen.colors
  const indent = call.nested ? "  " : ""
  const time = formatDuration(result.durationMs)
  const room = Math.max(8, screen.columns() - call.name.length - time.length - 10)
  const summary = detail === "verbose" ? call.summary : clip(call.summary, room)
  const what = [call.name, summary].filter(Boolean).join(" ")
  const head = `${indent}${(result.isError ? red : green)("●")} ${what} ${dim(`… ${time}`)}`
  return [head, ...foldedOutput(screen, result.preview, detail).map((line) => indent + line)]
}

/** The first lines of a result, and how many there are beyond them. */
function foldedOutput(screen: Screen, preview: string, detail: Detail): string[] {
  const lines = escapeControls(preview)
    .trimEnd()
    .split("\n")
    .filter((line) => line.trim() !== "")
  const shown = detail === "verbose" ? lines : lines.slice(0, FOLDED_LINES)
  const more = lines.length - shown.length
  return [
    ...shown.map((line) => screen.colors.dim(`  │ ${clip(line.replaceAll("\t", "  "), screen.columns() - 6)}`)),
    ...(more > 0 ? [screen.colors.dim(`  └ ${more} more ${more === 1 ? "line" : "lines"}`)] : []),
  ]
}
