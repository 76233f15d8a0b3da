/**
 * Configured hooks with their places → what is wrong with them before they ever run.
 *
 * Invariant: nothing is started; hooks that will not run here are looked at too, since somewhere else they will.
 */
import { type HookSource, suppressionOf } from "../hook-source.ts"
import type { Finding } from "./check-finding.ts"
import { oddCommand } from "./check-hook-text.ts"
import { ELSEWHERE } from "./check-rule-view.ts"
import { type HookFinding, matcherFinding, type Surroundings, scriptFinding } from "./hooks-finding.ts"

/** Where hooks are looked at. */
export interface HookGround {
  /** The names of all tools, and of all kinds of subagent. */
  tools: readonly string[]
  agents: readonly string[]
  /** Left out: the file lies in no project, so that no script is looked for. */
  surroundings?: Surroundings
  /** Names of variables that settings or the start set. */
  variables: ReadonlySet<string>
  /** The hooks are those of a plugin. */
  ofPlugin?: boolean
}

/** All that is found about them. */
export function checkHooks(sources: readonly HookSource[], ground: HookGround): Finding[] {
  return sources.flatMap((source) => {
    const { file = "", line = 1, column = 1 } = source.origin
    const { surroundings, ofPlugin = false, variables } = ground
    const found: HookFinding[] = [
      ...(surroundings === undefined ? [] : listed(scriptFinding(source, surroundings))),
      ...listed(matcherFinding(source, ground)),
      ...impossible(source),
    ]
    const place = { file, line, column, what: describeHook(source) }
    const odd = oddCommand(source, { variables, ofPlugin })
    return [...found.map((one) => asFinding(one, source, place)), ...odd.map((one) => ({ ...place, ...one }))]
  })
}

function listed<T>(one: T | undefined): T[] {
  return one === undefined ? [] : [one]
}

/** `PreToolUse hook "Bash"`. */
function describeHook({ event, matcher }: HookSource): string {
  return matcher === undefined || matcher === "" || matcher === "*" ? `${event} hook` : `${event} hook "${matcher}"`
}

/** What keeps it from ever running, whatever the settings say. */
function impossible(source: HookSource): HookFinding[] {
  const { suppressed: _, ...rest } = source
  const problem = suppressionOf(rest)
  return problem === undefined ? [] : [{ level: "warning", problem: `it never runs: ${problem}` }]
}

type Place = Pick<Finding, "file" | "line" | "column" | "what">

function asFinding({ level, problem, mend = "" }: HookFinding, { matcher }: HookSource, place: Place): Finding {
  const rule = ruleLike(matcher)
  if (level === "error" && rule !== undefined) {
    const reason = `its matcher "${matcher}" is a permission rule and no valid pattern`
    return { ...place, level, code: "HOOK_MATCHER_INVALID", problem: reason, mend: rule }
  }
  if (/fits nothing here/.test(problem)) {
    const names = (matcher ?? "").split(/[|,]/).map((name) => name.trim())
    if (names.every((name) => ELSEWHERE.has(name)))
      return { ...place, level: "note", problem: `no tool here is named "${matcher}", so it waits for one`, mend: "" }
  }
  const [, plain, hint] = /^(.*?) \((write .*|did you mean .*)\)$/s.exec(problem) ?? []
  const meant = hint?.replace(/^did you mean (.*)\?$/, "write $1")
  return { ...place, level, problem: plain ?? problem, mend: meant ?? mend }
}

/** `Write|Edit(*.py)`: the matcher and the condition that were meant. */
function ruleLike(matcher = ""): string | undefined {
  const [, names, tool, specifier] = /^((?:\w+\|)*(\w+))\(([^)]*)\)$/.exec(matcher) ?? []
  if (names === undefined) return undefined
  return `write the matcher "${names}" and the rule as a condition: "if": "${tool}(${specifier})"`
}
