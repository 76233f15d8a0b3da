/**
 * The door for programs: plugins and settings in, a frozen kit out, that runs recipes and prompts until it is closed.
 *
 * Invariant: register, freeze, run, dispose in reverse; nothing in here prints or exits.
 */

import { type Clock, createClock } from "./clock.ts"
import type { PluginReport, RunEvent } from "./event.ts"
import type { Generations } from "./generation.ts"
import type { HookEvent } from "./hook.ts"
import type { HookSource } from "./hook-source.ts"
import { createNotices, type Notices } from "./notice.ts"
import type { ApprovalAnswer, ApprovalFloor, ApprovalRequest, RuleSource } from "./permission/decision.ts"
import type { FlagGrants } from "./permission/flag.ts"
import type { Plugin, PluginEntry } from "./plugin.ts"
import { agent } from "./recipe/declare.ts"
import { recipe as build } from "./recipe/recipe.ts"
import type { Registry } from "./registry.ts"
import { openPlugins, type Reload, type Reloaded } from "./reload.ts"
import type { CompactionTrial, TrialOptions } from "./run-compact-try.ts"
import type { ContextOptions, WindowSurvey } from "./run-context.ts"
import type { Explained, ExplainedCall } from "./run-explain.ts"
import type { HookTrial, SamplePayload } from "./run-hook-test.ts"
import type { RunPermissions } from "./run-permission.ts"
import type { SessionRequest } from "./session/session-place.ts"
import { stateFolderFor } from "./session/store.ts"
import { given } from "./settings/given.ts"
import { type EffectiveSettings, mergeSettings } from "./settings/merge.ts"
import { homeFolder } from "./settings/scopes.ts"
import type { SettingsReload } from "./settings/watch.ts"
import { type StartOptions, startRun } from "./start.ts"
import type { AgentStep, Budget, Recipe, RunResult } from "./step.ts"
import type { Effort, PermissionMode, Tool } from "./tool.ts"

export interface KitOptions {
  /** In the order of registration: as they are, or with where they come from. */
  plugins: readonly (Plugin | PluginEntry)[]
  /** What became of others before they got here; shown in the first event. */
  reports?: readonly PluginReport[]
  settings?: EffectiveSettings
  /** External hooks, in configuration order: those of the strongest scope first. */
  hooks?: readonly HookSource[]
  /**
   * Where the settings come from, when a run at work is to look whether they have changed: from its next decision on it
   * goes by what tightens (deny and ask rules, gate hooks, barred modes, fewer allow rules) and by nothing else. Left out:
   * a kit's settings are what they are.
   */
  reload?: SettingsReload
  /** The project's root, which external hooks are told and native ones start in; absolute. Default: `cwd`. */
  projectDir?: string
  /** Absolute. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** Absolute. Default: the one of `env`, else what the system says. */
  home?: string
  /** State folder; default from env and home (design/context.md). */
  state?: string
  clock?: Clock
  /** A plugin that cannot be set up stops everything. Default false: it is reported, and the others go on. */
  strict?: boolean
  /** The kit is opened to look at it: what would stop a run is only reported, and nothing is remembered. */
  isSurvey?: boolean
  /** How long the setup of a plugin may take, ms. Default: 10,000. */
  setupBudgetMs?: number
  /** Warnings of whoever made the settings, for the first event. */
  warnings?: readonly string[]
}

/** How one run is to be done; beats the settings. */
export interface RunOptions {
  params?: Record<string, unknown>
  model?: string
  /** Stands in for every model, whatever the settings, the recipe or a step name. */
  standIn?: string
  fallbackModel?: string
  mode?: PermissionMode
  effort?: Effort
  maxTurns?: number
  budget?: Budget
  /** Rules of the command line. */
  rules?: readonly RuleSource[]
  flags?: FlagGrants
  /** Grant what the recipe asks for in `permissions.allow`. */
  grant?: boolean
  /** Answers a question; undefined: declined. Left out: nobody can be asked. `floor.hold` keeps hooks from overtaking. */
  ask?: (request: ApprovalRequest, signal: AbortSignal, floor: ApprovalFloor) => Promise<ApprovalAnswer | undefined>
  /** Asks the person who denied three calls in a row whether to go on in plan mode. Left out: it is not offered. */
  offerPlanMode?: (signal: AbortSignal) => Promise<boolean>
  onEvent?: (event: RunEvent) => void
  signal?: AbortSignal
  /** Records all models' traffic into this file (absolute). */
  record?: string
}

export interface PromptOptions extends RunOptions {
  system?: string
  appendSystem?: string
  tools?: string[]
  output?: AgentStep<unknown>["output"]
  /** The conversation to go on with; left out: a new one. */
  session?: SessionRequest
}

/** A run at work. Iterating it gives its events from that moment on. */
export interface Run<O = unknown> extends AsyncIterable<RunEvent> {
  /** Resolves once the run has its id and folder. */
  started: Promise<{ id: string; folder: string }>
  /** Never rejects but with a SousError that kept the run from starting. */
  result: Promise<RunResult<O>>
  /** Says something to the agent at work; it reads it after its current tool results. */
  queue(message: string): void
  abort(reason?: string): void
}

