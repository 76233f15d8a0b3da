/**
 * Who may import whom, as data: the picture of the architecture that a test holds the code to.
 *
 * Invariant: a room lists every other room it may look into, types included; the order is from the ground up, and no
 * room names one that stands above it.
 */

/** One room: the files (or folders and prefixes, ending in `/` or `-`) that belong to it, and the rooms it may look into. */
export interface Room {
  name: string
  holds: readonly string[]
  may: readonly string[]
}

const ground = ["words", "contracts"]
const rules = [...ground, "command files", "registry", "permission", "session", "spend", "hooks"]
const acts = [...rules, "hands", "calls", "tool input", "engine", "context"]

/** The rooms of the kernel, from the ground up. The longest entry that fits a file decides where it belongs. */
export const rooms: readonly Room[] = [
  { name: "words", holds: ["core/error.ts", "core/error-table.ts", "core/name.ts", "core/message.ts"], may: [] },
  {
    name: "contracts",
    holds: [
      "core/tool.ts",
      "core/model.ts",
      "core/hook.ts",
      "core/hook-source.ts",
      "core/plugin.ts",
      "core/safety.ts",
      "core/step.ts",
      "core/event.ts",
      "core/permission/decision.ts",
    ],
    may: ["words"],
  },
  {
    name: "hands",
    holds: [
      "core/env.ts",
      "core/process.ts",
      "core/process-channel.ts",
      "core/process-group.ts",
      "core/clock.ts",
      "core/channel.ts",
      "core/patience.ts",
      "core/notes.ts",
    ],
    may: ground,
  },
  { name: "repositories", holds: ["core/git/"], may: [] },
  { name: "calls", holds: ["core/call.ts", "core/stream.ts", "core/context/budget.ts"], may: ground },
  { name: "command files", holds: ["core/hook-launch.ts"], may: ground },
  { name: "tool input", holds: ["core/tool-input.ts"], may: [...ground, "calls"] },
  { name: "registry", holds: ["core/registry.ts", "core/registry-"], may: ground },
  { name: "permission", holds: ["core/permission/"], may: ground },
  { name: "session", holds: ["core/session/"], may: [...ground, "hands"] },
  {
    name: "settings",
    holds: ["core/settings/"],
    may: [...ground, "command files", "registry", "permission", "session"],
  },
  {
    name: "packs",
    holds: ["core/pack/"],
    may: [...ground, "hands", "calls", "tool input", "registry", "permission", "session", "settings"],
  },
  { name: "spend", holds: ["core/recipe/spend.ts", "core/recipe/spend-limit.ts"], may: [...ground, "hands"] },
  { name: "hooks", holds: ["core/hook-"], may: [...ground, "hands", "calls", "command files", "registry"] },
  { name: "engine", holds: ["core/engine.ts", "core/scope.ts", "core/slot.ts"], may: [...rules, "hands"] },
  { name: "context", holds: ["core/context/"], may: [...rules, "hands", "calls", "tool input", "engine"] },
  {
    name: "dispatch",
    holds: [
      "core/dispatch.ts",
      "core/keep-files.ts",
      "core/permit.ts",
      "core/permit-guard.ts",
      "core/plan-mode.ts",
      "core/plan-offer.ts",
      "core/safety-check.ts",
      "core/settle.ts",
      "core/ask-model.ts",
      "core/batch.ts",
      "core/output.ts",
    ],
    may: acts,
  },
  {
    name: "loop",
    holds: [
      "core/loop.ts",
      "core/loop-",
      "core/compact.ts",
      "core/compact-",
      "core/turn.ts",
      "core/recover.ts",
      "core/stop.ts",
    ],
    may: [...acts, "dispatch"],
  },
  { name: "agent", holds: ["core/agent.ts", "core/agent-", "core/subagent.ts"], may: [...acts, "dispatch", "loop"] },
  { name: "recipe", holds: ["core/recipe/"], may: [...acts, "dispatch", "loop", "agent"] },
  // What runs in the process of an isolated plugin; nothing of the others imports it.
  {
    name: "isolated",
    holds: ["core/isolated/"],
    may: [...ground, "hands", "calls", "tool input", "registry", "packs", "recipe"],
  },
  {
    name: "kit",
    holds: [
      "core/kit.ts",
      "core/start.ts",
      "core/register.ts",
      "core/register-",
      "core/generation.ts",
      "core/reload.ts",
      "core/notice.ts",
      "core/guard-memory.ts",
      "core/run-",
    ],
    may: [...acts, "repositories", "settings", "loop", "agent", "recipe"],
  },
  {
    name: "surface",
    holds: ["core/index.ts"],
    may: [...acts, "settings", "dispatch", "loop", "agent", "recipe", "kit"],
  },
  {
    name: "command line",
    holds: ["core/cli/"],
    may: [...acts, "settings", "packs", "recipe", "kit"],
  },
]

/** Files of plugins/ that may list other plugins, or look at more of the kernel than its surface. */
export const pluginDoors: readonly string[] = ["plugins/default.ts", "plugins/testing/"]

/** What cli.ts may import of the repository: the kernel, the list of plugins, what draws on a terminal, and what it hands to loaded files as "sous/testing". */
export const commandMay: readonly string[] = [
  "core/",
  "plugins/default.ts",
  "plugins/render/",
  "plugins/testing/index.ts",
]

/** Globals and modules that only these places may touch; `find` runs over code without comments and strings. */
export const reserved: readonly { what: string; find: RegExp; places: readonly string[] }[] = [
  { what: "process.argv", find: /\bprocess\s*\.\s*argv\b/g, places: ["cli.ts", "plugins/render/"] },
  {
    what: "process.exit",
    find: /\bprocess\s*\.\s*exit(?:Code)?\b/g,
    places: ["cli.ts", "plugins/render/", "core/isolated/"],
  },
  { what: "console", find: /(?<![\w.])console\s*\./g, places: ["cli.ts", "plugins/render/"] },
  { what: "process.stdout", find: /\bprocess\s*\.\s*std(?:out|err|in)\b/g, places: ["cli.ts", "plugins/render/"] },
  { what: "process.env", find: /\bprocess\s*\.\s*env\b/g, places: ["cli.ts", "plugins/testing/", "core/isolated/"] },
  { what: "process.cwd", find: /\bprocess\s*\.\s*cwd\b/g, places: ["cli.ts", "plugins/testing/"] },
]

/** Packages and Node modules that only these places may import. */
export const reservedPackages: readonly { what: RegExp; places: readonly string[] }[] = [
  { what: /^(?:node:)?child_process$/, places: ["core/process.ts", "core/process-channel.ts"] },
]
