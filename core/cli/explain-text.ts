/**
 * A decision → the lines that a person reads: what, why, by which rule, on account of what, and what each source said.
 *
 * Invariant: text only; whoever prints it makes control characters visible.
 */
import type { Decision, RuleSource } from "../permission/decision.ts"
import type { Target } from "../tool.ts"

/** Formats a decision; `parts` are the simple commands that decided. */
export function formatDecision(
  decision: Decision,
  call: { tool: string; input: unknown; parts: readonly string[] },
): string {
  const { behavior, source, reason, rule, target, mend } = decision
  const decided = call.parts.length > 0 ? call.parts.join("\n") : target && textOfTarget(target)
  const rows = [
    ["because", reason],
    ["rule", rule && `${rule.behavior} ${rule.text}`],
    ["from", rule && placeOf(rule)],
    ["decided by", decided],
    ["to allow it", behavior === "allow" ? undefined : mend],
  ].filter((row): row is [string, string] => row[1] !== undefined)
  return [
    `${behavior}  ${call.tool} ${textOfInput(call.input)}`,
    ...rows.map(([label, text]) => `  ${label.padEnd(LABEL)}${text.replaceAll("\n", `\n${" ".repeat(LABEL + 2)}`)}`),
    "",
    ...decision.trace.map((step) => {
      const said = step.source === source && step.outcome === "match" ? behavior : step.outcome
      const why = step.rule?.text ?? (step.target && textOfTarget(step.target)) ?? step.reason ?? ""
      return `  ${step.source.padEnd(LABEL)}${said.padEnd(LABEL)}${oneLine(why)}`.trimEnd()
    }),
  ].join("\n")
}

const LABEL = 13

/** `project, /srv/app/.sous/settings.json:3:15`. */
export function placeOf({ scope, file, line, column, by }: RuleSource): string {
  const who = by === undefined ? scope : `${scope} ${by}`
  const place = [file, line, column].filter((part) => part !== undefined).join(":")
  return place === "" ? who : `${who}, ${place}`
}

function textOfTarget(target: Target): string {
  if (target.kind === "command") return target.text
  if (target.kind === "url") return target.url
  return target.kind === "name" ? target.name : `${target.access} ${target.path}`
}

function textOfInput(input: unknown): string {
  const values = typeof input === "object" && input !== null ? Object.values(input) : []
  return oneLine(values.length === 1 && typeof values[0] === "string" ? values[0] : JSON.stringify(input))
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, " ")
  return flat.length > 200 ? `${flat.slice(0, 200)}…` : flat
}
