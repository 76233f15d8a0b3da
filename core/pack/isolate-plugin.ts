/**
 * The description of an isolated plugin → an ordinary plugin, each function of which asks the process.
 *
 * Invariant: nothing that comes back grants anything: a hook may tighten, rewrite (what is judged anew) and inject, and
 * neither allow nor set variables; a tool's result is text, images and data.
 */
import { realpath, stat } from "node:fs/promises"
import type { HookAnswer, HookEvent, HookHandler, Hooks } from "../hook.ts"
import type { Capabilities, Contribution, Plugin } from "../plugin.ts"
import type { CallFacts, Tool, ToolContext, ToolOutput } from "../tool.ts"
import { withoutPatterns } from "./isolate-check.ts"
import { isInside, visibleEnv } from "./isolate-grant.ts"
import type { Link } from "./isolate-link.ts"
import {
  type CallContext,
  callFacts,
  type Described,
  type DescribedHook,
  type DescribedTool,
  type Parts,
  toolOutput,
} from "./isolate-message.ts"
import type { CallHandlers } from "./isolate-process.ts"

/** What the parts of a plugin are made with. */
export interface Making {
  plugin: string
  link: Link
  capabilities: Capabilities
  /** How long a tool may think about what a call touches, ms. */
  factsMs: number
}

/** The plugin without its setup. */
export function makePlugin({ name, apiVersion, requires, required, parts }: Described, making: Making): Plugin {
  return {
    name,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(requires === undefined ? {} : { requires }),
    ...(required === undefined ? {} : { required }),
    capabilities: making.capabilities,
    ...makeParts(parts, making, { firstHook: 0 }),
  }
}

/** A contribution; `firstHook`: how many hooks came before it. */
export function makeParts(parts: Parts, making: Making, { firstHook }: { firstHook: number }): Contribution {
  const { allow, ask, deny } = parts.permissions
  return {
    tools: parts.tools.map((tool) => makeTool(tool, making)),
    hooks: makeHooks(parts.hooks, making, firstHook),
    permissions: { ...(allow ? { allow } : {}), ...(ask ? { ask } : {}), ...(deny ? { deny } : {}) },
    agents: parts.agents as NonNullable<Contribution["agents"]>,
  }
}

function makeTool({ asks, input, ...plain }: DescribedTool, { plugin, link, capabilities, factsMs }: Making): Tool {
  const { name } = plain
  const facts = async (given: unknown, { cwd }: { cwd: string }): Promise<CallFacts> => {
    const said = await link.ask({ type: "facts", tool: name, input: given, cwd }, { timeoutMs: factsMs })
    const checked = callFacts.safeParse(said)
    if (checked.success) return checked.data as CallFacts
    throw new Error(`the plugin "${plugin}" does not say what the call touches in a form that can be read`)
  }
  return {
    ...(plain as Omit<Tool, "input" | "execute">),
    input: withoutPatterns(input),
    ...(asks ? { facts } : {}),
    async execute(given, context) {
      const asked = { type: "call", tool: name, input: given, context: sentContext(context, capabilities) } as const
      const call = handlersFor(context, link)
      const said = await link.ask(asked, { signal: context.signal, call })
      await call.settled()
      const checked = toolOutput.safeParse(said)
      if (checked.success) return checked.data as ToolOutput
      throw new Error(`the plugin "${plugin}" returned what is neither text nor content blocks`)
    },
  }
}

function sentContext(context: ToolContext, capabilities: Capabilities): CallContext {
  const { toolUseId, caller, cwd, roots, judged = new Map(), agent, sessionId, runFolder, agents, web } = context
  const env = visibleEnv(capabilities, context.env)
  const known = { toolUseId, caller, cwd, roots, agent, sessionId, runFolder, agents, env }
  return { ...known, judged: [...judged], hasWeb: web !== undefined }
}

