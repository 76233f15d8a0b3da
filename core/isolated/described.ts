/**
 * A plugin's contribution → the same as data, with what has to stay here named instead.
 *
 * Invariant: what cannot be sent is named, never left out.
 */
import type { DescribedHook, DescribedTool, Parts } from "../pack/isolate-message.ts"
import type { Contribution } from "../plugin.ts"
import type { PluginHook } from "../registry.ts"
import type { Tool } from "../tool.ts"
import { inputJsonSchema } from "../tool-input.ts"

/** A contribution as it is sent. */
export function describeParts(contribution: Contribution, hooks: readonly PluginHook[]): Parts {
  const { tools = [], permissions = {}, agents = [] } = contribution
  return {
    tools: tools.map(describeTool),
    hooks: hooks.map((hook) => known(hook, ["event", "matcher", "description", "timeoutMs"]) as DescribedHook),
    permissions: known(permissions, ["allow", "ask", "deny"]),
    agents: agents.map((agent) => ({ ...agent })),
    foreign: foreignIn(contribution),
  }
}

function describeTool(tool: Tool): DescribedTool {
  const { name, description, readOnly, concurrencySafe, targets } = tool
  return {
    name,
    description,
    input: inputJsonSchema(tool),
    ...known(tool, ["ruleName", "role", "skipsDenied", "maxResultChars", "sideEffects"]),
    ...(typeof readOnly === "boolean" ? { readOnly } : {}),
    ...(typeof concurrencySafe === "boolean" ? { concurrencySafe } : {}),
    asks: [readOnly, concurrencySafe, targets].some((one) => typeof one === "function"),
  } as DescribedTool
}

/** Kinds of contribution that are code which the kernel calls in ways that nothing here answers. */
function foreignIn({ models, compaction, context, recipes, permissions, tools = [] }: Contribution): string[] {
  const lists = { models, compaction, context, recipes }
  return [
    ...Object.entries(lists).flatMap(([kind, list]) => (list?.length ? [kind] : [])),
    ...(permissions?.classify ? ["a classifier"] : []),
    ...(permissions?.safety ? ["a safety classifier"] : []),
    ...tools.filter(({ role }) => role === "subagent").map(({ name }) => `the subagent tool ${name}`),
  ]
}

function known<T extends object, K extends keyof T>(value: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]]))) as Pick<T, K>
}
