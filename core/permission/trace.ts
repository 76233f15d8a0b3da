/**
 * A source of the pipeline that said nothing → why it did not, in one clause.
 *
 * Invariant: told from what is at hand already; nothing is decided again for it.
 */
import type { DECISION_SOURCES, PermissionFacts } from "./decision.ts"
import type { RuleSet } from "./rule.ts"
import type { RuleTable } from "./rule-table.ts"

/** What the clauses speak of. */
export interface Silence {
  rules: RuleSet
  facts: PermissionFacts
  /** The call has no part. */
  isWhole: boolean
  /** The ordered list denies it, which comes before any question. */
  listDenies: boolean
}

const LIST_DENIES = "the ordered list denies it, which no question lifts"

const CLAUSES: Record<(typeof DECISION_SOURCES)[number], (silence: Silence) => string> = {
  abort: () => "the run goes on",
  floor: () => "it is nothing that no agent may do",
  deny: ({ rules }) => (isEmpty(rules.deny) ? "there is no deny rule" : "no deny rule fits"),
  plan: ({ facts }) => (facts.mode === "plan" ? "it is read-only" : `the mode is ${facts.mode}`),
  ask: ({ rules, listDenies }) =>
    isEmpty(rules.ask) ? "there is no ask rule" : listDenies ? LIST_DENIES : "no ask rule fits",
  protected: ({ facts, listDenies }) =>
    listDenies
      ? LIST_DENIES
      : facts.mode === "bypassPermissions"
        ? "it writes nothing that configures sous"
        : "it writes nothing that may run later, or that configures agents",
  rules: ({ rules }) =>
    rules.ordered.length === 0 ? "there is no ordered list" : "the ordered list does not speak of every part",
  classifier: ({ isWhole }) =>
    isWhole ? "its tool does not only read" : "not every part only reads, inside the working folders",
  allow: ({ rules }) => (isEmpty(rules.allow) ? "there is no allow rule" : "no allow rule covers every part"),
  mode: ({ facts }) => `the mode ${facts.mode} does not settle it`,
  approval: () => "",
}

/** Says why the source did not answer. */
export function whyNot(source: (typeof DECISION_SOURCES)[number], silence: Silence): string {
  return CLAUSES[source](silence)
}

function isEmpty({ byTool, patterns, flags }: RuleTable): boolean {
  return byTool.size === 0 && patterns.length === 0 && flags.length === 0
}
