/**
 * A question of the permission layer → the lines that a person reads before answering it.
 *
 * Invariant: the input stands there whole and escaped, each line behind a bar, so that nothing of it can pass for our own
 * text; every rule that an answer would add stands there before it is added.
 */
import type { ApprovalRequest } from "sous"
import { escapeHidden, oneLine, widthOf, wrap } from "./display.ts"
import type { Screen } from "./screen.ts"

/** The keys that answer, with what each of them does. */
export type KeyRow = readonly (readonly [key: string, does: string])[]

/** The keys of a question: a plan can be approved, a call granted as far as there are rules for it. */
export function keysOf(request: ApprovalRequest): KeyRow {
  if (isPlan(request)) {
    return [
      ["y", "carry it out"],
      ["e", "carry it out, accepting edits"],
      ["n", "no"],
    ]
  }
  const once = [
    ["y", "once"],
    ["n", "no"],
  ] as const
  if (request.suggestions.length === 0) return once
  const reaches = [
    ["a", "always in this session"],
    ["p", "always in this project"],
  ] as const
  const { each } = request.agent
  return each === undefined ? [...once, ...reaches] : [...once, ...reaches, ["r", `for all of ${oneLine(each)}`]]
}

/** True for a plan that waits for approval. */
export function isPlan({ decision }: ApprovalRequest): boolean {
  return decision.source === "plan"
}

/** What the person sees: who asks, the whole input, the reason, the rules that could be added, the keys. */
export function questionLines(request: ApprovalRequest, screen: Screen, others = 0): string[] {
  const { dim } = screen.colors
  const keys = keysOf(request)
  const input = isPlan(request) ? planLines(request.input) : inputLines(request.input)
  const shown = input.flatMap((line) => barred(line, screen))
  return [
    ...headLines(request, screen),
    ...shown,
    ...(shown.length > screen.rows() - 8 ? [dim(`  ${shown.length} lines; scroll up to see all of them`)] : []),
    ...reasonLines(request, screen),
    ...(isPlan(request) ? [] : ruleLines(request, keys, screen)),
    ...keyLines(keys, screen, others),
  ]
}

/** The keys on as few lines as the width allows. */
export function keyLines(keys: KeyRow, screen: Screen, others = 0): string[] {
  const { bold, dim } = screen.colors
  const parts = keys.flatMap(([key, does]) => {
    const [first = "", ...more] = wrap(does, screen.columns() - 6, { cautious: true })
    const end = more.map((piece) => ({ text: `${dim("┊")} ${piece}`, width: screen.columns() }))
    return [{ text: `${bold(key)} ${first}`, width: widthOf(first) + 2 }, ...end]
  })
  if (others > 0) parts.push({ text: dim(`(${others} more waiting)`), width: 20 })
  const lines: { text: string; width: number }[] = []
  for (const { text, width } of parts) {
    const last = lines.at(-1)
    if (last === undefined || last.width + width + 2 > screen.columns())
      lines.push({ text: `  ${text}`, width: width + 2 })
    else Object.assign(last, { text: `${last.text}  ${text}`, width: last.width + width + 2 })
  }
  return lines.map(({ text }) => text)
}

/** The rules that a recipe asks for. */
export function grantLines(recipe: { name: string; allow: readonly string[] }, screen: Screen): string[] {
  const { bold, yellow } = screen.colors
  const rules = recipe.allow.flatMap((rule) => barred(rule, screen))
  return [`${yellow("?")} Recipe ${bold(oneLine(recipe.name))} asks for`, ...rules]
}

function headLines(request: ApprovalRequest, screen: Screen): string[] {
  const { bold, yellow, dim } = screen.colors
  const { agent, tool } = request
  const who = [agent.step, agent.depth > 0 ? `subagent ${agent.type}` : undefined]
  const where = who.filter((part) => part !== undefined).map((part) => oneLine(part))
  const [name, wants] = isPlan(request) ? ["The plan", "to be carried out"] : [oneLine(tool), "to run"]
  const head = `${yellow("?")} ${bold(name)} wants ${wants}`
  if (where.length === 0) return [head]
  const place = `(${where.join(", ")})`
  const isShort = wrap(`? ${name} wants ${wants} ${place}`, screen.columns() - 1, { cautious: true }).length === 1
  return isShort ? [`${head}${dim(` ${place}`)}`] : [head, ...barred(place, screen)]
}

/** The reason may quote the call, so that no line of it stands without a mark in front. */
function reasonLines({ decision }: ApprovalRequest, screen: Screen): string[] {
  const { dim } = screen.colors
  const [first = "", ...more] = wrap(`because ${oneLine(decision.reason)}`, screen.columns() - 6, { cautious: true })
  return [`  ${first.replace(/^because/, dim("because"))}`, ...more.map((piece) => `  ${dim("┊")} ${piece}`)]
}

function ruleLines({ suggestions }: ApprovalRequest, keys: KeyRow, screen: Screen): string[] {
  if (suggestions.length === 0) return []
  const { dim } = screen.colors
  const adding = keys.map(([key]) => key).filter((key) => key !== "y" && key !== "n")
  const rules = suggestions.flatMap((rule) => barred(`${rule}${breadthOf(rule)}`, screen))
  return [`  ${dim(`${adding.join(", ")} would allow from now on`)}`, ...rules]
}

/** Rules that cannot be as narrow as the call say so. */
function breadthOf(rule: string): string {
  if (!rule.includes("(")) return "   (every call of it)"
  return /^[^(]*\(domain:/.test(rule) ? "   (every address there)" : ""
}

function planLines(input: unknown): string[] {
  const { plan } = (input ?? {}) as { plan?: unknown }
  return typeof plan === "string" ? plan.split("\n") : inputLines(input)
}

/** Each field of the input; text as it is, line by line, all else as JSON. */
function inputLines(input: unknown): string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [JSON.stringify(input) ?? "undefined"]
  return Object.entries(input).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "undefined")
    const [first = "", ...more] = text.split("\n")
    return [`${name}: ${first}`, ...more]
  })
}

/** One line behind a bar; a line that is too long goes on behind a dotted one. */
function barred(line: string, screen: Screen): string[] {
  const escaped = escapeHidden(line).replaceAll("\t", "\\t").replaceAll("\n", "\\n")
  const pieces = wrap(escaped, screen.columns() - 6, { cautious: true })
  return pieces.map((piece, index) => `  ${screen.colors.dim(index === 0 ? "│" : "┊")} ${piece}`)
}
