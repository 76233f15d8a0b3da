/**
 * Which hooks an event meets: from the hooks of all plugins to a list for each event, with every matcher compiled.
 *
 * Invariant: a matcher that cannot match what its author meant is refused here, before the first event.
 */
import { SousError } from "./error.ts"
import { HOOKS, type HookEvent, type HookSpec } from "./hook.ts"
import type { RegisteredHook } from "./registry.ts"

/** A hook that is ready to run. */
export interface CompiledHook {
  hook: RegisteredHook
  /** Names the hook among those of its plugin: its description, or its event and matcher, with a number when taken. */
  name: string
  /** True when the hook wants to see an event whose matched field has this value. */
  matches(value: string): boolean
  timeoutMs: number
}

/** The hooks of each event that has any, in the order of registration. */
export type HookTable = ReadonlyMap<HookEvent, readonly CompiledHook[]>

const DEFAULT_TIMEOUT_MS = 60_000

/** Letters, digits, `_`, `-` and what separates names: such a matcher is a list of exact names. */
const NAMES_ONLY = /^[\p{L}\p{N}_\-,| ]*$/u

/** Compiles every hook once. Throws HOOK_MATCHER_INVALID. */
export function compileHooks(hooks: readonly RegisteredHook[]): HookTable {
  const table = new Map<HookEvent, CompiledHook[]>()
  const taken = new Map<string, number>()
  for (const hook of hooks) {
    const spec: HookSpec = HOOKS[hook.event]
    const name = nameOf(hook, taken)
    const compiled = {
      hook,
      name,
      matches: compileMatcher(hook, name, spec),
      timeoutMs: hook.timeoutMs ?? spec.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    }
    const list = table.get(hook.event)
    if (list) list.push(compiled)
    else table.set(hook.event, [compiled])
  }
  return table
}

function nameOf(hook: RegisteredHook, taken: Map<string, number>): string {
  const plain = hook.description ?? (hook.matcher ? `${hook.event}(${hook.matcher})` : hook.event)
  const key = `${hook.plugin} ${plain}`
  const count = (taken.get(key) ?? 0) + 1
  taken.set(key, count)
  return count === 1 ? plain : `${plain} #${count}`
}

function compileMatcher(hook: RegisteredHook, name: string, spec: HookSpec): (value: string) => boolean {
  const matcher = hook.matcher ?? spec.matcher ?? ""
  const refuse = (reason: string, cause?: unknown) =>
    new SousError("HOOK_MATCHER_INVALID", { plugin: hook.plugin, hook: name, matcher, reason }, { cause })
  if (matcher === "" || matcher === "*") return () => true
  if (spec.matches === undefined) throw refuse(`the event "${hook.event}" has nothing to match`)
  if (NAMES_ONLY.test(matcher)) {
    const names = new Set(matcher.split(/[|,]/).map((part) => part.trim()))
    return (value) => names.has(value)
  }
  try {
    const pattern = new RegExp(matcher)
    return (value) => pattern.test(value)
  } catch (cause) {
    throw refuse((cause as Error).message, cause)
  }
}
