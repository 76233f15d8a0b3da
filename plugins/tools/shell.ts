/**
 * What all shell commands share, in the foreground and in the background.
 *
 * Invariant: a command can tell that it runs inside of a run, so that sous does not let an agent approve itself.
 */
import type { ToolContext } from "sous"

/** A command that prints more is ended, bytes. */
export const MAX_OUTPUT_BYTES = 2 ** 30

/** The environment of a command: the agent's, and the session that it belongs to. */
export function shellEnvironment(context: ToolContext, more: Record<string, string> = {}): Record<string, string> {
  return { ...context.env, SOUS_SESSION_ID: context.sessionId, ...more }
}
