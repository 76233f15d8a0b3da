/**
 * From a kit and a recipe to a run at work: folder, rules, models, approvals, events; and all of it given back at the end.
 *
 * Invariant: whoever watches changes nothing; what a run started ends with it, whatever way it ends.
 */
import { setMaxListeners } from "node:events"
import { createEventStream } from "./channel.ts"
import type { Engine } from "./engine.ts"
import { childEnvironment, secretValues } from "./env.ts"
import { SousError } from "./error.ts"
import { EVENT_VERSION, type EventBody, type RunEvent } from "./event.ts"
import type { Held } from "./generation.ts"
import { missedTools } from "./hook-match.ts"
import { createHookRunner, type HookJudgement, type HookQuestion, type HookSurroundings } from "./hook-runner.ts"
import type { KitParts, Run, RunOptions } from "./kit.ts"
import type { Model } from "./model.ts"
import { within } from "./patience.ts"
import { type Breaker, createBreaker } from "./permission/breaker.ts"
import { createGrants, NO_GRANTS } from "./permission/grant.ts"
import { once } from "./permission/specifier.ts"
import { checkParams } from "./recipe/param.ts"
import { needsModel } from "./recipe/probe.ts"
import { runRecipe } from "./recipe/run.ts"
import { createSpend, type Spend } from "./recipe/spend.ts"
import { type RegisteredHook, type Registry, registerSources } from "./registry.ts"
import { createRunApprover } from "./run-approval.ts"
import { createRunPlugins } from "./run-generation.ts"
import { openProjectGrants } from "./run-grant.ts"
import { startMode } from "./run-mode.ts"
import { modelsOf, type OpenModels } from "./run-model.ts"
import { findPlaces, type RunPlaces } from "./run-place.ts"
import { createRefresh } from "./run-refresh.ts"
import { createRunRules } from "./run-rule.ts"
import { openRunSession } from "./session/session.ts"
import type { SessionRequest } from "./session/session-place.ts"
import { createRunFolder } from "./session/store.ts"
import { createSlots } from "./slot.ts"
import type { Recipe, RunResult } from "./step.ts"

export interface StartOptions extends RunOptions {
  /** Nothing can be done without a model: to have none is a fault of the start. A recipe is looked at for that. */
  needsModel?: boolean
  /** The conversation that the run belongs to; left out: each of its agents has one of its own. */
  session?: SessionRequest
}

/** Starts a run. What keeps it from starting rejects `result` with a SousError. */
export function startRun<O>(kit: KitParts, recipe: Recipe<any, O>, options: StartOptions): Run<O> {
  const aborter = new AbortController()
  const signal = AbortSignal.any([aborter.signal, kit.signal, ...(options.signal ? [options.signal] : [])])
  // Every call at work listens to it; there is no number of them that is a leak.
  setMaxListeners(0, signal)
  const events = createEventStream<RunEvent>(options.onEvent)
  const inbox: string[] = []
  const opened = openEngine(kit, recipe, { ...options, signal, tell: events.push })
  const result = work(kit, recipe, { ...options, opened, inbox })
  void result.then(events.end, events.end)
  // A promise that never settles does not hold a process: without this one it would end in the middle, without a word.
  const alive = setInterval(() => {}, 2 ** 30)
  result.finally(() => clearInterval(alive)).catch(() => {})
  const started = opened.then(({ engine }) => ({ id: engine.runId, folder: engine.folder }))
  // Whoever does not ask for it learns of the fault from `result`.
  started.catch(() => {})
  return {
    started,
    result: result as Promise<RunResult<O>>,
    queue: (message) => void inbox.push(message),
    abort: (reason = "The run was aborted") => aborter.abort(new Error(reason)),
    [Symbol.asyncIterator]: () => events.subscribe(),
  }
}

interface Opened {
  engine: Engine
  /** Faults that the run survives. */
  faults: readonly SousError[]
  /** What is odd about what it was started with, one sentence each. */
  warnings: readonly string[]
  /** Ends what the run left behind; what that brings to light (an unused recording) is returned. */
  close(): Promise<Error | undefined>
}

