/**
 * The rules of one run: those of the settings, of the command line, of the plugins, and what the recipe may add.
 *
 * Invariant: a recipe's deny and ask rules always apply; what it asks to be allowed applies only when it was granted.
 */
import type { KitParts, RunOptions } from "./kit.ts"
import type { Behavior, RuleSource } from "./permission/decision.ts"
import { followNow } from "./permission/disk.ts"
import { compileRules, type RuleSet } from "./permission/rule.ts"
import type { RunPlaces } from "./run-place.ts"
import type { Recipe } from "./step.ts"

/** All rules that a run starts with, as they were written; flags aside. */
export function listRunRules(
  { settings, registry }: Pick<KitParts, "settings" | "registry">,
  recipe: Pick<Recipe<any, any, any>, "name" | "file" | "permissions">,
  options: Pick<RunOptions, "rules" | "grant">,
): RuleSource[] {
  return [...settings.permissions.rules, ...(options.rules ?? []), ...registry.rules, ...recipeRules(recipe, options)]
}

/** Compiles all rules that a run starts with. Throws PERMISSION_RULE_INVALID. */
export function compileRunRules(
  kit: KitParts,
  recipe: Parameters<typeof listRunRules>[1],
  options: RunOptions & { places: RunPlaces },
): RuleSet {
  const { registry } = kit
  const rules = listRunRules(kit, recipe, options)
  const names = [...registry.tools.values()].flatMap(({ name, ruleName }) => (ruleName ? [name, ruleName] : [name]))
  return compileRules(rules, {
    cwd: options.places.cwd,
    home: options.places.home,
    follow: followNow,
    knownTools: names,
    settingsRoots: options.places.project === undefined ? {} : { project: options.places.project },
    ...(options.flags ? { flags: options.flags } : {}),
  })
}

/** The rules of one run, whose settings may change. */
export interface RunRules {
  /** Compiles all of them, with these in the place of those that the settings had. Throws PERMISSION_RULE_INVALID. */
  compile(settings: readonly RuleSource[]): RuleSet
  /** What was compiled last, and more. Throws PERMISSION_RULE_INVALID. */
  compileWith(more: readonly RuleSource[]): RuleSet
}

/** Makes them. */
export function createRunRules(
  kit: KitParts,
  recipe: Parameters<typeof listRunRules>[1],
  options: Parameters<typeof compileRunRules>[2],
): RunRules {
  let now = kit
  const compileNow = (more: readonly RuleSource[]) =>
    compileRunRules(now, recipe, { ...options, rules: [...(options.rules ?? []), ...more] })
  return {
    compile(rules) {
      const { settings } = kit
      now = { ...kit, settings: { ...settings, permissions: { ...settings.permissions, rules: [...rules] } } }
      return compileNow([])
    },
    compileWith: compileNow,
  }
}

function recipeRules(recipe: Parameters<typeof listRunRules>[1], options: Pick<RunOptions, "grant">): RuleSource[] {
  const list = (behavior: Behavior) =>
    (recipe.permissions?.[behavior] ?? []).map(
      (text): RuleSource => ({
        text,
        behavior,
        scope: "recipe",
        by: recipe.name,
        ...(recipe.file ? { file: recipe.file } : {}),
      }),
    )
  return [...list("deny"), ...list("ask"), ...(options.grant ? list("allow") : [])]
}
