/**
 * The contract of a plugin: one plain object, and what it adds is data on it or comes once from its `setup`.
 *
 * Invariant: nothing registers as a side effect of being imported, and nothing registers after the freeze.
 */
import type { z } from "zod"
import type { SousError } from "./error.ts"
import type { PluginTier } from "./event.ts"
import type { Hooks } from "./hook.ts"
import type { MessageParam } from "./message.ts"
import type { ModelProvider } from "./model.ts"
import type { PermissionCall, Scope } from "./permission/decision.ts"
import type { SafetyClassifier } from "./safety.ts"
import type { Recipe } from "./step.ts"
import type { AgentDefinition, Notebook, Tool } from "./tool.ts"

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

/** Text for conversations: environment, memory, lists, reminders. Every part of it is optional. */
export interface ContextSource {
  name: string
  /** What `start` says is kept byte for byte by every compaction, unless `start` then says something else. */
  pinned?: boolean
  /** Text for the first message, or undefined for none. Called when a conversation starts, and after each compaction. */
  start?(context: ContextStart): Promise<string | undefined> | string | undefined
  /** What is worth telling now, behind the results of a turn. Called after every turn that ran calls: it must be quick. */
  remind?(context: ContextMoment): Promise<readonly Reminder[] | undefined> | readonly Reminder[] | undefined
  /** What the next step needs and a summary cannot hold, told again after a compaction: each text that fits, in order. */
  scene?(context: ContextMoment): Promise<Scene> | Scene
}

/** One text or several, most important first. */
export type Scene = string | readonly string[] | undefined

/** Where and for whom a conversation starts. */
export interface ContextStart {
  cwd: string
  /** Where the agent started; `cwd` moves with its shell. */
  startedIn: string
  roots: readonly string[]
  signal: AbortSignal
  /** The agents that may be started; empty when this agent may start none. */
  agents: readonly AgentDefinition[]
  /** 0 for the main loop, 1 for its subagents, and so on. */
  depth: number
  places: ContextPlaces
  /** False for a file (absolute path) that a deny or ask rule keeps from being read. */
  mayRead(path: string): boolean
  /** Tells a person what is odd, once. */
  warn(message: string): void
}

/** Folders that context is read from; absolute, real where they exist. */
export interface ContextPlaces {
  home: string
  /** The root of the project that `cwd` lies in; `cwd` itself where there is none. */
  project: string
  /** Configuration of the organisation, of sous and of Claude Code, strongest first. */
  managed: readonly string[]
  /** Configuration of the person, of sous and of Claude Code. */
  user: readonly string[]
  /** What is kept for this project, below the state folder. */
  state: string
  /** Files of Claude Code are read. */
  claude: boolean
  /** The settings `memory`. */
  memory: { files: boolean; auto: boolean; exclude: readonly string[] }
}

/** A conversation between two turns. */
export interface ContextMoment extends ContextStart {
  /** Files that calls have touched since the last such moment, the newest last: real paths. */
  touched: readonly { path: string; access: "read" | "write" }[]
  /** True when a reminder with this key was told, and stands in the conversation still. */
  told(key: string): boolean
  /** Answers so far, over all runs of the session. */
  turn: number
  notes: Notebook
}

/** Something to tell the model, once. */
export interface Reminder {
  /** Told once for each key, as long as it stands in the conversation. */
  key: string
  text: string
  /** Kept byte for byte by every compaction. */
  pinned?: boolean
}

/** A way to shorten a conversation; the kernel checks each proposal (design/context.md). */
export interface Compaction {
  name: string
  /** It asks no model: it is tried as well when the prompt's cache has gone cold, long before the window is full. */
  cheap?: boolean
  propose(request: CompactionRequest): Promise<CompactionProposal | undefined>
  /** Called after each turn, in the background and one at a time, for a strategy that takes notes as it goes. */
  follow?(request: CompactionRequest): Promise<void>
}

/** What a strategy is given. All of it is a copy: changing it changes nothing. */
export interface CompactionRequest {
  messages: readonly MessageParam[]
  /** Tokens of each of the messages, estimated. */
  sizes: readonly number[]
  trigger: "manual" | "auto" | "reactive"
  /** Tokens of the whole next request as it is, estimated: system, tools and messages. */
  tokens: number
  /** Tokens that it may hold afterwards. */
  budget: number
  /** Tokens at the end of the conversation that should stay as they are. */
  keep: number
  /** Tokens over the window, when the model said so. */
  excessTokens?: number
  /** What matters most, in the words of a person or a hook. */
  focus?: string
  /** What the person said, oldest first, with the index of its message. */
  said: readonly { message: number; text: string }[]
  /** Files that calls have touched, absolute, the newest last. */
  files: { read: readonly string[]; changed: readonly string[] }
  notes: Notebook
  /** Asks a model. What it costs counts against the budget of the run. Throws when no answer comes. */
  ask(question: CompactionQuestion): Promise<string>
  signal: AbortSignal
}

/** A question behind a conversation. */
export interface CompactionQuestion {
  text: string
  /** What is sent before it. Default: the messages of the request, which the prompt's cache holds. */
  messages?: readonly MessageParam[]
  /** Output tokens at most. Default 20,000. */
  maxTokens?: number
  /** The id of a model. Default: the one of the conversation. */
  model?: string
}

/**
 * Keep the messages from index `keepFrom`; `summary` (user text) stands in for what came before. `dropped`: ids of
 * tool_uses among the kept messages whose results become one line. 0 and "" with `dropped` alone.
 */
export interface CompactionProposal {
  keepFrom: number
  summary: string
  dropped?: readonly string[]
}

/** Types a plugin and returns it as it is. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin
}