async function work(
  kit: KitParts,
  recipe: Recipe<any, any>,
  options: StartOptions & { opened: Promise<Opened>; inbox: string[] },
): Promise<RunResult> {
  const { engine, close, faults, warnings } = await options.opened
  try {
    const params = await checkParams(recipe, options.params ?? {})
    // A model that cannot be opened is a fault of the start, not of the step that would have used it first.
    const isAsked = options.model !== undefined || options.standIn !== undefined
    if (isAsked || options.needsModel || needsModel(recipe, params)) {
      if (engine.defaultModel === undefined) throw new SousError("MODEL_NOT_CONFIGURED", {})
      await engine.openModel(engine.defaultModel)
    }
    return await runRecipe(engine, recipe, {
      params: options.params ?? {},
      inbox: () => options.inbox.splice(0),
      begin: () => {
        engine.emit(startedEvent(kit, recipe, engine, warnings))
        for (const { message, mend, code } of faults)
          engine.emit({ type: "notice", level: "warning", message: `${message}; ${mend}`, code })
        engine.defer(kit.notices.join(engine.emit))
      },
      settle: close,
    })
  } finally {
    await close()
  }
}

function startedEvent(kit: KitParts, recipe: Recipe<any, any>, engine: Engine, warnings: readonly string[]): EventBody {
  return {
    type: "run_started",
    recipe: recipe.name,
    cwd: engine.cwd,
    model: engine.defaultModel,
    mode: engine.mode,
    tools: [...kit.registry.tools.keys()],
    plugins: kit.reports,
    warnings: [
      ...(kit.options.warnings ?? []),
      ...warnings,
      ...engine.rules.warnings,
      ...(engine.session?.warnings ?? []),
    ],
    folder: engine.folder,
    ...(engine.session ? { session: { id: engine.session.id, resumed: engine.session.entries.length > 0 } } : {}),
  }
}

type OpenOptions = Omit<StartOptions, "signal"> & { signal: AbortSignal; tell: (event: RunEvent) => void }

async function openEngine(kit: KitParts, recipe: Recipe<any, any>, options: OpenOptions): Promise<Opened> {
  const held = kit.generations.hold()
  return await openWith(kit, recipe, { ...options, held }).catch((error) => {
    held.release()
    throw error
  })
}

type HeldOptions = OpenOptions & { held: Held }

async function openWith(kit: KitParts, recipe: Recipe<any, any>, options: HeldOptions): Promise<Opened> {
  const { settings, clock, registry } = kit
  const [start, places] = [startMode(settings, options.mode), await findPlaces(kit)]
  const { cwd, roots } = places
  const { id, folder } = await createRunFolder(kit.state, cwd, clock.now())
  const { granted, rules } = await openRules(kit, recipe, { ...options, places })
  const cleanups: (() => void | Promise<void>)[] = []
  const opened: OpenModels = { models: new Map(), providers: new Set() }
  const follow = { engine: () => engine, recipe, rules, opened, canAsk: (r: Registry) => canAsk(r, hooks, options) }
  const plugins = createRunPlugins(kit, options.held, follow)
  const [emit, environment] = [createEmitter(id, clock, options.tell), environmentOf(kit, id, options)]
  const hooks = [...registry.hooks, ...registerSources(kit.options.hooks ?? [])]
  const engine: Engine = {
    ...{ runId: id, folder, places },
    ...{ contextPlaces: places.context, compact: settings.compact, cwd, roots },
    ...environment,
    ...{ clock, signal: options.signal, registry },
    agents: [...registry.agents, ...(recipe.agents ?? [])],
    ...{ rules: rules.compile(settings.permissions.rules), rulesWith: rules.compileWith },
    refresh: createRefresh({ kit, engine: () => engine, compile: rules.compile }),
    plugins,
    mode: start.mode,
    barredModes: settings.permissions.barredModes,
    hooks: createHookRunner(hooks, {
      ...{ emit, clock, signal: options.signal, secrets: environment.secrets },
      outside: outsideOf(kit, { cwd, folder, ...environment }, () => engine),
    }),
    spend: createRunSpend(kit, recipe, options),
    limits: limitsOf(kit, options),
    ...modelsOf(kit, recipe, { ...options, env: environment.env, opened, registry: () => engine.registry }),
    ...{ approve: async () => undefined, offerPlanMode: options.offerPlanMode },
    canAsk: canAsk(registry, hooks, options),
    grants: settings.permissions.managedRulesOnly ? NO_GRANTS : createGrants(clock),
    breaker: createRunBreaker(settings, options),
    emit,
    defer: (cleanup) => void cleanups.push(cleanup),
    subagentSlots: createSlots(10),
  }
  engine.approve = createRunApprover(engine, { ask: options.ask, keep: granted.keep })
  cleanups.push(engine.hooks.close)
  // The last that can fail: whoever fails before it has kept nobody else out of the conversation.
  await openSession(kit, engine, { request: options.session, cleanups })
  return {
    engine,
    warnings: [...start.warnings, ...places.warnings, ...missedTools(hooks, [...registry.tools.keys()])],
    faults: granted.fault ? [granted.fault] : [],
    close: once(() => closeAll(cleanups, opened.models).finally(plugins.close)),
  }
}

