/**
 * What a lock keeps of a pack → lines for a person who is to say yes or no.
 *
 * Invariant: nothing that can run or widen is left out, and none of it is cut short.
 */
import type { Capabilities } from "../plugin.ts"
import { recipeName } from "./content.ts"
import { openEnds } from "./isolate-grant.ts"
import type { LockEntry, LockedHook } from "./lock-shape.ts"

/** One line; `mark`: how much it gives away. */
export interface PackLine {
  /** alert: runs with the person's own rights, or without a question; guard: it only restricts. */
  mark: "alert" | "plain" | "guard" | "note"
  text: string
}

const CAPABILITIES = {
  tools: "adds the tool",
  exec: "runs the program",
  net: "talks to the host",
  env: "sees the environment variable",
  read: "reads files in",
  write: "writes files in",
} as const

const KINDS: Readonly<Record<string, string>> = {
  models: "brings the model provider",
  agents: "brings the agent",
  recipes: "brings the recipe",
  context: "adds to the first message of conversations:",
  compaction: "shortens conversations with",
}

/** Everything that a pack may do, in the order in which it matters. */
export function describeEntry(name: string, entry: LockEntry): PackLine[] {
  const { plugins = [], recipes = [], hooks = [], permissions = {}, adds = {}, capabilities, inProcess } = entry
  const code = recipes.filter((file) => !/\.ya?ml$/.test(file))
  return [
    ...all("alert", permissions.allow, (rule) => `allows without a question: ${rule}`),
    ...all("guard", permissions.ask, (rule) => `asks before: ${rule}`),
    ...all("guard", permissions.deny, (rule) => `refuses: ${rule}`),
    ...all("alert", hooks, (hook) => `on ${eventOf(hook)} starts${mannerOf(hook)}, with your rights: ${hook.does}`),
    ...hooks.flatMap(({ env, does }) =>
      all("alert", env, (variable) => `hands out the value of ${variable}, if it is set: ${does}`),
    ),
    ...all(
      "alert",
      hooks.filter(({ does }) => isUnpinned(does)),
      ({ does }) => `fetches code anew at each start, which no lock holds: ${does}`,
    ),
    ...all(inProcess ? "alert" : "plain", plugins, (file) => `the plugin ${file} ${inProcess ? IN_PROCESS : OUTSIDE}`),
    ...Object.entries(CAPABILITIES).flatMap(([kind, says]) =>
      all("plain", capabilities[kind as keyof typeof CAPABILITIES], (what) => `${says} ${what}`),
    ),
    ...all(
      capabilities.exec?.length ? "alert" : "plain",
      plugins.length === 0 || inProcess ? [] : openEnds(capabilities as Capabilities),
      (end) => `beside that, ${end}`,
    ),
    ...all("plain", adds.hooks, (event) => `its plugins look at each ${event}`),
    ...(adds.judges ? [{ mark: "alert", text: "its plugins say of calls that they are safe" } as const] : []),
    ...Object.entries(KINDS).flatMap(([kind, says]) =>
      all("plain", adds[kind as "models"], (what) => `${says} ${what}`),
    ),
    ...all("plain", recipes, (file) => `sous run ${name}/${recipeName(file)} runs its recipe ${file}`),
    ...all("alert", code, (file) => `the code of ${file} runs in the process, with your rights, when you run it`),
    ...all(
      "plain",
      Object.entries(entry.dependencies ?? {}),
      ([at, { version }]) => `brings the package ${packageAt(at)} ${version}${aliasOf(at, entry)}`,
    ),
    ...all("note", Object.entries(entry.unused ?? {}), ([kind, names]) => `not used yet: ${kind} ${names.join(", ")}`),
  ]
}

const OUTSIDE = "runs in a process of its own, with no more than what stands below"
const IN_PROCESS = "runs in this process, with all your rights: what stands below does not bind it"

/** True for a command that runs whatever somebody publishes next. */
export function isUnpinned(command: string): boolean {
  return UNPINNED.some((pattern) => pattern.test(command))
}

const UNPINNED = [
  /\b(?:npx|bunx|pnpx|uvx)\s/,
  /\b(?:pnpm|yarn)\s+dlx\b/,
  /\bnpm\s+(?:exec|x|init|create)\b/,
  /\bpipx\s+run\b/,
  /\bdeno\s+run\b[^;|&]*https?:/,
  /\b(?:curl|wget)\b[^;&]*\|\s*(?:\w+\s+)*(?:ba|z|da)?sh\b/,
  /\bdocker\s+run\b/,
  /\bgo\s+run\s+\S+@/,
]

function eventOf({ event, matcher, if: rule }: LockedHook): string {
  const narrowed = matcher === undefined || matcher === "" || matcher === "*" ? event : `${event} of ${matcher}`
  return rule === undefined ? narrowed : `${narrowed}, for calls that fit ${rule},`
}

/** What decides how much a hook holds back and tells, where that is not as usual. */
function mannerOf(hook: LockedHook): string {
  const { dialect, onFailure, once, timeoutMs, headers = {}, model, continueOnBlock } = hook
  const said = [
    ...(dialect === "claude-code" ? ["with the exit codes of Claude Code"] : []),
    ...(onFailure === undefined ? [] : [`a failure counts as ${onFailure}`]),
    ...(hook.async ? ["not waited for, so that it stops nothing"] : []),
    ...(once ? ["the first time only"] : []),
    ...(timeoutMs === undefined ? [] : [`for ${timeoutMs / 1000} s at most`]),
    ...Object.entries(headers).map(([name, value]) => `with the header ${name}: ${value}`),
    ...(model === undefined ? [] : [`with the model ${model}`]),
    ...(continueOnBlock ? ["its no is told and ends nothing"] : []),
  ]
  return said.length === 0 ? "" : ` (${said.join("; ")})`
}

function packageAt(folder: string): string {
  return folder.replace(/^.*node_modules\//, "")
}

/** The name that a package gives itself, where it lies under another one. */
function aliasOf(folder: string, { modules = {} }: LockEntry): string {
  const name = modules[folder]?.replace(/(?!^)@.*$/, "")
  return name === undefined || name === packageAt(folder) ? "" : `, which is ${name}`
}

function all<T>(mark: PackLine["mark"], list: readonly T[] | undefined, say: (one: T) => string): PackLine[] {
  return (list ?? []).map((one) => ({ mark, text: say(one) }))
}
