/**
 * An object whose fields may be undefined → the same without those.
 *
 * Invariant: what was not given is not there, rather than there and undefined.
 */

/** Drops the fields that are undefined. */
export function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
