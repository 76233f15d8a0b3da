/**
 * The code of one file as jiti compiled it → its exports, without loading jiti at all.
 *
 * Invariant: the code is wrapped exactly as jiti wraps it, so that both ways do the same.
 */
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { runInThisContext } from "node:vm"

/** Runs code that imports only these modules and Node's own. */
export async function runSingle(
  file: string,
  code: string,
  modules: ReadonlyMap<string, object>,
): Promise<Record<string, unknown>> {
  const names = "exports, require, module, __filename, __dirname, jitiImport"
  const wrapped = runInThisContext(`(async function (${names}) { ${code}\n})`, { filename: file })
  const module = { exports: {} as Record<string, unknown> }
  const importByName = async (name: string) => asModule(modules.get(name) ?? (await import(name)))
  await wrapped(module.exports, createRequire(file), module, file, dirname(file), importByName)
  return module.exports
}

/**
 * A module that is there already, as compiled code expects one: marked, so that its default export is the one that it
 * names.
 */
export function asModule(namespace: object): object {
  const exports = { ...namespace, default: "default" in namespace ? namespace.default : namespace }
  return Object.defineProperty(exports, "__esModule", { value: true })
}
