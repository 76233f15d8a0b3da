/**
 * Rules against each other → the same twice, a narrow one beside a broader one, an allow that a guard takes away.
 *
 * Invariant: one rule counts as covered by another only when every command, path or host that it fits is one of the
 * other's; where that is not plain nothing is said.
 */

import { createCoverTest } from "./check-rule-command.ts"
import { clip, type RuleFinding, type RuleGround, type RuleView, runsAnything } from "./check-rule-view.ts"

/** Looks at all rules of a place. */
export async function pairFindings(views: readonly RuleView[], ground: RuleGround): Promise<RuleFinding[]> {
  const plain = views.filter(({ source }) => !source.ordered).slice(0, MOST_RULES)
  // One that a pack or a plugin brings stands in no file where somebody could remove it.
  const placed = plain.filter(({ place }) => place.file !== "")
  return [...twice(placed), ...(await covered(placed, ground)), ...dead(plain)]
}

/** Each is held against each other, so that beyond some thousands nobody would wait. */
const MOST_RULES = 2_500

function twice(views: readonly RuleView[]): RuleFinding[] {
  const first = new Map<string, RuleView>()
  return views.flatMap((view) => {
    const key = `${view.source.behavior} ${view.place.file} ${view.text.trim()}`
    const before = first.get(key)
    if (before === undefined) first.set(key, view)
    const problem = `it stands on line ${before?.place.line} already`
    return before === undefined ? [] : [{ view, level: "note" as const, problem, mend: "remove it" }]
  })
}

/** Of one file and behaviour; a rule that lets anything run covers nothing, since mode auto leaves it out. */
async function covered(views: readonly RuleView[], ground: RuleGround): Promise<RuleFinding[]> {
  const isCovered = await createCoverTest(ground)
  const found: RuleFinding[] = []
  for (const view of views) {
    if (view.exact || view.compiled.bare || runsAnything(view)) continue
    const beside: RuleView[] = []
    for (const other of views) {
      const isAlike = other.source.behavior === view.source.behavior && other.place.file === view.place.file
      if (isAlike && other.text !== view.text && covers(view, other) && (await isCovered(view, other)))
        beside.push(other)
    }
    if (beside.length > 0) found.push(includes(view, beside))
  }
  return found
}

function includes(view: RuleView, beside: readonly RuleView[]): RuleFinding {
  const names = beside.slice(0, 3).map(({ text, place }) => `"${clip(text)}" on line ${place.line}`)
  const more = beside.length > names.length ? ` and ${beside.length - names.length} more` : ""
  const problem = `what it fits includes ${names.join(", ")}${more}`
  return { view, level: "note", problem, mend: beside.length === 1 ? "remove the other" : "remove the others" }
}

function dead(views: readonly RuleView[]): RuleFinding[] {
  const guards = views.filter(({ source }) => source.behavior !== "allow")
  return views.flatMap((view) => {
    if (view.source.behavior !== "allow") return []
    const guard = guards.find((one) => one.text === view.text || covers(one, view))
    if (guard === undefined) return []
    const { behavior, text, line, file } = guard.source
    const where = file === view.source.file ? `on line ${line ?? 1}` : `of ${file ?? guard.source.scope}:${line ?? 1}`
    const does = behavior === "deny" ? "refuses" : "asks about"
    const problem = `it never counts: the ${behavior} rule "${clip(text)}" ${where} ${does} all that it fits`
    return [{ view, level: "warning" as const, problem, mend: "remove one of the two" }]
  })
}

/** True when all that `narrow` fits is plainly fitted by `broad`. */
function covers(broad: RuleView, narrow: RuleView): boolean {
  if (broad.tool !== narrow.tool || broad.kind === "unknown") return broad.compiled.bare && broad.tool === narrow.tool
  if (broad.compiled.bare) return true
  if (narrow.compiled.bare || broad.specifier === undefined || narrow.specifier === undefined) return false
  return broad.kind === "command" ? coversCommand(broad, narrow) : false
}

/** A word-bounded prefix, the plain form `git *`, against a longer one. */
function coversCommand(broad: RuleView, narrow: RuleView): boolean {
  const [wide] = broad.compiled.commands()
  const [tight] = narrow.compiled.commands()
  const prefix = wide?.chunks[0]
  const head = tight?.chunks[0]
  if (wide === undefined || tight === undefined || prefix === undefined || head === undefined) return false
  if (wide.chunks.length > 1 || !wide.bounded || prefix === "" || /[=;&|<>$`]/.test(prefix)) return false
  if (!head.startsWith(prefix)) return false
  const next = head[prefix.length]
  if (next !== undefined) return /\s/.test(next) && !/[;&|<>`\n]|\$\(/.test(narrow.specifier ?? "")
  return tight.chunks.length === 1 && (tight.bounded || narrow.exact)
}
