/**
 * A package, a subpath of one, or a folder → the file that `import` would get.
 *
 * Invariant: nothing of the package runs; what `exports` closes stays closed.
 * Source: https://nodejs.org/api/packages.html, https://nodejs.org/api/esm.html#resolution-algorithm-specification
 */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { INDEX, isFolder } from "./plugin-folder.ts"

interface Manifest {
  name?: unknown
  exports?: unknown
  imports?: unknown
  module?: unknown
  main?: unknown
}

/** Conditions that hold; `require` comes last, for packages that know no other. */
const CONDITIONS = ["node", "import", "module-sync", "default", "require"]
/** The file of `name`, `name/sub`, the own name of the package around `base`, or `#name` in it. Throws an Error. */
export function resolvePackage(specifier: string, base: string): string {
  if (specifier.startsWith("#")) return resolveImports(specifier, base)
  const [, name = "", sub] = /^((?:@[^/]+\/)?[^/]+)(?:\/(.+))?$/.exec(specifier) ?? []
  const around = packageAround(base)
  const isItself = around?.manifest.name === name && around.manifest.exports !== undefined
  const folder = isItself
    ? around.folder
    : foldersUpwards(base).find((one) => isFolder(join(one, "node_modules", name)))
  if (folder === undefined) throw new Error(`there is no package "${name}"`)
  const home = isItself ? folder : join(folder, "node_modules", name)
  if (sub === undefined) return entryOf(home)
  const { exports } = readManifest(home)
  if (exports === undefined) return existing(join(home, sub), name)
  const found = chooseSubpath(exports, `./${sub}`)
  if (found === undefined) throw new Error(`the package "${name}" does not export "./${sub}"`)
  return existing(join(home, found), name)
}

/** The file that stands for a folder: what its package.json names, or its index. Throws an Error. */
export function entryOf(folder: string): string {
  const { name = folder, exports, module, main } = readManifest(folder)
  if (exports !== undefined) {
    const found = chooseSubpath(exports, ".")
    if (found === undefined) throw new Error(`the package "${name}" exports nothing to import`)
    return existing(join(folder, found), String(name))
  }
  for (const named of [module, main]) {
    if (typeof named === "string") return existing(join(folder, named), String(name))
  }
  const index = INDEX.find((file) => existsSync(join(folder, file)))
  if (index === undefined) throw new Error(`the folder "${folder}" has no package.json that names a file, and no index`)
  return join(folder, index)
}

function resolveImports(specifier: string, base: string): string {
  const around = packageAround(base)
  const found = around && chooseFrom(around.manifest.imports, specifier)
  if (found === undefined) throw new Error(`no package.json above "${base}" has "${specifier}" among its imports`)
  return found.startsWith("./")
    ? existing(join(around!.folder, found), specifier)
    : resolvePackage(found, around!.folder)
}

/** The file behind a path of a package without `exports`, by the endings that `require` tries too. */
function existing(path: string, name: string): string {
  const files = [path, ...[".ts", ".mts", ".js", ".mjs", ".cjs", ".json"].map((ending) => path + ending)]
  const found = files.find((file) => existsSync(file) && !isFolder(file))
  if (found !== undefined) return found
  if (isFolder(path)) return entryOf(path)
  throw new Error(`the file "${path}" of "${name}" is missing`)
}

function packageAround(base: string): { folder: string; manifest: Manifest } | undefined {
  const folder = foldersUpwards(base).find((one) => existsSync(join(one, "package.json")))
  return folder === undefined ? undefined : { folder, manifest: readManifest(folder) }
}

function foldersUpwards(base: string): string[] {
  const above = dirname(base)
  return above === base ? [base] : [base, ...foldersUpwards(above)]
}

function readManifest(folder: string): Manifest {
  const file = join(folder, "package.json")
  if (!existsSync(file)) return {}
  const value = JSON.parse(readFileSync(file, "utf8")) as Manifest | null
  return typeof value === "object" && value !== null ? value : {}
}

function chooseSubpath(exports: unknown, path: string): string | undefined {
  const hasPaths = isFields(exports) && Object.keys(exports).some((key) => key.startsWith("."))
  if (!hasPaths) return path === "." ? choose(exports) : undefined
  return chooseFrom(exports, path)
}

/** The exact key, or else the longest pattern that fits. */
function chooseFrom(table: unknown, path: string): string | undefined {
  if (!isFields(table)) return undefined
  if (Object.hasOwn(table, path)) return choose(table[path])
  const patterns = Object.keys(table).filter((key) => key.includes("*"))
  for (const key of patterns.sort((a, b) => b.indexOf("*") - a.indexOf("*"))) {
    const [before = "", after = ""] = key.split("*")
    if (!path.startsWith(before) || !path.endsWith(after) || path.length < key.length) continue
    const middle = path.slice(before.length, path.length - after.length)
    return choose(table[key])?.replaceAll("*", middle)
  }
  return undefined
}

/** Conditions count in the order in which the package gives them; what only `require` gets is the last resort. */
function choose(target: unknown): string | undefined {
  if (typeof target === "string") return target
  if (Array.isArray(target)) return target.map(choose).find((one) => one !== undefined)
  if (!isFields(target)) return undefined
  const keys = Object.keys(target).filter((key) => CONDITIONS.includes(key))
  const ranked = [...keys.filter((key) => key !== "require"), ...keys.filter((key) => key === "require")]
  return ranked.map((key) => choose(target[key])).find((one) => one !== undefined)
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
