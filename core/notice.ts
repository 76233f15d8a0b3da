/**
 * What has to be told although no run did it: a plugin that is too late, a promise that nobody caught → the runs at work.
 *
 * Invariant: what cannot be told at once waits for the next run, bounded; telling never throws.
 */
import { pathToFileURL } from "node:url"
import { isSousError } from "./error.ts"
import type { EventBody } from "./event.ts"
import type { PluginEntry } from "./plugin.ts"

type Tell = (body: EventBody) => void

export interface Notices {
  /** To every run at work; without one, to the next. */
  tell: Tell
  /** The same for a fault of a plugin. */
  tellFault(error: unknown): void
  /** An error that nobody caught, of whichever of these plugins; false for an exception that is of none of them. */
  tellStray(error: unknown, from: { units: readonly { entry: PluginEntry }[]; isException: boolean }): boolean
  /** Told from now on, and first of what waited; returns how to leave. */
  join(tell: Tell): () => void
}

/** How many notices wait for a run at most. */
const MOST_WAITING = 20

/** Makes the notices of a kit. */
export function createNotices(): Notices {
  const runs = new Set<Tell>()
  const waiting: EventBody[] = []
  const tell: Tell = (body) => {
    if (runs.size === 0 && waiting.length < MOST_WAITING) waiting.push(body)
    for (const one of runs) one(body)
  }
  const warn = (message: string, code?: string) =>
    tell({ type: "notice", level: "warning", message, ...(code === undefined ? {} : { code }) })
  return {
    tell,
    tellFault(error) {
      if (isSousError(error)) warn(`${error.message}; ${error.mend}`, error.code)
      else warn(messageOf(error))
    },
    tellStray(error, { units, isException }) {
      const culprit = findCulprit(
        error,
        units.map(({ entry }) => entry),
      )
      if (isException && culprit === undefined) return false
      const owner =
        culprit === undefined ? "Something" : `Plugin "${culprit.plugin?.name ?? culprit.name}" (${culprit.from})`
      const what = isException ? "threw an error" : "left a promise to fail"
      warn(`${owner} ${what} that nobody caught, and the run goes on: ${messageOf(error)}`, codeOf(error))
      return true
    },
    join(one) {
      for (const body of waiting.splice(0)) one(body)
      runs.add(one)
      return () => void runs.delete(one)
    },
  }
}

/** The plugin whose file is nearest to the top of the error's stack. */
function findCulprit(error: unknown, entries: readonly PluginEntry[]): PluginEntry | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : ""
  const places = entries.flatMap((entry) =>
    [entry.from, entry.loadedFrom].flatMap((file) => {
      if (file === undefined || !file.includes("/") || entry.tier === "shipped") return []
      const found = [stack.indexOf(file), stack.indexOf(pathToFileURL(file).href)].filter((at) => at >= 0)
      return found.map((at) => ({ entry, at }))
    }),
  )
  return places.sort((a, b) => a.at - b.at)[0]?.entry
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

function codeOf(error: unknown): string | undefined {
  return isSousError(error) ? error.code : undefined
}
