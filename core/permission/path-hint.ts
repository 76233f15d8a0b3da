/**
 * The parameters of a tool that declares no files → the texts among them that look like a path.
 *
 * Invariant: for guards alone, so that one too many costs nothing unless a rule names it; the walk is bounded.
 */
import { fileURLToPath } from "node:url"

/** Texts of one input that are looked at, and the depth of the objects and lists that hold them. */
const MAX_TEXTS = 10_000
const MAX_DEPTH = 20
/** Characters of a path that any system takes. */
const MAX_CHARS = 8192
/** What a parameter is called that holds a path, whatever its text looks like. */
const PATH_NAME =
  /path|file|folder|dir(?:ector(?:y|ies))?s?(?![a-z])|^(?:source|src|destination|dest|target|location|from|to|uri|root|cwd)s?$/i
/** A path by its looks: it begins like one, or is one word with a slash in it or a dot in front. */
const PATH_TEXT =
  /^(?:\/|~\/|\.{1,2}\/|[A-Za-z]:[\\/]|\\\\)|^\S*[\\/]\S*$|^\.[^\s.]\S*$|^[^\s/]+\.[A-Za-z][A-Za-z0-9]{0,9}$/
const ADDRESS = /^\s*[a-z][a-z0-9+.-]+:\/\//i

/** The texts that may be paths, each once; `file:` addresses as the path that they stand for. */
export function hintedPaths(input: unknown): string[] {
  const found = new Set<string>()
  let left = MAX_TEXTS
  const walk = (value: unknown, name: string, depth: number): void => {
    if (left <= 0 || depth > MAX_DEPTH) return
    if (typeof value === "string") {
      left--
      const path = pathIn(value, name)
      if (path !== undefined) found.add(path)
    } else if (Array.isArray(value)) {
      for (const one of value.slice(0, MAX_TEXTS)) walk(one, name, depth + 1)
    } else if (typeof value === "object" && value !== null) {
      for (const [key, one] of Object.entries(value).slice(0, MAX_TEXTS)) walk(one, key, depth + 1)
    }
  }
  walk(input, "", 0)
  return [...found]
}

function pathIn(text: string, name: string): string | undefined {
  if (text === "" || text.length > MAX_CHARS) return undefined
  if (/^\s*file:/i.test(text)) return pathOfUrl(text)
  if (ADDRESS.test(text)) return undefined
  return PATH_NAME.test(name) || PATH_TEXT.test(text) ? text : undefined
}

function pathOfUrl(text: string): string | undefined {
  try {
    return fileURLToPath(text.trim())
  } catch {
    return text.trim().replace(/^file:\/*/i, "/")
  }
}