export interface Kit {
  run<P, O>(recipe: Recipe<P, O>, options?: RunOptions): Run<O>
  prompt(text: string, options?: PromptOptions): Run<unknown>
  /** What a run with these options would decide about a call, and why; nothing runs. Throws PERMISSION_RULE_INVALID. */
  explain(call: ExplainedCall, options?: RunOptions): Promise<Explained>
  /** The mode, rules and grants that a run with these options would start with. Throws PERMISSION_RULE_INVALID. */
  permissions(options?: RunOptions): Promise<RunPermissions>
  /** What occupies the window of a new conversation, or of a stored one. Throws TOOL_UNKNOWN. */
  context(options?: ContextOptions): Promise<WindowSurvey>
  /** What a compaction strategy would make of a stored conversation; nothing of it is changed. Throws COMPACTION_UNKNOWN. */
  tryCompaction(strategy: string, options: TrialOptions): Promise<CompactionTrial>
  /** Fires one event with a sample payload; its hooks run, and nothing else does. Throws HOOK_MATCHER_INVALID. */
  testHooks(event: HookEvent, payload: SamplePayload, options?: RunOptions): Promise<HookTrial>
  /** The tool of that name. */
  tool(name: string): Tool | undefined
  /** A recipe that a plugin brought. */
  recipe(name: string): Recipe | undefined
  describe(): KitDescription
  /**
   * Puts other plugins in the place of these: new runs have them at once, runs at work from their next turn on. What did
   * not change goes on as it is. Plugins that cannot be set up, or would guard less, leave everything as it was: the
   * fault is returned, and told to the runs at work. Never rejects but for a fault of its own.
   */
  reload(next: Reload): Promise<Reloaded>
  /**
   * Tells the runs at work (without one, the next) of an error that nobody caught, with the plugin that it came from.
   * False, and not told: an exception (`isException`) that came from no plugin.
   */
  tellStray(error: unknown, options?: { isException?: boolean }): boolean
  /** Ends what still runs, then disposes of the plugins, last registered first. Rejects with the first of their faults. */
  close(): Promise<void>
}

export interface KitDescription {
  plugins: PluginReport[]
  tools: string[]
  agents: string[]
  recipes: string[]
  models: string[]
  /** Hooks of plugins, in the order in which they run. */
  hooks: { plugin: string; event: HookEvent; matcher?: string; description?: string }[]
}

/** What a run needs of its kit. */
export interface KitParts {
  registry: Registry
  reports: PluginReport[]
  generations: Generations
  notices: Notices
  settings: EffectiveSettings
  options: KitOptions
  clock: Clock
  state: string
  signal: AbortSignal
}

/** Registers the plugins and freezes. Throws a SousError when a plugin that guards something cannot be set up. */
export async function createKit(given: KitOptions): Promise<Kit> {
  const home = given.home ?? homeFolder(given.env)
  const options: KitOptions = home === undefined ? given : { ...given, home }
  const ending = new AbortController()
  const plugins = await openPlugins({
    settings: options.settings ?? mergeSettings([]),
    options,
    clock: options.clock ?? createClock(),
    state: options.state ?? stateFolderFor(options.env, options.home),
    notices: createNotices(),
    signal: ending.signal,
  })
  const { parts } = plugins
  const running = new Set<Promise<unknown>>()
  const start = <O>(recipe: Recipe<any, O>, runOptions: StartOptions): Run<O> => {
    const run = startRun(parts(), recipe, runOptions)
    const settled = run.result.catch(() => {}).finally(() => running.delete(settled))
    running.add(settled)
    return run
  }
  return {
    run: (recipe, runOptions = {}) => start(recipe, runOptions),
    prompt: (text, promptOptions = {}) =>
      start(promptRecipe(text, promptOptions), {
        ...promptOptions,
        session: promptOptions.session ?? {},
        needsModel: true,
      }),
    explain: async (call, runOptions = {}) =>
      await (await import("./run-explain.ts")).explainInKit(parts(), call, runOptions),
    permissions: async (runOptions = {}) =>
      await (await import("./run-permission.ts")).listPermissions(parts(), runOptions),
    context: async (contextOptions = {}) =>
      await (await import("./run-context.ts")).surveyContext(parts(), contextOptions),
    tryCompaction: async (strategy, trialOptions) =>
      await (await import("./run-compact-try.ts")).tryCompaction(parts(), strategy, trialOptions),
    testHooks: async (event, payload, runOptions = {}) =>
      await (await import("./run-hook-test.ts")).testHooks(parts(), event, payload, runOptions),
    tool: (name) => parts().registry.tools.get(name),
    recipe: (name) => parts().registry.recipes.find((one) => one.name === name),
    describe: () => describe(parts()),
    reload: plugins.reload,
    tellStray: (error, { isException = false } = {}) => {
      const { notices, generations } = parts()
      return notices.tellStray(error, { units: generations.current.units, isException })
    },
    async close() {
      ending.abort(new Error("The kit was closed"))
      await Promise.all(running)
      await plugins.close()
    },
  }
}

/** A bare prompt is a recipe of one step. */
function promptRecipe(text: string, options: PromptOptions): Recipe<any, unknown> {
  const { system, appendSystem, tools, output } = options
  const given = Object.entries({ system, appendSystem, tools, output }).filter(([, value]) => value !== undefined)
  const step = { prompt: text, ...Object.fromEntries(given) }
  return build({ name: "prompt", description: "One prompt" })
    .step("answer", () => agent(step))
    .output(({ answer }) => answer)
}

function describe({ registry, reports }: KitParts): KitDescription {
  return {
    plugins: reports,
    tools: [...registry.tools.keys()],
    agents: registry.agents.map(({ name }) => name),
    recipes: registry.recipes.map(({ name }) => name),
    models: registry.models.map(({ name }) => name),
    hooks: registry.hooks.flatMap(({ plugin, event, matcher, description }) =>
      plugin === undefined ? [] : [{ plugin, event, ...given({ matcher, description }) }],
    ),
  }
}