/** Characters of one report, and reports of one call, that are shown. */
const LONGEST_PROGRESS = 2000
const MOST_PROGRESS = 10_000

/** Cleanups that one call may leave behind. */
const MOST_CLEANUPS = 100
const CLEANUP_MS = 5000

function handlersFor(context: ToolContext, link: Link): CallHandlers & { settled(): Promise<void> } {
  const left = { progress: MOST_PROGRESS, cleanups: MOST_CLEANUPS }
  let moved: Promise<void> | undefined
  return {
    settled: async () => await moved,
    progress(text) {
      if (left.progress-- > 0) context.progress(text.slice(0, LONGEST_PROGRESS))
    },
    setCwd(path) {
      moved = moveTo(path, context)
      moved.catch(() => {})
    },
    defer(cleanup) {
      if (left.cleanups-- <= 0) return
      const owner = link.current
      context.defer(async () => {
        // What a dead process left behind, no other one knows of.
        if (!owner.isGone) await owner.ask({ type: "cleanup", cleanup }, { timeoutMs: CLEANUP_MS })
      })
    },
    decide({ about, value }) {
      if (about === "mayRead") return context.mayRead(value)
      return about === "namesHost" ? (context.web?.names(value) ?? false) : (context.web?.guards(value) ?? true)
    },
  }
}

/** The agent moves only to where it may work anyway. */
async function moveTo(path: string, { roots, setCwd }: ToolContext): Promise<void> {
  const real = await realpath(path)
  const homes = await Promise.all(roots.map(async (root) => await realpath(root)))
  const isFolder = (await stat(real)).isDirectory()
  if (!isFolder || !homes.some((root) => isInside(real, root)))
    throw new Error(`it cannot move to ${path}, which is no folder that this run works in`)
  setCwd(real)
}

/** How long a hook may take to end by itself once nobody waits for it any more, ms. */
const HOOK_GRACE_MS = 1000

function makeHooks(hooks: readonly DescribedHook[], { plugin, link }: Making, first: number): Hooks {
  const made: Partial<Record<HookEvent, object[]>> = {}
  for (const [at, { event, ...plain }] of hooks.entries()) {
    const handler: HookHandler<HookEvent> = async (payload, { signal }) => {
      const asked = { type: "hook", hook: first + at, payload } as const
      return checkAnswer(await link.ask(asked, { signal, graceMs: HOOK_GRACE_MS }), plugin)
    }
    made[event] = [...(made[event] ?? []), { ...plain, handler }]
  }
  return made as Hooks
}

/** What a hook may not answer from another process: it would grant what the process was not given. */
const GRANTING = new Map([
  ["allow", "pass()"],
  ["env", "nothing"],
])

/** Characters of a text in an answer. */
const LONGEST_ANSWER = 100_000

/** The form of an answer is looked at by the kernel, which takes none that it cannot read; here only what it may mean. */
function checkAnswer(answer: unknown, plugin: string): HookAnswer | undefined {
  if (typeof answer !== "object" || answer === null) return answer as undefined
  const { kind, exit, stdout } = answer as { kind?: unknown; exit?: unknown; stdout?: unknown }
  if (Object.values(answer).some((text) => typeof text === "string" && text.length > LONGEST_ANSWER))
    throw new Error(`the plugin "${plugin}" answered with more than ${LONGEST_ANSWER} characters`)
  const instead = GRANTING.get(String(kind))
  if (instead !== undefined) {
    throw new Error(
      `the plugin "${plugin}" runs in a process of its own and may not answer "${kind}": let it answer ${instead}, or run it with isolation "none"`,
    )
  }
  if (
    exit !== undefined &&
    String(stdout ?? "")
      .trimStart()
      .startsWith("{")
  ) {
    throw new Error(
      `the plugin "${plugin}" may not answer with JSON on stdout: let it answer block(…), ask(…) or pass()`,
    )
  }
  return answer as HookAnswer
}
