/**
 * Permission rules with their places → what is odd about them: rules that do nothing, too much, or not what they seem to.
 *
 * Invariant: a rule is judged by the parts that decide in a run; nothing is run, and what is odd by its text alone stands
 * in a table.
 */
import type { RuleSource } from "../permission/decision.ts"
import type { Finding } from "./check-finding.ts"
import { commandFindings } from "./check-rule-command.ts"
import { groupFindings } from "./check-rule-group.ts"
import { pairFindings } from "./check-rule-pair.ts"
import { oddText } from "./check-rule-text.ts"
import {
  describeRule,
  type RuleFinding,
  type RuleGround,
  type RuleKind,
  type RuleView,
  viewOf,
} from "./check-rule-view.ts"

/** Looks at all rules of a place together; those of a file that do not parse are in the answer, too. */
export async function checkRules(sources: readonly RuleSource[], ground: RuleGround): Promise<Finding[]> {
  if (sources.length === 0) return []
  const kinds = new Map<string, RuleKind>()
  const broken: Finding[] = []
  const views: RuleView[] = []
  for (const source of sources) {
    const read = viewOf(source, ground, kinds)
    if ("place" in read) views.push(read)
    else broken.push(read)
  }
  const unfit = await commandFindings(views, ground)
  const never = new Set(unfit.map(({ view }) => view))
  const found = [
    ...views.flatMap((view) => oddText(view, ground)),
    ...unfit,
    ...(await pairFindings(views, ground)),
    // What fits nothing lets nothing run.
    ...groupFindings(
      views.filter((view) => !never.has(view)),
      ground,
    ),
  ]
  return [...broken, ...found.map(asFinding)]
}

function asFinding({ view, level, problem, mend }: RuleFinding): Finding {
  return { level, ...view.place, what: describeRule(view.source), problem, mend }
}
