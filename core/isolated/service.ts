/**
 * What the host asks of the plugin in this process → one answer or one fault for each ask.
 *
 * Invariant: whatever the plugin throws or returns, an answer goes out that the host can read; what it throws outside of
 * an ask ends the process.
 */
import { SousError } from "../error.ts"
import type { Ask, ChildMessage, Described, HostMessage, Parts } from "../pack/isolate-message.ts"
import type { Contribution, Plugin, PluginContext } from "../plugin.ts"
import { loadModule } from "../recipe/load.ts"
import { type PluginHook, registerHooks } from "../registry.ts"
import { checkContribution, checkPlugin, contributionOf } from "../registry-shape.ts"
import { isConcurrencySafe, isReadOnly, type Tool } from "../tool.ts"
import { checkInput, describeIssue } from "../tool-input.ts"
import { createAgentStates, type Surroundings, toolContext } from "./context.ts"
import { describeParts } from "./described.ts"
import { closeNetwork } from "./harden.ts"
import { consume, faultOf } from "./outcome.ts"

/** The plugin, and what it has added so far. */
interface Loaded {
  plugin?: Plugin
  /** What it carries itself: how many hooks, which tools. */
  own?: { hooks: number; tools: ReadonlyMap<string, Tool> }
  tools: Map<string, Tool>
  hooks: PluginHook[]
  disposals: (() => void | Promise<void>)[]
  /** Fires when the plugin is no longer used. */
  ending: AbortController
}

/** Takes each message of the host. */
export interface Service {
  take(message: HostMessage): void
}

export function createService({ send, side }: { send(message: ChildMessage): void; side: number }): Service {
  const loaded: Loaded = { tools: new Map(), hooks: [], disposals: [], ending: new AbortController() }
  const open = new Map<number, AbortController>()
  const surroundings: Surroundings = { send, side, cleanups: [], states: createAgentStates() }
  const serve = async (id: number, ask: Ask) => {
    const own = new AbortController()
    open.set(id, own)
    try {
      reply(id, await answer(loaded, ask, { ...surroundings, id, signal: own.signal }))
    } catch (error) {
      send({ type: "fault", id, ...faultOf(error) })
    } finally {
      open.delete(id)
    }
  }
  /** What JSON cannot hold is a fault of the plugin, like one that it throws. */
  function reply(id: number, value: unknown): void {
    try {
      send({ type: "answer", id, value })
    } catch (error) {
      throw new Error(`its result cannot be sent: ${error instanceof Error ? error.message : "it is no JSON"}`)
    }
  }
  return {
    take(message) {
      if (message.type === "abort") open.get(message.id)?.abort(new Error("The call was stopped"))
      else void serve(message.id, message)
    },
  }
}

/** One ask, with where its answers go. */
export type Asked = Surroundings & { id: number; signal: AbortSignal }

async function answer(loaded: Loaded, ask: Ask, asked: Asked): Promise<unknown> {
  switch (ask.type) {
    case "load":
      return await load(loaded, ask)
    case "setup":
      return await setUp(loaded, ask)
    case "facts":
      return await factsOf(toolOf(loaded, ask.tool), ask)
    case "call": {
      const tool = toolOf(loaded, ask.tool)
      const context = toolContext(ask.context, asked)
      return await consume(tool.execute(await inputOf(tool, ask.input), context), context)
    }
    case "hook":
      return await loaded.hooks[ask.hook]?.handler(ask.payload as never, { signal: asked.signal })
    case "cleanup":
      return void (await asked.cleanups[ask.cleanup]?.())
    case "dispose":
      return await dispose(loaded)
  }
}

