/**
 * A settings file → the permission rules in it with their places, as the loader reads them.
 *
 * Invariant: whatever else is wrong with the file, every rule that is a text is in the answer.
 */
import type { RuleSource } from "../permission/decision.ts"
import { plainRule } from "../settings/claude-permission.ts"
import { type Finding, placeIn } from "./check-finding.ts"
import { describeRule } from "./check-rule-view.ts"
import type { SettingsText } from "./check-settings-text.ts"

const BEHAVIORS = ["deny", "ask", "allow"] as const

/** All rules that are texts, whatever else is wrong with the file. */
export function rulesOf({ file, scope, form, document, value }: SettingsText): RuleSource[] {
  const { permissions } = value
  if (!isFields(permissions)) return []
  const lists = BEHAVIORS.flatMap((behavior) =>
    texts(permissions[behavior]).map(({ text: written, index }): RuleSource => {
      const text = form === "claude" ? plainRule(written) : written
      return { text, behavior, scope, ...placeIn(file, document.at, ["permissions", behavior, index]) }
    }),
  )
  const ordered = texts(permissions.rules).flatMap(({ text, index }): RuleSource[] => {
    const [, behavior, rule] = /^(allow|ask|deny)\s+(\S.*)$/s.exec(text) ?? []
    const place = placeIn(file, document.at, ["permissions", "rules", index])
    if (behavior === undefined || rule === undefined) return []
    return [{ text: rule, behavior: behavior as RuleSource["behavior"], scope, ordered: true, ...place }]
  })
  return [...lists, ...ordered]
}

/** Rules whose text is not the one that stands in the file. */
export function escapedRules({ form, value, file, document }: SettingsText): Finding[] {
  const { permissions } = value
  if (form !== "claude" || !isFields(permissions)) return []
  return BEHAVIORS.flatMap((behavior) =>
    texts(permissions[behavior]).flatMap(({ text, index }): Finding[] => {
      if (plainRule(text) === text) return []
      const place = placeIn(file, document.at, ["permissions", behavior, index])
      const problem = "its parentheses are escaped, as Claude Code writes them, and read without the backslashes"
      return [{ level: "note", ...place, what: describeRule({ behavior, text: plainRule(text) }), problem, mend: "" }]
    }),
  )
}

function texts(list: unknown): { text: string; index: number }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((text: unknown, index) => (typeof text === "string" && text !== "" ? [{ text, index }] : []))
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
