/**
 * Compiled by jiti: one file, so that its code can be kept and run without it (module-single.ts), or a whole graph.
 *
 * Invariant: what cannot be run by itself is found out before any of it ran.
 */
import { isBuiltin } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { SousError } from "../error.ts"

/** The code of a file as jiti compiles it. Throws MODULE_SYNTAX_INVALID. */
export async function transform(file: string, source: string): Promise<string> {
  const { createJiti } = await import("jiti")
  const jiti = createJiti(file, { fsCache: false })
  const code = jiti.transform({ source, filename: file, ts: /\.[cm]?ts$/.test(file), async: true, retainLines: true })
  const failed = /^exports\.__JITI_ERROR__ = (\{.*\})/s.exec(code)?.[1]
  if (failed === undefined) return code
  const { message, line, column } = JSON.parse(failed) as { message: string; line: number; column: number }
  const problem = message.replace(`${file}: `, "").replace(/[\s,.]+$/, "")
  throw new SousError("MODULE_SYNTAX_INVALID", { file, problem, line, column: column + 1 })
}

/** True for compiled code that imports nothing but the given modules and Node's own. */
export function isSingle(code: string, modules: ReadonlyMap<string, object>): boolean {
  const imports = [...code.matchAll(/\bjitiImport\(\s*"([^"]+)"\s*\)/g)].map(([, name]) => name!)
  const mentions = code.match(/\bjiti(?:Import|ESMResolve)\b/g)?.length ?? 0
  return mentions === imports.length && imports.every((name) => modules.has(name) || isBuiltin(name))
}

/** Runs a file and what it imports, compiled by jiti; compiled files are kept in `cache`. */
export async function importWithJiti(
  file: string,
  options: { modules: ReadonlyMap<string, object>; cache: string | undefined },
): Promise<Record<string, unknown>> {
  const { createJiti } = await import("jiti")
  const jiti = createJiti(pathToFileURL(file).href, {
    fsCache: options.cache === undefined ? false : join(options.cache, "jiti"),
    moduleCache: false,
    virtualModules: Object.fromEntries(options.modules),
  })
  const exports = await jiti.import<Record<string, unknown>>(file)
  // What jiti returns is a proxy that finds a default export where there is none.
  return Object.fromEntries(Object.keys(exports).map((name) => [name, exports[name]]))
}
