/**
 * The word after `sous run` → the file of a recipe, and whether a person has trusted what it asks for.
 *
 * Invariant: a bare name never reaches into a project that nobody trusts, and never stands for two files.
 */
import { readdirSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { SousError, suggest } from "../error.ts"
import type { Recipe } from "../step.ts"
import type { ScopeFolders } from "./scopes.ts"

/** Recipe files end like this; their tests do not count. */
const RECIPE_ENDING = /(?<!\.test|\.d)\.([mc]?[jt]s|ya?ml)$/

/** Tables of decisions lie beside recipes, and are none. */
const TABLE_ENDING = /\.permissions\.ya?ml$/

/** Where a recipe was found; `path`: it was named by its path. */
export type RecipeOrigin = "path" | "user" | "project" | "shipped" | "plugin" | "pack"

/** A recipe's file. */
export interface RecipeFile {
  /** Absolute. */
  file: string
  from: RecipeOrigin
}

export interface FindRecipeOptions {
  cwd: string
  folders: ScopeFolders
  /** The folder of the recipes that come with the toolkit. */
  shipped: string
  /** The project is trusted for this start. Default false. */
  trust?: boolean | undefined
}

/** True for a word that names a file: it has a slash, or a recipe's ending. */
export function isRecipePath(word: string): boolean {
  return /[\\/]/.test(word) || RECIPE_ENDING.test(word)
}

/**
 * Finds a recipe by path or bare name. Undefined: no file of a folder that may be looked into has that name. Throws
 * RECIPE_NAME_AMBIGUOUS.
 */
export function findRecipe(word: string, options: FindRecipeOptions): RecipeFile | undefined {
  if (isRecipePath(word)) return { file: resolve(options.cwd, word), from: "path" }
  const found = recipeFiles(options).filter(({ file }) => nameOf(file) === word)
  if (found.length > 1) {
    throw new SousError("RECIPE_NAME_AMBIGUOUS", { name: word, files: found.map(({ file }) => file) })
  }
  return found[0]
}

/** The fault of a name that no recipe has; `more` are names that plugins brought. */
export function unknownRecipe(name: string, options: FindRecipeOptions, more: readonly string[]): SousError {
  const untrusted = recipeFiles({ ...options, trust: true }).find(({ file }) => nameOf(file) === name)
  const known = [...recipeFiles(options).map(({ file }) => nameOf(file)), ...more]
  const mend = untrusted ? `run "sous trust", or give its path, ${untrusted.file}, or --trust` : suggest(name, known)
  return new SousError("RECIPE_UNKNOWN", { name, mend })
}

/**
 * The rules that a recipe asks for and that still need a yes. A flag grants them, and so does the trust in where it
 * lies; to name a file by its path is trust in its code only.
 */
export function rulesToGrant(
  recipe: Pick<Recipe, "permissions">,
  from: RecipeOrigin,
  flags: { grant?: boolean; allowAll?: boolean },
): readonly string[] {
  if (flags.grant || flags.allowAll || from === "user" || from === "project") return []
  return recipe.permissions?.allow ?? []
}

function recipeFiles({ folders, shipped, trust }: FindRecipeOptions): RecipeFile[] {
  return [
    ...(trust && folders.project ? recipesIn(join(folders.project, "recipes"), "project") : []),
    ...(folders.user ? recipesIn(join(folders.user, "recipes"), "user") : []),
    ...recipesIn(shipped, "shipped"),
  ]
}

/** The recipes that lie in a folder, by name. */
export function recipesIn(folder: string, from: RecipeFile["from"]): RecipeFile[] {
  try {
    const names = readdirSync(folder).filter((name) => RECIPE_ENDING.test(name) && !TABLE_ENDING.test(name))
    return names.sort().map((name) => ({ file: join(folder, name), from }))
  } catch {
    return []
  }
}

function nameOf(file: string): string {
  return basename(file).replace(RECIPE_ENDING, "")
}
