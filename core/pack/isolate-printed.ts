/**
 * What an isolated plugin prints → lines for people, and its last words for when it dies.
 *
 * Invariant: however much it prints, a bounded part of it is kept and shown, and the rest is read and dropped.
 */
import type { ChannelProcess } from "../process-channel.ts"

/** How much is shown in the life of one process. */
const MOST_LINES = 100
const LONGEST_LINE = 500

/** Bytes of a line that has not ended. */
const MOST_HELD = 4096

/** What was printed last, for a sentence about its end. */
export interface Printed {
  /** The line of stderr that says most about an end; empty when there is none. */
  lastWords(): string
}

/** Reads both streams to their end. */
export function createPrinted({ stdout, stderr }: ChannelProcess, show: (line: string) => void): Printed {
  let shown = 0
  const errors: string[] = []
  const take = (line: string, isError: boolean) => {
    if (line.trim() === "") return
    if (isError && errors.push(line) > 50) errors.shift()
    if (++shown < MOST_LINES) show(line.slice(0, LONGEST_LINE))
    else if (shown === MOST_LINES) show("… (the rest of what it prints is left out)")
  }
  read(stdout, (line) => take(line, false))
  read(stderr, (line) => take(line, true))
  return {
    lastWords: () => {
      const said =
        errors.find((line) => /^[\w$]*(?:Error|Exception)\b.*:|^FATAL ERROR/.test(line)) ?? errors.at(-1) ?? ""
      return said.trim().slice(0, LONGEST_LINE)
    },
  }
}

function read(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let held = ""
  stream.setEncoding("utf8")
  stream.on("data", (piece: string) => {
    const lines = (held + piece).split("\n")
    held = lines.pop()!.slice(0, MOST_HELD)
    for (const line of lines) take(line)
  })
  stream.on("end", () => take(held))
}
