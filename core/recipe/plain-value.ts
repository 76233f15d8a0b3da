/**
 * A step's value → the first place in it that a journal cannot keep, or its first characters as JSON.
 *
 * Invariant: what passes comes back from a journal as it went in; neither circles nor depth nor size make it slow.
 */

/** A place in a value, and what stands there. */
export interface Impure {
  /** `value.items[3]`. */
  at: string
  found: string
}

/** Deeper values are taken for endless ones. */
const MAX_DEPTH = 500

/** The first part that is no plain data: text, finite numbers, yes or no, null, lists and objects of these. */
export function findImpure(value: unknown): Impure | undefined {
  return value === undefined ? undefined : search(value, "value", new Set())
}

function search(value: unknown, at: string, above: Set<object>): Impure | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { at, found: String(value) }
  if (typeof value !== "object") return { at, found: value === undefined ? "undefined" : `a ${typeof value}` }
  if (above.has(value)) return { at, found: "a value that holds itself" }
  if (above.size > MAX_DEPTH) return { at: "value", found: `a value nested more than ${MAX_DEPTH} levels deep` }
  above.add(value)
  const found = Array.isArray(value) ? searchList(value, at, above) : searchObject(value, at, above)
  above.delete(value)
  return found
}

function searchList(list: readonly unknown[], at: string, above: Set<object>): Impure | undefined {
  for (let i = 0; i < list.length; i++) {
    const found = search(list[i], `${at}[${i}]`, above)
    if (found) return found
  }
  return undefined
}

function searchObject(value: object, at: string, above: Set<object>): Impure | undefined {
  const prototype = Object.getPrototypeOf(value)
  // An object of another realm is plain too: its prototype has none.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  if (!isPlain) return { at, found: `a ${value.constructor?.name ?? "value of a class"}` }
  for (const [key, field] of Object.entries(value)) {
    // A field that is undefined is as good as left out.
    const found = field === undefined ? undefined : search(field, `${at}.${key}`, above)
    if (found) return found
  }
  return undefined
}

/** JSON of the value, cut at `limit` characters; what lies behind them is not looked at. */
export function startOfJson(value: unknown, limit: number): string {
  let text = ""
  const write = (one: unknown, depth: number): void => {
    if (text.length > limit) return
    if (typeof one === "string") text += JSON.stringify(one.slice(0, limit))
    else if (typeof one !== "object" || one === null) text += typeof one === "bigint" ? `${one}` : JSON.stringify(one)
    else if (depth > MAX_DEPTH) text += "…"
    else if (Array.isArray(one)) writeAll("[]", one, (item) => write(item, depth + 1))
    else if ("toJSON" in one && typeof one.toJSON === "function") text += JSON.stringify(one) ?? ""
    else {
      writeAll("{}", Object.entries(one), ([key, field]) => {
        text += `${JSON.stringify(key)}:`
        write(field, depth + 1)
      })
    }
  }
  const writeAll = <T>(brackets: string, parts: readonly T[], each: (part: T) => void) => {
    text += brackets[0]
    for (const [i, part] of parts.entries()) {
      if (text.length > limit) return
      if (i > 0) text += ","
      each(part)
    }
    text += brackets[1]
  }
  write(value, 0)
  return text.slice(0, limit)
}
