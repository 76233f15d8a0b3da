/**
 * The contract of a plugin: one plain object, and what it adds is data on it or comes once from its `setup`.
 *
 * Invariant: nothing registers as a side effect of being imported, and nothing registers after the freeze.
 */
import type { z } from "zod"
import type { SousError } from "./error.ts"
import type { PluginTier } from "./event.ts"
import type { Hooks } from "./hook.ts"
import type { ModelProvider } from "./model.ts"
import type { PermissionCall, Scope } from "./permission/decision.ts"
import type { SafetyClassifier } from "./safety.ts"
import type { Recipe } from "./step.ts"
import type { AgentDefinition, Tool } from "./tool.ts"

/** The version of this contract: it grows when a plugin that was right before would be wrong. */
export const API_VERSION = 1

/** What a plugin may add. All of it can be listed, named in an error, and frozen. */
export interface Contribution {
  tools?: Tool[]
  hooks?: Hooks
  permissions?: {
    allow?: string[]
    ask?: string[]
    deny?: string[]
    classify?: Classifier
    /** Judges what mode auto leaves open; several have to agree that a call may run. */
    safety?: SafetyClassifier
  }
  compaction?: Compaction[]
  models?: ModelProvider[]
  context?: ContextSource[]
  recipes?: Recipe[]
  agents?: AgentDefinition[]
  /** Gives back what `setup` acquired; last registered, first disposed. */
  dispose?(): void | Promise<void>
}

/** One unit of extension. */
export interface Plugin extends Contribution {
  /** Unique, kebab-case; shown in every error the plugin causes. */
  name: string
  /** The version of the contract that it was written for. Left out: the one that is there. */
  apiVersion?: number
  /** Plugins that must be registered before this one. */
  requires?: string[]
  /** Nothing starts when it cannot be set up. Not needed by one that declares gates, deny or ask rules on itself. */
  required?: boolean
  /** Schema of this plugin's own section, `settings.pluginSettings[name]`. */
  settings?: z.ZodType
  capabilities?: Capabilities
  setup?(context: PluginContext): Contribution | void | Promise<Contribution | void>
}

/** What a plugin declares it needs; the same words as the `--allow-…` flags. */
export interface Capabilities {
  tools?: string[]
  exec?: string[]
  net?: string[]
  env?: string[]
  read?: string[]
  write?: string[]
}

export interface PluginContext {
  /** The plugin's own section of the settings, checked by its schema. */
  settings: unknown
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** Fires when the plugin is no longer used: the kit closes, or another generation of it took its place. */
  signal: AbortSignal
  /** Adds more while `setup` is at work, beside what that returns. Throws PLUGIN_TOO_LATE once it has ended. */
  add(contribution: Contribution): void
}

/** A plugin with where it comes from, or in its place the fault that kept it from loading. */
export interface PluginEntry {
  plugin?: Plugin
  fault?: SousError
  /** What to call it while it has no name. */
  name: string
  /** Its file, absolute; or how it was written. */
  from: string
  /** Another place that its code was read from: a copy that was checked. */
  loadedFrom?: string
  scope?: Scope
  pack?: string
  tier: PluginTier
  /** How settings name it, with what that is relative to; for telling that it was there before. */
  identity?: string
  /** The command line asks for it: nothing starts without it. */
  isNamed?: boolean
  /** Settings say that nothing starts without it. */
  required?: boolean
  /** What becomes of a tool whose name is taken. Default: an error. */
  collision?: "error" | "prefix"
  /** How long loading took, ms. */
  loadMs?: number
  /** How it is now, where it runs in a process of its own: how often that was started again, and why it no longer is. */
  health?(): { restarts: number; fault?: string | undefined }
}

/** Says that a call is plainly safe, or nothing. It can never widen what a rule refuses. */
export type Classifier = (call: PermissionCall) => "safe" | undefined | Promise<"safe" | undefined>

/** Text for the first message of a conversation: environment, memory, lists. */
export interface ContextSource {
  name: string
  /** Text, or undefined for none. Called once, when a conversation starts. */
  start(context: ContextStart): Promise<string | undefined> | string | undefined
}

/** Where and for whom a conversation starts. */
export interface ContextStart {
  cwd: string
  roots: readonly string[]
  signal: AbortSignal
  /** The agents that may be started; empty when this agent may start none. */
  agents: readonly AgentDefinition[]
}

/** A way to shorten a conversation; the kernel checks each proposal (design/context.md). */
export interface Compaction {
  name: string
  propose(request: CompactionRequest): Promise<CompactionProposal | undefined>
}
export interface CompactionRequest {
  messages: readonly import("./message.ts").MessageParam[]
  trigger: "manual" | "auto" | "reactive"
  /** Tokens to get rid of at least, when known. */
  excessTokens?: number
  focus?: string
  signal: AbortSignal
}
/** Keep messages from index `keepFrom`; `summary` (user text) stands in for what came before. */
export interface CompactionProposal {
  keepFrom: number
  summary: string
}

/** Types a plugin and returns it as it is. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin
}
