/**
 * Lines that stay and lines that are redrawn below them, on one stream.
 *
 * Invariant: where the stream is no terminal not one control code is written; no live line wraps, so that what was drawn
 * can always be taken back.
 */
import picocolors from "picocolors"
import { clip, widthOf } from "./display.ts"

/** What a picture is painted on. */
export interface Screen {
  readonly colors: Colors
  /** True when live lines are drawn. */
  readonly live: boolean
  columns(): number
  rows(): number
  /** Writes lines that stay. */
  print(text: string): void
  /** Runs what writes to the same terminal by another way, with the live lines out of its way. */
  above(write: () => void): void
  /** Replaces the lines at the bottom; each is cut to the width. */
  draw(lines: readonly string[]): void
  /** Gives the screen to one speaker: live lines go, what others print waits until it is released. */
  hold(): Hold
}

/** The screen in the hands of one speaker. */
export interface Hold {
  /** Writes lines that stay, below a line that was echoed. */
  print(text: string): void
  /** Replaces the line that the cursor is on. */
  echo(line: string): void
  release(): void
}

export type Colors = ReturnType<typeof picocolors.createColors>

/** A stream as far as a screen needs it; `process.stderr` is one. */
export interface ScreenStream {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
  rows?: number
}

/** Makes the screen of a stream. `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` are respected. */
export function createScreen(
  stream: ScreenStream,
  options: { env?: Readonly<Record<string, string | undefined>> } = {},
): Screen {
  const env = options.env ?? {}
  const live = stream.isTTY === true && env.TERM !== "dumb"
  let lines: readonly string[] = []
  let drawn = 0
  let held = false
  const waiting: (() => void)[] = []
  const columns = () => Math.max(20, stream.columns || 80)
  const erase = () => {
    if (drawn > 0) stream.write(`\x1b[${drawn}A\r\x1b[J`)
    drawn = 0
  }
  const paint = () => {
    if (!live || held || lines.length === 0) return
    stream.write(lines.join("\n") + "\n")
    drawn = lines.length
  }
  const above = (write: () => void) => {
    if (held) {
      waiting.push(write)
      return
    }
    erase()
    write()
    paint()
  }
  return {
    colors: picocolors.createColors(colorsWanted(env, live)),
    live,
    columns,
    rows: () => Math.max(5, stream.rows || 24),
    above,
    print: (text) => above(() => printLines(stream, text)),
    draw(next) {
      if (!held) erase()
      lines = next.slice(-(Math.max(5, stream.rows || 24) - 2)).map((line) => cut(line, columns() - 1))
      paint()
    },
    hold() {
      erase()
      held = true
      return createHold(stream, {
        columns,
        release() {
          held = false
          for (const write of waiting.splice(0)) write()
          paint()
        },
      })
    },
  }
}

function printLines(stream: ScreenStream, text: string): void {
  stream.write(text.endsWith("\n") ? text : text + "\n")
}

function createHold(stream: ScreenStream, options: { columns(): number; release(): void }): Hold {
  // A line that was only echoed is not ended yet.
  let isOpen = false
  const end = () => {
    if (isOpen) stream.write("\n")
    isOpen = false
  }
  return {
    print(text) {
      end()
      printLines(stream, text)
    },
    echo(line) {
      stream.write(`\r\x1b[K${cut(line, options.columns() - 1)}`)
      isOpen = true
    },
    release() {
      end()
      options.release()
    },
  }
}

function colorsWanted(env: Readonly<Record<string, string | undefined>>, live: boolean): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0"
  return live
}

/** A line that is too long loses its colours rather than its end-of-colour codes. */
function cut(line: string, columns: number): string {
  return widthOf(line) <= columns ? line : clip(line.replace(/\x1b\[[0-9;]*m/g, ""), columns)
}
