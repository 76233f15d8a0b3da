/**
 * A CommonJS file and what it requires, with the modules of the toolkit behind their names.
 *
 * Invariant: files of its own run once in each load; packages are Node's, and what Node cannot require is jiti's.
 */
import { readFileSync } from "node:fs"
import { createRequire, isBuiltin } from "node:module"
import { dirname } from "node:path"
import { compileFunction, constants } from "node:vm"
import { EXPORT_ASSIGNMENT, isCommonJs } from "./module-kind.ts"

import { stripTypes } from "./module-native.ts"
import { asModule } from "./module-single.ts"

const PARAMETERS = ["exports", "require", "module", "__filename", "__dirname"]

/** Plain JavaScript of a CommonJS file; undefined for syntax that is more than types. */
export function plainCommonJs(file: string, source: string): string | undefined {
  const text = source.replace(/^\uFEFF?(?:#!.*)?/, "")
  if (!file.endsWith("ts")) return text
  return EXPORT_ASSIGNMENT.test(text) ? undefined : stripTypes(text)
}

/** False for code that does not compile as it is. */
export function checkSyntax(file: string, code: string): boolean {
  try {
    compileFunction(code, PARAMETERS, { filename: file })
    return true
  } catch {
    return false
  }
}

/** Runs its code; gives what it exports by name, and all of it as the default. */
export function runCommonJs(file: string, code: string, modules: ReadonlyMap<string, object>): Record<string, unknown> {
  const load = { modules, loaded: new Map<string, { exports: unknown }>() }
  const exported = execute(file, code, load)
  const isObject = typeof exported === "object" && exported !== null
  if (!isObject) return { default: exported }
  const fields = exported as Record<string, unknown>
  if (fields["__esModule"]) return { ...fields }
  // A file that sets nothing exports nothing.
  return Object.keys(fields).length === 0 ? {} : { ...fields, default: fields }
}

interface Load {
  modules: ReadonlyMap<string, object>
  loaded: Map<string, { exports: unknown }>
}

function execute(file: string, code: string, load: Load): unknown {
  const module = { exports: {} as unknown, id: file, filename: file }
  load.loaded.set(file, module)
  const run = compileFunction(code, PARAMETERS, {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  run.call(module.exports, module.exports, createOwnRequire(file, load), module, file, dirname(file))
  return module.exports
}

function createOwnRequire(file: string, load: Load): NodeJS.Require {
  const native = createRequire(file)
  const own = (name: string): unknown => {
    const virtual = load.modules.get(name)
    if (virtual) return asModule(virtual)
    if (isBuiltin(name)) return native(name)
    if (!/^\.{0,2}\//.test(name)) return native(name)
    const found = native.resolve(name)
    const before = load.loaded.get(found)
    if (before) return before.exports
    const code = /\.[cm]?[jt]s$/.test(found) ? readCommonJs(found) : undefined
    return code === undefined ? native(found) : execute(found, code, load)
  }
  return Object.assign(own, native)
}

function readCommonJs(file: string): string | undefined {
  const source = readFileSync(file, "utf8")
  return isCommonJs(file, source) ? plainCommonJs(file, source) : undefined
}
