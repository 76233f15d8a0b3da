/**
 * One call in the place of a kit → what a run that starts now would decide about it, and why.
 *
 * Invariant: nothing runs, nothing is written, nobody is asked; rules and folders are found as a run finds them.
 */
import type { KitParts, RunOptions } from "./kit.ts"
import type { Decision } from "./permission/decision.ts"
import { createCall, createForeignCall, explain, findDecisiveParts } from "./permission/explain.ts"
import { openProjectGrants } from "./run-grant.ts"
import { startMode } from "./run-mode.ts"
import { findPlaces } from "./run-place.ts"
import { compileRunRules } from "./run-rule.ts"
import type { Tool } from "./tool.ts"

/** A call to be explained. */
export interface ExplainedCall {
  tool: string
  /** As the tool's schema leaves it. */
  input: unknown
  /** Nobody could answer a question. Default false. */
  headless?: boolean
}

/** A decision that nothing came of. */
export interface Explained {
  decision: Decision
  /** Of a command made of several, those that decided, as written; empty when the whole did. */
  parts: readonly string[]
  /** False: no tool of that name is there, and the call was judged by its name and parameters alone. */
  known: boolean
  /** What is odd about the rules, one sentence each. */
  warnings: readonly string[]
}

/** Decides about a call as the first of a run with these options. Throws PERMISSION_RULE_INVALID. */
export async function explainInKit(kit: KitParts, call: ExplainedCall, options: RunOptions): Promise<Explained> {
  const chosen = startMode(kit.settings, options.mode)
  const places = await findPlaces(kit)
  const granted = await openProjectGrants(kit, places)
  const more = [...(options.rules ?? []), ...granted.rules]
  const rules = compileRunRules(kit, { name: "explain" }, { ...options, places, rules: more })
  const tool: Tool | undefined = kit.registry.tools.get(call.tool)
  const facts = {
    aborted: false,
    mode: chosen.mode,
    ...places,
    readRoots: [],
    gitRuns: await places.openGitRuns(),
    canAsk: !call.headless,
  }
  const subject = tool ? await createCall(tool, call.input, places.cwd) : createForeignCall(call.tool, call.input)
  const decision = await explain(subject, { rules, facts })
  const parts = decision.behavior === "allow" ? [] : await findDecisiveParts(subject, decision, { rules, facts })
  return {
    decision,
    parts,
    known: tool !== undefined,
    warnings: [...chosen.warnings, ...places.warnings, ...rules.warnings],
  }
}
