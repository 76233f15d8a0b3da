/**
 * The name of a command → its work.
 *
 * Invariant: a command's file is loaded when it was asked for, and not before.
 */
import type { CommandName } from "./command.ts"
import type { CommandFunction } from "./host.ts"

/** Loads the work of a command. */
export const COMMAND_WORK: Record<CommandName, () => Promise<CommandFunction>> = {
  prompt: async () => (await import("./run.ts")).prompt,
  run: async () => (await import("./run.ts")).run,
  check: async () => (await import("./check.ts")).check,
  test: async () => (await import("./test.ts")).test,
  explain: async () => (await import("./explain.ts")).explain,
  context: async () => (await import("./context.ts")).context,
  compact: async () => (await import("./compact.ts")).compact,
  rewind: async () => (await import("./rewind.ts")).rewind,
  sessions: async () => (await import("./sessions.ts")).sessions,
  permissions: async () => (await import("./permissions.ts")).permissions,
  hooks: async () => (await import("./hooks.ts")).hooks,
  config: async () => (await import("./config.ts")).config,
  plugins: async () => (await import("./plugins.ts")).plugins,
  init: async () => (await import("./init.ts")).init,
  add: async () => (await import("./add.ts")).add,
  remove: async () => (await import("./remove.ts")).remove,
  update: async () => (await import("./update.ts")).update,
  outdated: async () => (await import("./outdated.ts")).outdated,
  packs: async () => (await import("./packs.ts")).packs,
  trust: async () => (await import("./trust.ts")).trust,
  doctor: async () => (await import("./doctor.ts")).doctor,
  help: async () => async (line, host) => {
    host.print(line.help())
    return 0
  },
}
