/**
 * The rules of one run: those of the settings, of the command line, of the plugins, and what the recipe may add.
 *
 * Invariant: a recipe's deny and ask rules always apply; what it asks to be allowed applies only when it was granted.
 * Where only the organisation's rules count, nothing else allows.
 */
import type { KitParts, RunOptions } from "./kit.ts"
import type { Behavior, RuleSource } from "./permission/decision.ts"
import { followNow } from "./permission/disk.ts"
import type { FlagGrants } from "./permission/flag.ts"
import { compileRules, type RuleSet } from "./permission/rule.ts"
import type { RunPlaces } from "./run-place.ts"
import type { Recipe } from "./step.ts"

/** All rules that a run starts with, as they were written; flags aside. */
export function listRunRules(
  { settings, registry }: Pick<KitParts, "settings" | "registry">,
  recipe: Pick<Recipe<any, any, any>, "name" | "file" | "permissions">,
  options: Pick<RunOptions, "rules" | "grant">,
): RuleSource[] {
  const more = [...(options.rules ?? []), ...registry.rules, ...recipeRules(recipe, options)]
  const rules = [...settings.permissions.rules, ...more]
  if (!settings.permissions.managedRulesOnly) return rules
  return rules.filter(({ behavior, scope }) => behavior !== "allow" || scope === "managed")
}

/** What counts of the flags. */
export function flagsThatCount(
  { permissions }: KitParts["settings"],
  flags: RunOptions["flags"],
): { flags?: FlagGrants; warnings: string[] } {
  if (flags === undefined || !permissions.managedRulesOnly) return { ...(flags ? { flags } : {}), warnings: [] }
  const { env: _, ...allow } = flags.allow ?? {}
  const warning = "What --allow-… flags and -A grant is ignored: allowManagedPermissionRulesOnly is set"
  return { flags: flags.deny ? { deny: flags.deny } : {}, warnings: Object.keys(allow).length === 0 ? [] : [warning] }
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
  const { flags, warnings } = flagsThatCount(kit.settings, options.flags)
  const compiled = compileRules(rules, {
    cwd: options.places.cwd,
    home: options.places.home,
    follow: followNow,
    knownTools: names,
    settingsRoots: rootsOf(options.places),
    ...(flags ? { flags } : {}),
  })
  return warnings.length === 0 ? compiled : { ...compiled, warnings: [...compiled.warnings, ...warnings] }
}

/** The rules of one run, whose settings may change. */
export interface RunRules {
  /** Compiles all of them, with these in the place of those that the settings had. Throws PERMISSION_RULE_INVALID. */
  compile(settings: readonly RuleSource[], options?: { managedRulesOnly?: boolean }): RuleSet
  /** What was compiled last, with the rules and tools of other plugins. Throws PERMISSION_RULE_INVALID. */
  recompile(registry: KitParts["registry"]): RuleSet
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
    recompile(registry) {
      const before = now
      now = { ...now, registry }
      try {
        return compileNow([])
      } catch (error) {
        now = before
        throw error
      }
    },
    compile(rules, { managedRulesOnly = false } = {}) {
      const { settings } = kit
      const permissions = { ...settings.permissions, rules: [...rules] }
      now = {
        ...kit,
        registry: now.registry,
        settings: { ...settings, permissions: managedRulesOnly ? { ...permissions, managedRulesOnly } : permissions },
      }
      return compileNow([])
    },
    compileWith: compileNow,
  }
}

/** What `/x` in a rule starts from, by scope: files of a project say it of the project, wherever in it somebody works. */
function rootsOf({ project }: RunPlaces) {
  return project === undefined ? {} : { project, local: project }
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
