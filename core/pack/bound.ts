/**
 * A plugin of a pack → the same plugin, held to what the manifest of its pack lists.
 *
 * Invariant: what was not listed is refused before it is registered, whether the plugin carries it, returns it from its
 * setup or adds it there.
 */
import { SousError } from "../error.ts"
import type { Contribution, Plugin, PluginContext } from "../plugin.ts"
import type { LockedContent } from "./lock-shape.ts"

/** Bounds a plugin. Throws PACK_UNDERSTATES, now or from its setup. */
export function boundPlugin(plugin: Plugin, pack: string, content: LockedContent): Plugin {
  const check = (adds: Contribution) => checkAdds(adds, { plugin: String(plugin.name), pack }, content)
  check(plugin)
  const { setup } = plugin
  if (setup === undefined) return plugin
  return {
    ...plugin,
    async setup(context: PluginContext) {
      const add: PluginContext["add"] = (more) => {
        check(more)
        context.add(more)
      }
      const more = await setup.call(plugin, { ...context, add })
      if (more) check(more)
      return more
    },
  }
}

interface Owner {
  plugin: string
  pack: string
}

function checkAdds(
  contribution: Contribution,
  owner: Owner,
  { capabilities, adds = {}, permissions = {} }: LockedContent,
) {
  const refuse = (kind: string, name: string, key: string): never => {
    throw new SousError("PACK_UNDERSTATES", { ...owner, what: `${kind} "${name}"`, key })
  }
  const listed = (kind: string, found: readonly string[], known: readonly string[] | undefined, key: string) => {
    const extra = found.find((name) => !known?.includes(name))
    if (extra !== undefined) refuse(kind, extra, key)
  }
  listed("tool", namesOf(contribution.tools), capabilities.tools, "capabilities.tools")
  listed("hook", Object.keys(contribution.hooks ?? {}), adds.hooks, "adds.hooks")
  for (const kind of ["models", "agents", "recipes", "context", "compaction"] as const)
    listed(KINDS[kind], namesOf(contribution[kind]), adds[kind], `adds.${kind}`)
  for (const behavior of ["allow", "ask", "deny"] as const)
    listed(
      `${behavior} rule`,
      contribution.permissions?.[behavior] ?? [],
      permissions[behavior],
      `permissions.${behavior}`,
    )
  const { classify, safety } = contribution.permissions ?? {}
  if ((classify || safety) && !adds.judges) refuse("classifier", classify ? "classify" : "safety", "adds.judges")
}

const KINDS = {
  models: "model provider",
  agents: "agent",
  recipes: "recipe",
  context: "context source",
  compaction: "compaction",
} as const

function namesOf(list: readonly { name: string }[] | undefined): string[] {
  return (list ?? []).map(({ name }) => String(name))
}
