/**
 * The mode without checks, as settings or flags ask for it → a refusal, unless a person asked for it where it may be.
 *
 * Invariant: no file can ask for it alone.
 */
import { SousError } from "../error.ts"
import type { PermissionMode } from "../tool.ts"
import type { FlagValues } from "./flag.ts"

/** Refuses the mode without checks where only a file asks for it, or where the user is root outside of a sandbox. */
export function checkBypass(
  mode: PermissionMode,
  values: FlagValues,
  user: { isRoot: boolean; isSandbox: boolean },
): void {
  if (mode !== "bypassPermissions") return
  if (!values.dangerouslySkipPermissions) {
    const mend = "give --dangerously-skip-permissions as well"
    throw new SousError("CLI_BYPASS_REFUSED", { why: "only a flag can ask for it", mend })
  }
  if (user.isRoot && !user.isSandbox) {
    const mend = "start it as another user, or in a sandbox with IS_SANDBOX=1"
    throw new SousError("CLI_BYPASS_REFUSED", { why: "this is the root user", mend })
  }
}
