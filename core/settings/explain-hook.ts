/**
 * The configured hooks → entries of an explanation: those that may run, and the others with the reason.
 *
 * Invariant: a hook is in one of the two, whatever its event.
 */
import { type HookSource, suppressionOf } from "../hook-source.ts"
import type { ExplainedValue, IgnoredSetting } from "./explained.ts"
import type { ConfiguredHooks } from "./hook-load.ts"

/** Tells them apart; the name of each is its event. */
export function explainHooks({ sources, notRaised }: ConfiguredHooks): {
  entries: ExplainedValue[]
  ignored: IgnoredSetting[]
} {
  const silent = sources.flatMap((source) => {
    const reason = suppressionOf(source)
    return reason === undefined ? [] : [{ ...describe(source), path: `hooks.${source.event}`, reason }]
  })
  const foreign = notRaised.map(({ event, origin }) => {
    return { path: `hooks.${event}`, name: event, value: null, reason: "the event is not raised here", ...origin }
  })
  return {
    entries: sources.filter((source) => suppressionOf(source) === undefined).map(describe),
    ignored: [...silent, ...foreign],
  }
}

function describe({ event, origin, form, matcher, if: condition, dialect }: HookSource): ExplainedValue {
  const value = {
    ...(matcher === undefined ? {} : { matcher }),
    ...(condition === undefined ? {} : { if: condition }),
    ...form,
    dialect,
  }
  return { name: event, value, ...origin }
}
