/**
 * The commands that set a place up: settings, trust, plugins, packs. A part of the table of commands.
 *
 * Invariant: data only; the order is that of the help.
 */
import type { CommandRow } from "./command-row.ts"

export const SETUP_COMMANDS = {} as const satisfies Record<string, CommandRow>
