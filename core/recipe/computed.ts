/**
 * Which parameters of a running recipe were made from results (a model's text, a file) by the recipe that uses it.
 *
 * Invariant: such a text is never taken for a command that a person wrote.
 */
const marks = new WeakMap<object, ReadonlySet<string>>()

/** Marks parameters of a recipe that is about to run. */
export function markComputed(params: object, names: readonly string[]): void {
  if (names.length > 0) marks.set(params, new Set(names))
}

/** True for a parameter that was marked. */
export function isComputed(params: object, name: string): boolean {
  return marks.get(params)?.has(name) ?? false
}
