/**
 * The permission modes, from the strictest to the loosest.
 *
 * Invariant: of two modes the stricter one is taken; nothing that a file declares makes a run looser.
 */
import type { PermissionMode } from "../tool.ts"

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
