import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type FindRecipeOptions, findRecipe, rulesToGrant, unknownRecipe } from "../../../core/settings/recipe-file.ts"

let folder: string
let options: FindRecipeOptions

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-recipes-")))
  options = {
    cwd: folder,
    shipped: join(folder, "shipped"),
    folders: {
      managed: "/none",
      user: join(folder, "user"),
      project: join(folder, "project"),
      claude: { managed: "/none" },
    },
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, "")
  return file
}

test.each(["./green", "sub/green", "green.ts", "green.yaml", "green.mjs"])(
  "findRecipe() takes %s as a path",
  (word) => {
    expect(findRecipe(word, options)).toEqual({ file: join(folder, word), from: "path" })
  },
)

test("findRecipe() finds a bare name in the user's folder and among the shipped ones", () => {
  const mine = put("user/recipes/mine.yaml")
  const green = put("shipped/green.ts")
  put("shipped/green.test.ts")
  put("shipped/green.permissions.yaml")
  expect(findRecipe("mine", options)).toEqual({ file: mine, from: "user" })
  expect(findRecipe("green", options)).toEqual({ file: green, from: "shipped" })
  expect(findRecipe("green.test", options)).toBeUndefined()
  expect(findRecipe("green.permissions", options)).toBeUndefined()
})

test("findRecipe() reaches a project's recipes only with trust, and the refusal says so", () => {
  const file = put("project/recipes/theirs.ts")
  expect(findRecipe("theirs", options)).toBeUndefined()
  expect(unknownRecipe("theirs", options, [])).toMatchObject({
    code: "RECIPE_UNKNOWN",
    mend: `run "sous trust", or give its path, ${file}, or --trust`,
  })
  expect(findRecipe("theirs", { ...options, trust: true })).toEqual({ file, from: "project" })
})

test("findRecipe() refuses a name that two files have", () => {
  const files = [put("user/recipes/green.yaml"), put("shipped/green.ts")]
  expect(() => findRecipe("green", options)).toThrow(
    expect.objectContaining({ code: "RECIPE_NAME_AMBIGUOUS", details: { name: "green", files } }),
  )
})

test("unknownRecipe() names the nearest of files and plugins", () => {
  put("shipped/review.ts")
  expect(unknownRecipe("reveiw", options, []).mend).toBe('write "review"')
  expect(unknownRecipe("deplyo", options, ["deploy"]).mend).toBe('write "deploy"')
})

test("rulesToGrant() asks for recipes that were named by their path, shipped, or brought by a plugin", () => {
  const recipe = { permissions: { allow: ["Bash(ls)"], deny: ["Read"] } }
  const asks = (["path", "user", "project", "shipped", "plugin"] as const).filter(
    (from) => rulesToGrant(recipe, from, {}).length > 0,
  )
  expect(asks).toEqual(["path", "shipped", "plugin"])
  expect(rulesToGrant(recipe, "path", { grant: true })).toEqual([])
  expect(rulesToGrant(recipe, "path", { allowAll: true })).toEqual([])
})