async function openSession(
  { state, clock, settings, options: { home } }: KitParts,
  engine: Engine,
  { request, cleanups }: { request: SessionRequest | undefined; cleanups: (() => void | Promise<void>)[] },
): Promise<void> {
  if (request === undefined) return
  const place = { state, cwd: engine.cwd, home, id: engine.runId, clock, claude: settings.compat.claude }
  const session = await openRunSession(place, request)
  engine.session = session
  cleanups.push(session.close)
}

/** The rules of a run, and what was granted to its project. */
async function openRules(kit: KitParts, recipe: Recipe<any, any>, options: OpenOptions & { places: RunPlaces }) {
  const granted = await openProjectGrants(kit, options.places)
  const rules = createRunRules(kit, recipe, { ...options, rules: [...(options.rules ?? []), ...granted.rules] })
  return { granted, rules }
}

function environmentOf({ settings, options: { env } }: KitParts, id: string, options: OpenOptions) {
  const all = { ...env, ...settings.env }
  const pass = options.flags?.allow?.env ?? []
  const childEnv = childEnvironment(env, { pass, set: { ...settings.env, SOUS_SESSION_ID: id } })
  return { env: all, secrets: secretValues(all), childEnv }
}

function createRunBreaker({ permissions }: KitParts["settings"], { ask, offerPlanMode }: OpenOptions): Breaker {
  return createBreaker({
    limit: permissions.denialLimit,
    attended: ask !== undefined && offerPlanMode !== undefined,
  })
}

/** What external hooks are given. */
function outsideOf(
  { options: { projectDir } }: KitParts,
  { cwd, folder, childEnv, env }: Pick<Engine, "cwd" | "folder" | "childEnv" | "env">,
  engine: () => Engine,
): HookSurroundings {
  const judge = async (question: HookQuestion): Promise<HookJudgement> =>
    await (await import("./run-hook.ts")).judgeForHook(engine(), question)
  return { projectDir: projectDir ?? cwd, folder, childEnv, env, judge }
}

/** A hook that answers, or a classifier, is somebody to ask as well. */
function canAsk({ classifiers }: Registry, hooks: readonly RegisteredHook[], { ask }: OpenOptions): boolean {
  return ask !== undefined || classifiers.length > 0 || hooks.some(({ event }) => event === "PermissionRequest")
}

function createEmitter(run: string, clock: KitParts["clock"], tell: (event: RunEvent) => void): Engine["emit"] {
  return (body, from) =>
    tell({
      v: EVENT_VERSION,
      ts: new Date(clock.now()).toISOString(),
      run,
      ...(from?.step === undefined ? {} : { step: from.step }),
      ...(from?.id === undefined ? {} : { agent: from.id }),
      ...body,
    })
}

/** What the user allows, and below it what the recipe allows itself where this start says nothing about it. */
function createRunSpend(kit: KitParts, recipe: Recipe<any, any, any>, options: RunOptions): Spend {
  const { settings, clock } = kit
  const root = createSpend({ ...settings.budget, ...options.budget }, { clock })
  const own = Object.entries(recipe.budget ?? {}).filter(([limit]) => !Object.hasOwn(options.budget ?? {}, limit))
  return own.length === 0 ? root : root.child(Object.fromEntries(own))
}

function limitsOf(kit: KitParts, options: RunOptions): Engine["limits"] {
  const effort = options.effort ?? kit.settings.effort
  return {
    maxTurns: options.maxTurns ?? kit.settings.maxTurns ?? 200,
    maxDepth: 3,
    maxConcurrency: 10,
    denialLimit: kit.settings.permissions.denialLimit,
    ...(effort === undefined ? {} : { effort }),
  }
}

/** How long whatever is left at the end of a run may take to be put away, ms. */
const CLOSE_MS = 10_000

async function closeAll(
  cleanups: (() => void | Promise<void>)[],
  models: Map<string, Promise<Model>>,
): Promise<Error | undefined> {
  let first: Error | undefined
  const attempt = async (close: () => unknown) => {
    try {
      await within(CLOSE_MS, "what a run left behind at its end", close)
    } catch (error) {
      first ??= error as Error
    }
  }
  for (const cleanup of cleanups.reverse()) await attempt(cleanup)
  for (const model of models.values()) {
    const opened = await model.catch(() => undefined)
    await attempt(() => opened?.close?.())
  }
  return first
}
