/**
 * The settings and what a start asks for → the permission mode of the run, and what is said about it.
 *
 * Invariant: no file makes a run ask nobody: `bypassPermissions` needs a flag or the program that starts the run, `auto`
 * one of these or settings of the person's own.
 */
import { SousError } from "./error.ts"
import type { EffectiveSettings } from "./settings/merge.ts"
import type { PermissionMode } from "./tool.ts"

/** The mode that a run starts in. Throws CLI_BYPASS_REFUSED. */
export function startMode(
  settings: EffectiveSettings,
  asked: PermissionMode | undefined,
): { mode: PermissionMode; warnings: readonly string[] } {
  const mode = asked ?? settings.permissions.defaultMode
  const origin = asked === undefined ? settings.origins.get("permissions.defaultMode") : undefined
  if (mode === "bypassPermissions" && origin?.file !== undefined) {
    const mend = 'start it with --dangerously-skip-permissions, or pass mode: "bypassPermissions" to the run'
    throw new SousError("CLI_BYPASS_REFUSED", { why: `"${origin.file}" asks for it, and a file cannot`, mend })
  }
  if (mode !== "auto" || (origin?.scope !== "project" && origin?.scope !== "local")) return { mode, warnings: [] }
  const place = origin.file ?? `${origin.scope} settings`
  const warning = `The mode auto of "${place}" is left out: a flag or your own settings can choose it, a project cannot`
  return { mode: "default", warnings: [warning] }
}
