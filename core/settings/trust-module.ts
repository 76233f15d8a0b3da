/**
 * The text of a module → what else its code reaches: files beside it, and packages.
 *
 * Invariant: nothing runs. What is seen may be more than what is loaded and never matters for safety: code is loaded from
 * a copy, and what is not in the copy cannot be loaded.
 */
import { isBuiltin } from "node:module"
import { posix } from "node:path"

/** What a module's text names. */
export interface ModuleReach {
  /** Paths as written, relative to the module: `./a.ts`, `../b`. */
  paths: string[]
  /** Names of packages, without what comes behind. */
  packages: string[]
}

/** Files that are read for what they import. */
export const MODULE_ENDING = /\.[mc]?[jt]sx?$/

/** What code of a project imports by these names is the running toolkit. */
const OWN_MODULES = ["sous", "zod"]

/** Any literal that starts like a relative path: imports of every kind, `require`, and `new URL("./x", import.meta.url)`. */
const PATHS = /["'`](\.{1,2}\/[^"'`\n]*)["'`]/g
const PACKAGES =
  /(?:\bfrom|\bimport|\brequire|\brequire\.resolve)\s*(?:\/\*[^*]*\*\/\s*)?\(?\s*(?:\/\*[^*]*\*\/\s*)?["'`]((?:@[\w.~-]+\/)?[\w~-][\w.~-]*)(?:\/[^"'`\n]*)?["'`]/g

/** Reads what a module imports off its text. */
export function reachOf(text: string): ModuleReach {
  const paths = [...text.matchAll(PATHS)].map(([, path]) => path!)
  const packages = [...text.matchAll(PACKAGES)].map(([, name]) => name!)
  return {
    paths: [...new Set(paths)],
    packages: [...new Set(packages)].filter((name) => !isBuiltin(name) && !OWN_MODULES.includes(name)),
  }
}

/** Every text that stands in a module; of one with parts that are filled in, the whole. */
export function literalsIn(text: string): string[] {
  const literals = [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
  return [...new Set(literals.map(([, double, single, template]) => (double ?? single ?? template)!))].filter(Boolean)
}

/** True for what can be the name of a package. */
export function isPackageName(text: string): boolean {
  return /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*$/.test(text)
}

const TRIED_ENDINGS = ["", ".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx", ".json", ".node"]

/** Every file that a path may stand for, relative to the root as `from` is; a loader takes the first that it knows. */
export function candidatesOf(path: string, from: string): string[] {
  const plain = posix.join(posix.dirname(from), path.replace(/[?#].*$/, ""))
  // TypeScript names the file that will be made of another.
  const stem = plain.replace(/\.([mc]?)js(x?)$/, ".$1ts$2")
  const files = TRIED_ENDINGS.map((ending) => plain + ending)
  const indexes = TRIED_ENDINGS.slice(1).map((ending) => `${plain}/index${ending}`)
  return [...files, ...(stem === plain ? [] : [stem]), ...indexes, `${plain}/package.json`].filter(isBelow)
}

function isBelow(path: string): boolean {
  return path !== ".." && !path.startsWith("../") && !path.startsWith("/")
}

/** Where a package may lie that a file (relative to the root) imports, nearest first. */
export function packageFoldersOf(name: string, from: string): string[] {
  const folders: string[] = []
  for (let folder = posix.dirname(from); ; folder = posix.dirname(folder)) {
    if (posix.basename(folder) !== "node_modules") folders.push(posix.join(folder, "node_modules", name))
    if (folder === ".") return folders
  }
}

/** The packages that a package.json (its text) asks for; none when it is broken. */
export function dependenciesOf(manifest: string): string[] {
  const fields = parseManifest(manifest)
  const lists = [fields.dependencies, fields.optionalDependencies, fields.peerDependencies]
  return lists.flatMap((list) => (typeof list === "object" && list !== null ? Object.keys(list) : []))
}

/** What a package.json says about how the files beside it are loaded: versions and scripts are not among it. */
export function loadingPartOf(manifest: string): string {
  const { name, type, imports, exports, main } = parseManifest(manifest)
  return JSON.stringify({ name, type, imports, exports, main })
}

/** The scripts of a package.json (its text) that the commands name, with those that go before and after them. */
export function runScriptsOf(manifest: string, commands: readonly string[]): [name: string, command: string][] {
  const words = new Set(commands.flatMap((command) => command.split(/[\s;|&()"']+/)))
  const { scripts } = parseManifest(manifest)
  if (typeof scripts !== "object" || scripts === null) return []
  const isNamed = (name: string) => words.has(name) || words.has(name.replace(/^(?:pre|post)/, ""))
  return Object.entries(scripts).filter(([name, text]) => isNamed(name) && typeof text === "string")
}

function parseManifest(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
