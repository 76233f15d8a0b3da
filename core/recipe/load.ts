/**
 * The file of a recipe or a plugin → what it exports, with the running toolkit behind its imports.
 *
 * Invariant: `import "sous"` in a loaded file is the instance that runs, wherever the file lies; nothing is written into
 * the folder it lies in.
 */
import { constants } from "node:fs"
import { open, readdir } from "node:fs/promises"
import { basename, dirname, extname, join } from "node:path"
import { nearestName, SousError } from "../error.ts"
import type { Recipe } from "../step.ts"
import { checkHead } from "./head.ts"
import { importModule, type VirtualModules } from "./module.ts"

export type { VirtualModules }

export interface LoadOptions {
  /** What a loaded file may import by these names: `sous`, `sous/testing`, `zod`. */
  modules: VirtualModules
  /** A folder (absolute) for compiled files, made when it is missing. Left out: nothing is kept. */
  cache?: string
}

const MODULE_ENDINGS = [".ts", ".mts", ".js", ".mjs"]
const YAML_ENDINGS = [".yaml", ".yml"]

/** Loads a recipe from its file (absolute). Throws a SousError for each way in which a file is not one. */
export async function loadRecipe(file: string, options: LoadOptions): Promise<Recipe> {
  const ending = extname(file)
  const isYaml = YAML_ENDINGS.includes(ending)
  if (!isYaml && !MODULE_ENDINGS.includes(ending)) {
    await readSource(file)
    throw new SousError("RECIPE_ENDING_UNKNOWN", { file })
  }
  const source = await readSource(file)
  const loaded = isYaml
    ? await (await import("./yaml.ts")).parseRecipe(source, { file })
    : checkRecipe(await importModule(file, { ...options, source }), file)
  if (loaded.steps.length === 0) throw new SousError("RECIPE_EMPTY", { recipe: loaded.name })
  return { ...loaded, file }
}

/**
 * Loads the module in a file (absolute): what it exports, by name. Throws MODULE_FILE_UNREADABLE, MODULE_SYNTAX_INVALID,
 * MODULE_IMPORT_MISSING, MODULE_THREW, or the SousError that it threw itself.
 */
export async function loadModule(file: string, options: LoadOptions): Promise<Record<string, unknown>> {
  const source = await readText(file).catch((cause) => {
    throw new SousError("MODULE_FILE_UNREADABLE", { file, reason: cause.code ?? cause.message }, { cause })
  })
  return await importModule(file, { ...options, source })
}

/** Opening a pipe would wait for its writer, and a device may never end. */
async function readText(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await handle.stat()
    if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is a pipe or a device, not a file")
    return await handle.readFile("utf8")
  } finally {
    await handle.close()
  }
}

async function readSource(file: string): Promise<string> {
  try {
    return await readText(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== "ENOENT")
      throw new SousError("MODULE_FILE_UNREADABLE", { file, reason: code ?? (cause as Error).message }, { cause })
    const near = nearestName(basename(file), await recipesBeside(file))
    throw new SousError("RECIPE_FILE_MISSING", { file, near: near && join(dirname(file), near) })
  }
}

async function recipesBeside(file: string): Promise<string[]> {
  const names = await readdir(dirname(file)).catch(() => [])
  return names.filter((name) => [...MODULE_ENDINGS, ...YAML_ENDINGS].includes(extname(name)))
}

/** A recipe is known by its shape: the file may have its own copy of the library. */
function checkRecipe(exports: Record<string, unknown>, file: string): Recipe {
  const found = exports.default as Recipe | null | undefined
  if (found?.kind !== "recipe" || !Array.isArray(found.steps)) {
    throw new SousError("RECIPE_EXPORT_INVALID", { file, found: describeExports(exports) })
  }
  const { kind: _, steps: __, result: ___, ...head } = found
  checkHead(head)
  return found
}

function describeExports(exports: Record<string, unknown>): string {
  const others = Object.keys(exports).filter((name) => name !== "default" && name !== "__esModule")
  const beside = others.length === 0 ? "" : `; it exports ${others.map((name) => `"${name}"`).join(", ")}`
  if (!("default" in exports) || exports.default === undefined) return `missing${beside}`
  const value = exports.default
  if (value === null) return `null${beside}`
  if (typeof value !== "object") return `a ${typeof value}${beside}`
  const isPlugin = "name" in value && ("tools" in value || "hooks" in value || "setup" in value)
  return `${isPlugin ? "a plugin" : Array.isArray(value) ? "a list" : "an object, not a recipe"}${beside}`
}
