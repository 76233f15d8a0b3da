/**
 * The step `script`: ordinary code, in which each awaited call is a step of its own.
 *
 * Invariant: the script itself touches nothing; what its calls do goes the way of every step.
 */
import { SousError } from "../error.ts"
import type { AgentOptions, ScriptContext, ScriptStep, Step, StepResult } from "../step.ts"
import { below, cancelled, type Place, plainFailure, type RunContext, reasonOf, StepError } from "./context.ts"
import { agent, sh, tool, write } from "./declare.ts"

/** Runs the code; its calls run at `<path>/<id>`, or `<path>/<n>` in the order in which they are made. */
export async function runScript(run: RunContext, step: ScriptStep<any>, place: Place): Promise<StepResult> {
  const atWork = new Set<Promise<unknown>>()
  const context = createScriptContext(run, place, atWork)
  try {
    const value = await untilAborted(step.run(context), place.signal)
    if (atWork.size > 0) throw new Error(`it ended while ${atWork.size} of its steps were at work: await each of them`)
    return { ok: true, value }
  } catch (error) {
    if (place.signal.aborted) return cancelled()
    if (error instanceof StepError) throw error
    throw new SousError("STEP_SCRIPT_FAILED", { step: place.path, reason: reasonOf(error) }, { cause: error })
  } finally {
    // Nothing of a step goes on after it.
    await Promise.allSettled(atWork)
  }
}

function createScriptContext(run: RunContext, place: Place, atWork: Set<Promise<unknown>>): ScriptContext {
  let calls = 0
  const work = async (declared: Step, id: string | undefined): Promise<any> => {
    const number = ++calls
    const at = below(place, id ?? number)
    const result = await run.step(declared, at)
    if (result.ok) return result.value
    throw new StepError(at.path, plainFailure(result))
  }
  const go = (declared: Step, id?: string): Promise<any> => {
    const working = work(declared, id)
    atWork.add(working)
    const done = () => atWork.delete(working)
    working.then(done, done)
    return working
  }
  return {
    run: (id, declared) => go(declared, id),
    agent: ({ id, ...options }: AgentOptions<any> & { id?: string }) => go(agent(options), id),
    sh: (first: any, ...values: unknown[]) => {
      if (Array.isArray(first)) return go(sh(first as unknown as TemplateStringsArray, ...values))
      const { id, ...options } = first
      return go(sh(options as { command: string }), id)
    },
    tool: (name, input) => go(tool(name, input)),
    write: (path, text) => go(write(path, text)),
    async parallel(tasks) {
      const settled = await Promise.allSettled(tasks.map((task) => task()))
      for (const one of settled) if (one.status === "rejected") throw one.reason
      return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value) as any
    },
    log: (message) => place.engine.emit({ type: "notice", level: "info", message }, { step: place.path }),
  }
}

/** A script may wait for something that nobody can end; an abort does not wait with it. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener("abort", stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}
