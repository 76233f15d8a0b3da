/**
 * Text of models, files and tools → text that a terminal shows as what it is: escaped, measured in columns, cut, wrapped.
 *
 * Invariant: nothing that a model or a file wrote can move the cursor, colour what follows or turn the writing direction.
 */
import { stripVTControlCharacters } from "node:util"

/**
 * C0, DEL, C1, lone surrogates, separators and blanks but the space, and every mark that turns or hides text: what shows
 * nothing, or passes for something else.
 */
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2800\p{Cs}\p{Cf}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu
/** What moves the cursor or turns the direction; joiners, which scripts and emoji need, are not in it. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ZERO_WIDTH = /\p{Mn}|\p{Me}|\p{Cf}|\ufe0f/u

/** Shows control characters and bidirectional marks as `\u{…}`; keeps line breaks and tabs. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, codeOf)
}

/** The same for prose, which may hold joiners. */
export function escapeControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROLS, codeOf)
}

/** The same on one line: runs of white space become one space. */
export function oneLine(text: string): string {
  return escapeHidden(text.replace(/\s+/g, " ").trim())
}

/** Columns that a text takes; colour codes take none. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) width += columnsOf(character)
  return width
}

/** Cuts plain text (no colour codes) to a number of columns, with `…` for what is cut. */
export function clip(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let width = 0
  let kept = ""
  for (const character of text) {
    width += columnsOf(character)
    if (width >= columns) break
    kept += character
  }
  return kept + "…"
}

/**
 * Breaks one line of plain text into pieces of at most so many columns; nothing is lost. `cautious`: also on terminals
 * that give a character more room than others do.
 */
export function wrap(line: string, columns: number, options: { cautious?: true } = {}): string[] {
  const stepOf = options.cautious ? mostColumnsOf : columnsOf
  const pieces: string[] = []
  let piece = ""
  let width = 0
  for (const character of line) {
    const step = stepOf(character)
    if (width + step > columns && piece !== "") {
      pieces.push(piece)
      piece = ""
      width = 0
    }
    piece += character
    width += step
  }
  return [...pieces, piece]
}

/** `0.4s`, `12s`, `3m 20s`, `1h 05m`. */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m ${String(whole % 60).padStart(2, "0")}s`
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, "0")}m`
}

/** `950`, `12.3k`, `1.2M`. */
export function formatCount(count: number): string {
  if (count < 1000) return String(count)
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`
}

/** `$0.0042` below ten cents, `$1.25` above. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`
}

/** What of a tool's input tells most in one line: its first text. */
export function summarizeInput(input: unknown): string {
  if (typeof input !== "object" || input === null) return ""
  const first = Object.values(input).find((value) => typeof value === "string" && value !== "")
  return oneLine(String(first ?? "")).slice(0, 2000)
}

function codeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

/** Behind the letters of Latin scripts no two terminals agree. */
function mostColumnsOf(character: string): number {
  return character === "\t" ? 8 : character > "\u02ff" ? 2 : 1
}

function columnsOf(character: string): number {
  if (character === "\t") return 8
  if (ZERO_WIDTH.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
