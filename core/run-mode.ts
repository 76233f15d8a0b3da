/**
 * The settings and what a start asks for → the permission mode of the run, and what is said about it.
 *
 * Invariant: no file makes a run ask nobody: `bypassPermissions` needs a flag or the program that starts the run, `auto`
 * one of these or settings of the person's own.
 */
import { SousError } from "./error.ts"
import { placeOf } from "./hook-source.ts"
import type { EffectiveSettings } from "./settings/merge.ts"
import type { PermissionMode } from "./tool.ts"

/** The mode that a run starts in. Throws CLI_BYPASS_REFUSED or PERMISSION_MODE_FORBIDDEN. */
export function startMode(
  settings: EffectiveSettings,
  asked: PermissionMode | undefined,
): { mode: PermissionMode; warnings: readonly string[] } {
  const { defaultMode, barredModes } = settings.permissions
  const mode = asked ?? defaultMode
  const origin = asked === undefined ? settings.origins.get("permissions.defaultMode") : undefined
  if (mode === "bypassPermissions" && origin?.file !== undefined) {
    const mend = 'start it with --dangerously-skip-permissions, or pass mode: "bypassPermissions" to the run'
    throw new SousError("CLI_BYPASS_REFUSED", { why: `"${origin.file}" asks for it, and a file cannot`, mend })
  }
  if (barredModes.includes(mode)) return barred(settings, mode, { isAsked: origin?.file === undefined })
  if (mode !== "auto" || (origin?.scope !== "project" && origin?.scope !== "local")) return { mode, warnings: [] }
  const place = origin.file ?? `${origin.scope} settings`
  const warning = `The mode auto of "${place}" is left out: a flag or your own settings can choose it, a project cannot`
  return { mode: "default", warnings: [warning] }
}

/** What a person asks for at this very start is refused; what a file says is left out. */
function barred(
  { origins }: EffectiveSettings,
  mode: PermissionMode,
  { isAsked }: { isAsked: boolean },
): ReturnType<typeof startMode> {
  const isBypass = mode === "bypassPermissions"
  const key = `permissions.disable${isBypass ? "BypassPermissions" : "Auto"}Mode`
  const origin = origins.get(key)
  const place = origin === undefined ? "the settings" : `"${placeOf(origin)}"`
  if (isBypass) {
    throw new SousError("CLI_BYPASS_REFUSED", { why: `${place} bars it`, mend: "start it in another mode" })
  }
  if (isAsked) throw new SousError("PERMISSION_MODE_FORBIDDEN", { mode, by: place })
  return { mode: "default", warnings: [`The mode ${mode} is left out: ${place} bars it`] }
}
