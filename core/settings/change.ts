/**
 * A change of one key, and the values of a file → the values that the file has to have afterwards.
 *
 * Invariant: pure; what the change does not name is the same before and after.
 */
import { isDeepStrictEqual } from "node:util"

/** What is to become of one key. */
export interface SettingsChange {
  /** set: the whole value; unset: the key goes; add and remove: one entry of a list. */
  how: "set" | "unset" | "add" | "remove"
  /** Name by name: `["permissions", "allow"]`, `["packs", "@team/guards"]`. */
  path: readonly string[]
  /** Left out for `unset`. */
  value?: unknown
}

/** What has to be done to the text: a value put in place, an entry put behind a list's last one, or a part taken out. */
export type TextEdit =
  | { how: "put"; path: readonly string[]; value: unknown }
  | { how: "append"; path: readonly string[]; value: unknown }
  | { how: "drop"; path: readonly (string | number)[] }

/** Says what to do to the text of a file with these values. Undefined: it is already as wanted. */
export function editFor(change: SettingsChange, values: unknown): TextEdit | undefined {
  const { how, path, value } = change
  const found = valueAt(values, path)
  if (how === "unset") return found === undefined ? undefined : { how: "drop", path }
  if (how === "set") return isDeepStrictEqual(found, value) ? undefined : { how: "put", path, value }
  const index = Array.isArray(found) ? found.findIndex((entry) => isDeepStrictEqual(entry, value)) : -1
  if (how === "remove") return index === -1 ? undefined : { how: "drop", path: [...path, index] }
  if (index !== -1) return undefined
  return Array.isArray(found) ? { how: "append", path, value } : { how: "put", path, value: [value] }
}

/** The values after an edit. */
export function afterEdit(values: unknown, edit: TextEdit): unknown {
  const [name, ...rest] = edit.path
  if (name === undefined) return edit.how === "append" ? [...(values as unknown[]), edit.value] : undefined
  if (rest.length > 0 || edit.how === "append") {
    const below = valueAt(values, [name])
    return withField(values, name, afterEdit(below, { ...edit, path: rest as string[] }))
  }
  if (edit.how === "put") return withField(values, name, edit.value)
  if (Array.isArray(values)) return values.filter((_, index) => index !== name)
  const { [name]: _, ...others } = values as Record<string | number, unknown>
  return others
}

/** What stands at a path of own keys. */
export function valueAt(values: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce((fields: unknown, name) => {
    if (Array.isArray(fields)) return fields[Number(name)] as unknown
    return isFields(fields) && Object.hasOwn(fields, name) ? fields[name] : undefined
  }, values)
}

function withField(values: unknown, name: string | number, value: unknown): unknown {
  if (Array.isArray(values)) return values.map((entry, index) => (index === name ? value : (entry as unknown)))
  return { ...(values as object | undefined), [name]: value }
}

function isFields(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null
}
