/**
 * A step and its result in one line each, for people.
 *
 * Invariant: one line without line breaks, cut to a bound; never the whole of anything large.
 */
import type { AnyStep, StepResult } from "../step.ts"
import { startOfJson } from "./plain-value.ts"

const TITLE_CHARS = 80
const PREVIEW_CHARS = 300

/** What a step does. */
export function titleOf(step: AnyStep): string {
  switch (step.kind) {
    case "agent":
      return oneLine(step.prompt, TITLE_CHARS)
    case "sh":
      return oneLine(step.command, TITLE_CHARS)
    case "tool":
      return oneLine(`${step.name} ${startOfJson(step.input, TITLE_CHARS)}`, TITLE_CHARS)
    case "each":
      return `${step.items.length} items`
    case "pipeline":
      return `${step.items.length} items through ${step.stages.length} stages`
    case "parallel":
      return oneLine(Object.keys(step.steps).join(", "), TITLE_CHARS)
    case "until":
      return oneLine(`until ${titleOf(step.check as AnyStep)}`, TITLE_CHARS)
    case "write":
      return oneLine(`write ${step.path}`, TITLE_CHARS)
    case "use":
      return oneLine(`use ${typeof step.recipe === "string" ? step.recipe : step.recipe.name}`, TITLE_CHARS)
    default:
      return step.kind
  }
}

/** The start of a result, or of why there is none. */
export function previewOf(result: StepResult): string {
  if (!result.ok) return oneLine(result.error, PREVIEW_CHARS)
  return oneLine(
    typeof result.value === "string" ? result.value : startOfJson(result.value ?? "", PREVIEW_CHARS + 1),
    PREVIEW_CHARS,
  )
}

function oneLine(text: string, limit: number): string {
  // Only the start is looked at: a text may have megabytes.
  const line = text
    .slice(0, limit * 4)
    .replace(/\s+/g, " ")
    .trim()
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line
}
