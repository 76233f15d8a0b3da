/**
 * The permission modes, from the strictest to the loosest.
 *
 * Invariant: of two modes the stricter one is taken; nothing that a file declares makes a run looser.
 */
import type { PermissionMode } from "../tool.ts"
import type { Behavior, PermissionFacts } from "./decision.ts"

/** Strictest first. */
export const PERMISSION_MODES = [
  "plan",
  "dontAsk",
  "default",
  "acceptEdits",
  "auto",
  "bypassPermissions",
] as const satisfies readonly PermissionMode[]

/** The stricter of a mode and the one asked for, if any. */
export function stricterMode(mode: PermissionMode, asked: PermissionMode | undefined): PermissionMode {
  if (asked === undefined) return mode
  return PERMISSION_MODES.indexOf(asked) < PERMISSION_MODES.indexOf(mode) ? asked : mode
}

/** What several modes, one below the other, come to. */
export interface CombinedMode {
  /** The strictest of them. */
  mode: PermissionMode
  /** One of them asks nobody: what would be a question is a denial, whatever mode decides. */
  asksNobody: boolean
  /** One of them hands commands to the safety classifier: what would spare it, such as `Bash(*)`, does not count. */
  belowAuto: boolean
}

/**
 * Adds up the run's mode and those that files ask for below it. The order alone would lose something: plan mode is
 * stricter than `dontAsk` and still asks, `default` is stricter than `auto` and still lets `Bash(*)` pass.
 */
export function combineModes(modes: readonly [PermissionMode, ...PermissionMode[]]): CombinedMode {
  return {
    mode: modes.reduce((mode, asked) => stricterMode(mode, asked)),
    asksNobody: modes.includes("dontAsk"),
    belowAuto: modes.includes("auto"),
  }
}

/** What is decided about a plan that is handed in: it is for a person to approve. */
export function planExit({ mode, canAsk }: PermissionFacts): { behavior: Behavior; reason: string } {
  if (mode !== "plan")
    return { behavior: "deny", reason: "There is no plan mode to leave: go on with the work as the mode allows" }
  if (canAsk) return { behavior: "ask", reason: "The plan is ready. Once it is approved, plan mode ends" }
  return { behavior: "deny", reason: "A plan needs a person's approval, and nobody can answer here" }
}
