/**
 * Notes in memory: for who has no conversation that keeps them.
 *
 * Invariant: a set that is asked for twice is the same set; a value that is set again is the newest.
 */
import type { Notebook, Notes } from "./tool.ts"

/** Makes an empty notebook, which lives as long as whoever holds it. */
export function createNotebook(): Notebook {
  const sets = new Map<string, Map<string, unknown>>()
  return <T>(name: string): Notes<T> => {
    const notes = (sets.get(name) ?? new Map()) as Map<string, T>
    sets.set(name, notes)
    return {
      get: (key) => notes.get(key),
      set(key, value) {
        notes.delete(key)
        notes.set(key, value)
      },
      delete: (key) => void notes.delete(key),
      entries: () => [...notes],
    }
  }
}