async function load(loaded: Loaded, { file, modules, net }: Ask & { type: "load" }): Promise<Described> {
  if (!net) closeNetwork()
  const virtual = Object.entries(modules).map(([name, url]) => [name, async () => (await import(url)) as object])
  const exports = await loadModule(file, { modules: { ...Object.fromEntries(virtual), zod: () => import("zod") } })
  const plugin = checkPlugin(exports["default"] as Plugin, file)
  loaded.plugin = plugin
  const { name, apiVersion, requires, required, capabilities } = plugin
  const parts = add(loaded, contributionOf(plugin))
  loaded.own = { hooks: loaded.hooks.length, tools: new Map(loaded.tools) }
  const hasSetup = plugin.setup !== undefined || plugin.settings !== undefined
  return JSON.parse(JSON.stringify({ name, apiVersion, requires, required, capabilities, hasSetup, parts }))
}

async function setUp(loaded: Loaded, { settings, cwd }: Ask & { type: "setup" }): Promise<Parts> {
  const plugin = loaded.plugin!
  const parsed = plugin.settings?.safeParse(settings)
  if (parsed?.success === false) {
    const issue = parsed.error.issues.map(describeIssue).join("; ")
    throw new SousError("PLUGIN_SETTINGS_INVALID", { plugin: plugin.name, issue })
  }
  const added: Contribution[] = []
  let isOpen = true
  const context: PluginContext = {
    settings: parsed === undefined ? settings : parsed.data,
    cwd,
    env: { ...process.env },
    signal: loaded.ending.signal,
    add(contribution) {
      if (!isOpen) throw new SousError("PLUGIN_TOO_LATE", { plugin: plugin.name })
      added.push(contribution)
    },
  }
  const returned = await plugin.setup?.(context)
  isOpen = false
  forgetSetup(loaded)
  const all = [...added, ...(returned ? [returned] : [])].map((contribution) => add(loaded, contribution))
  return {
    tools: all.flatMap(({ tools }) => tools),
    hooks: all.flatMap(({ hooks }) => hooks),
    permissions: joinRules(all),
    agents: all.flatMap(({ agents }) => agents),
    foreign: all.flatMap(({ foreign }) => foreign),
  }
}

/** A later setup, with other settings, takes the place of the one before. */
function forgetSetup({ own, hooks, tools }: Loaded): void {
  hooks.length = own!.hooks
  tools.clear()
  for (const [name, tool] of own!.tools) tools.set(name, tool)
}

function joinRules(all: readonly Parts[]): Parts["permissions"] {
  const list = (key: "allow" | "ask" | "deny") => all.flatMap(({ permissions }) => permissions[key] ?? [])
  return { allow: list("allow"), ask: list("ask"), deny: list("deny") }
}

/** Keeps what is called later, and returns what is said about it. */
function add({ plugin, tools, hooks, disposals }: Loaded, contribution: Contribution): Parts {
  checkContribution(contribution, { plugin: plugin!.name })
  const own = registerHooks(plugin!.name, contribution.hooks ?? {}) as PluginHook[]
  for (const tool of contribution.tools ?? []) tools.set(tool.name, tool)
  hooks.push(...own)
  if (contribution.dispose !== undefined) disposals.push(() => contribution.dispose?.())
  return describeParts(contribution, own)
}

function toolOf({ tools }: Loaded, name: string): Tool {
  const tool = tools.get(name)
  if (tool === undefined) throw new Error(`it has no tool "${name}"`)
  return tool
}

async function factsOf(tool: Tool, { input, cwd }: Ask & { type: "facts" }): Promise<object> {
  const checked = await inputOf(tool, input)
  return {
    readOnly: isReadOnly(tool, checked),
    concurrencySafe: isConcurrencySafe(tool, checked),
    targets: tool.targets?.(checked, { cwd }) ?? [],
  }
}

/** As the tool's own schema makes it: the host knows only what JSON Schema says of it. */
async function inputOf(tool: Tool, input: unknown): Promise<unknown> {
  return await checkInput(tool, { id: "", name: tool.name, input })
}

async function dispose({ disposals, ending }: Loaded): Promise<void> {
  ending.abort(new Error("The plugin is no longer used"))
  for (const one of disposals.reverse()) await one()
}
