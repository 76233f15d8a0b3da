/**
 * Pages that were fetched in this run, for fifteen minutes.
 *
 * Invariant: bounded in number and bytes, the oldest go first; it lives in memory and ends with its run.
 */
import type { ToolContext } from "sous"

/** How long a page is kept, ms; as long as in Claude Code. */
const KEPT_MS = 15 * 60 * 1000
const MOST_BYTES = 20_000_000

/** Pages by their address. */
export interface WebCache<Page> {
  get(address: string): Page | undefined
  set(address: string, page: Page): void
}

/** Makes an empty cache. `now`: ms; `sizeOf`: bytes. */
export function createWebCache<Page>(options: { now(): number; sizeOf(page: Page): number }): WebCache<Page> {
  const { now, sizeOf } = options
  const kept = new Map<string, { page: Page; until: number; bytes: number }>()
  let total = 0
  const drop = (address: string) => {
    total -= kept.get(address)?.bytes ?? 0
    kept.delete(address)
  }
  return {
    get: (address) => {
      const found = kept.get(address)
      if (found !== undefined && found.until > now()) return found.page
      drop(address)
      return undefined
    },
    set: (address, page) => {
      drop(address)
      const bytes = sizeOf(page)
      if (bytes > MOST_BYTES) return
      kept.set(address, { page, until: now() + KEPT_MS, bytes })
      total += bytes
      for (const oldest of kept.keys()) {
        if (total <= MOST_BYTES) break
        drop(oldest)
      }
    },
  }
}

const caches = new Map<string, unknown>()

/** The cache of a run: all of its agents share it, and each call is judged for itself before it is asked. */
export function cacheOf<Page>(context: ToolContext, create: () => WebCache<Page>): WebCache<Page> {
  const { runFolder } = context
  if (!caches.has(runFolder)) {
    caches.set(runFolder, create())
    context.defer(() => void caches.delete(runFolder))
  }
  return caches.get(runFolder) as WebCache<Page>
}
