/** A terminal of text: what a person would see, and every byte that was written. */
import { createScreen, type Screen } from "../../../plugins/render/screen.ts"

export interface FakeTerminal {
  screen: Screen
  /** Everything written, in order. */
  written(): string
  /** The lines as they stand, after all control codes were obeyed. */
  lines(): string[]
  /** Writes past the screen, as another stream of the same terminal would. */
  write(text: string): void
}

export function createTerminal(
  options: { isTTY?: boolean; columns?: number; env?: Record<string, string> } = {},
): FakeTerminal {
  let written = ""
  const stream = {
    isTTY: options.isTTY ?? true,
    columns: options.columns ?? 60,
    rows: 24,
    write: (text: string) => {
      written += text
    },
  }
  return {
    screen: createScreen(stream, { env: { NO_COLOR: "1", ...options.env } }),
    written: () => written,
    lines: () => play(written),
    write: stream.write,
  }
}

/** Obeys cursor up, carriage return, clear to the end of line and of screen; refuses any other code. */
function play(text: string): string[] {
  const lines = [""]
  let row = 0
  let column = 0
  for (const [token] of text.matchAll(/\x1b\[(\d*)([A-Z])|\x1b.*|[\s\S]/gu)) {
    const code = /^\x1b\[(\d*)([A-Z])$/.exec(token)
    if (code?.[2] === "A") row = Math.max(0, row - Number(code[1] || 1))
    else if (code?.[2] === "J") lines.splice(row, Number.POSITIVE_INFINITY, lines[row]!.slice(0, column))
    else if (code?.[2] === "K") lines[row] = lines[row]!.slice(0, column)
    else if (token.startsWith("\x1b")) throw new Error(`Unexpected control code ${JSON.stringify(token)}`)
    else if (token === "\r") column = 0
    else if (token === "\n") {
      row++
      column = 0
      lines[row] ??= ""
    } else {
      lines[row] = lines[row]!.slice(0, column) + token + lines[row]!.slice(column + 1)
      column++
    }
  }
  return lines.map((line) => line.trimEnd())
}
