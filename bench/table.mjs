/**
 * The table: one row for each figure, the programs beside one another, the ratio that has a bar, and the bar.
 *
 * Invariant: bars are data, and what is over one is marked; nothing fails by it.
 */
import { peers } from "./peers.mjs"

/** `against`: the program that sous is divided by; without one, its own value is held to the bar. */
export const ROWS = [
  { figure: "version", label: "--version, ms", against: "node", bar: 1.4 },
  { figure: "first-request", label: "first request, ms", against: "sdk", bar: 0.7, first: 1 },
  { figure: "recipe", label: "first request of a recipe.ts, ms", beyond: "first-request", bar: 15 },
  { figure: "plugins", label: "first request, 3 scopes, 5 plugins, ms", beyond: "plugins-none", bar: 25, first: 25 },
  { figure: "plugins-none", label: "the same without settings and plugins, ms" },
  { figure: "one-turn", label: "one turn, wall ms", against: "sdk" },
  { figure: "per-turn", label: "per turn, ms", against: "sdk", bar: 0.9, first: 1.2 },
  { figure: "turn-interval", label: "from request to request, ms", against: "sdk" },
  { figure: "growth", label: "growth of the added time", bar: 1.2, first: 1.3 },
  { figure: "added-early", label: "added to a turn early, ms" },
  { figure: "added-late", label: "added to a turn late, ms" },
  { figure: "parallel", label: "gap of 20 parallel reads, ms", against: "sdk", bar: 1 },
  { figure: "hook", label: "external hook, ms", beyond: "hook-child", bar: 2 },
  { figure: "hook-child", label: "the start of its child alone, ms" },
  { figure: "no-hook", label: "event that no hook wants, µs", bar: 1 },
  { figure: "decide", label: "compound command, 1,000 rules, µs", bar: 60, first: 60 },
  { figure: "decide-new", label: "the same, never seen before, µs" },
  { figure: "explain", label: "a line of explain --batch, µs", bar: 100, first: 100 },
  { figure: "memory", label: "memory at 50 turns, MiB", bar: 110, first: 110 },
  { figure: "memory-long", label: "memory of a long run, MiB", beyond: "memory", bar: 60 },
  { figure: "plateau", label: "memory late, 50 KB a turn, MiB", beyond: "plateau-early", bar: 60, first: 60 },
  { figure: "plateau-early", label: "the same early, MiB" },
  { figure: "plateau-requests", label: "requests of that run" },
  { figure: "plateau-largest", label: "the largest of them, KiB" },
  { figure: "assemble", label: "one more message, behind 10,000 ÷ behind 100", bar: 1.2, first: 1.5 },
  { figure: "assemble-many", label: "the same behind 10,000, µs" },
  { figure: "request-bytes", label: "system + tools, bytes", bar: 8000 },
]

/** Rows that come with another one. */
const BESIDE = {
  "turn-interval": "per-turn",
  "added-early": "growth",
  "added-late": "growth",
  "hook-child": "hook",
  "plugins-none": "plugins",
  "decide-new": "decide",
  "plateau-early": "plateau",
  "plateau-requests": "plateau",
  "plateau-largest": "plateau",
  "assemble-many": "assemble",
}

/** The table as text, ending in a newline; only the figures that were asked for. */
export function formatTable(samples, only) {
  const head = ["figure", ...Object.values(peers).map((peer) => peer.label), "sous is", "bar", "first bar"]
  const rows = ROWS.filter((row) => middleOf(row.figure, "sous", samples) !== undefined)
    .filter((row) => only.includes(BESIDE[row.figure] ?? row.figure))
    .map((row) => cells(row, samples))
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cellsOf) => cellsOf[column].length)))
  const line = (row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ")
  return `${[head, ...rows].map(line).join("\n")}\n`
}

function cells(row, samples) {
  const value = (name) => middleOf(row.figure, name, samples)
  const own = value("sous")
  const held = heldTo(row, own, samples)
  return [
    row.label,
    ...Object.keys(peers).map((name) => number(value(name))),
    held === undefined ? "" : `${number(held)}${unit(row)}${row.first !== undefined && held > row.first ? " !" : ""}`,
    row.bar === undefined ? "" : `${row.bar}${unit(row)}`,
    row.first === undefined ? "" : `${row.first}${unit(row)}`,
  ]
}

/** A figure that is made of others is made of their medians. */
function middleOf(figure, name, samples) {
  const middle = (part) => samples.middle(part, name)
  if (figure === "per-turn") return (middle("many-turns") - middle("one-turn")) / 49 || undefined
  if (figure === "growth") return middle("added-late") / middle("added-early") || undefined
  return middle(figure)
}

/** What the bar is about: a ratio, a difference from another figure, or the value itself. */
function heldTo(row, own, samples) {
  if (own === undefined) return undefined
  if (row.against !== undefined) return own / middleOf(row.figure, row.against, samples)
  if (row.beyond !== undefined) return own - middleOf(row.beyond, "sous", samples)
  return row.bar === undefined ? undefined : own
}

function unit(row) {
  if (row.against !== undefined) return ` × ${peers[row.against].label}`
  return row.beyond === undefined ? "" : ` beyond ${row.beyond}`
}

function number(value) {
  if (value === undefined || Number.isNaN(value)) return ""
  return value >= 1000 ? String(Math.round(value)) : value.toFixed(value < 10 ? 2 : 1)
}
