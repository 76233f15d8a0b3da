/**
 * A plugin whose tool has a name that is taken → the same plugin with that tool as `plugin__Tool`.
 *
 * Invariant: what the plugin says about its own tool holds for the renamed one: its hooks see it, its rules match it; what
 * it allows is no longer said about the tool that has the name.
 */
import { HOOKS, type HookEvent, type HookSpec } from "./hook.ts"
import type { Contribution } from "./plugin.ts"
import type { Tool } from "./tool.ts"

/** Renames the tools whose names are taken. */
export function prefixTools(
  plugin: string,
  contribution: Contribution,
  isTaken: (name: string) => boolean,
): Contribution {
  const { tools = [], hooks, permissions } = contribution
  const names = new Map(tools.filter(({ name }) => isTaken(name)).map(({ name }) => [name, `${plugin}__${name}`]))
  if (names.size === 0) return contribution
  return {
    ...contribution,
    tools: tools.map((tool) => renameTool(tool, names)),
    ...(hooks === undefined ? {} : { hooks: renameHooks(hooks, names) }),
    ...(permissions === undefined ? {} : { permissions: renameRules(permissions, names) }),
  }
}

type Names = ReadonlyMap<string, string>

function renameTool(tool: Tool, names: Names): Tool {
  const name = names.get(tool.name) ?? tool.name
  const { ruleName } = tool
  const other = ruleName === undefined ? undefined : (names.get(ruleName) ?? ruleName)
  if (name === tool.name && other === ruleName) return tool
  // Its prototype may hold what it does.
  const renamed = Object.assign(Object.create(Object.getPrototypeOf(tool)) as Tool, tool, { name })
  delete renamed.ruleName
  return other === undefined || other === name ? renamed : Object.assign(renamed, { ruleName: other })
}

function renameHooks(hooks: NonNullable<Contribution["hooks"]>, names: Names): NonNullable<Contribution["hooks"]> {
  const renamed = Object.entries(hooks).map(([event, value]) => {
    const spec: HookSpec | undefined = HOOKS[event as HookEvent]
    if (spec?.matches !== "tool_name") return [event, value]
    const list = [value].flat().map((hook) => {
      const matcher = typeof hook === "object" && hook !== null ? (hook as { matcher?: string }).matcher : undefined
      return matcher === undefined ? hook : { ...(hook as object), matcher: renameMatcher(matcher, names) }
    })
    return [event, list]
  })
  return Object.fromEntries(renamed)
}

/** Matches what it matched, and the new name wherever it matched the old one. */
function renameMatcher(matcher: string, names: Names): string {
  const isList = /^[\p{L}\p{N}_\-,| ]*$/u.test(matcher)
  const listed = matcher.split(/[|,]/).map((part) => part.trim())
  const seen = [...names].filter(([old]) => (isList ? listed.includes(old) : fits(matcher, old)))
  if (seen.length === 0 || matcher.trim() === "" || matcher.trim() === "*") return matcher
  const fresh = seen.map(([, name]) => name)
  return isList ? [matcher, ...fresh].join("|") : [`(?:${matcher})`, ...fresh.map((name) => `^${name}$`)].join("|")
}

function fits(pattern: string, name: string): boolean {
  try {
    return new RegExp(pattern).test(name)
  } catch {
    return false
  }
}

function renameRules(permissions: NonNullable<Contribution["permissions"]>, names: Names) {
  const renamed = (rule: string) => {
    const [, tool = "", rest = ""] = /^([^(]*)(.*)$/s.exec(rule) ?? []
    return (names.get(tool.trim()) ?? tool) + rest
  }
  const { allow, ask, deny, ...others } = permissions
  const both = (rules: string[]) => [...new Set(rules.flatMap((rule) => [rule, renamed(rule)]))]
  return {
    ...others,
    ...(allow === undefined ? {} : { allow: allow.map(renamed) }),
    ...(ask === undefined ? {} : { ask: both(ask) }),
    ...(deny === undefined ? {} : { deny: both(deny) }),
  }
}
