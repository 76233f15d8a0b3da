/**
 * The words of the permission layer: a rule's origin, a decision and its trace.
 *
 * Invariant: a decision always says which source decided; the same object goes to events, `explain` and transcripts.
 */
import type { PermissionMode, Target } from "../tool.ts"

export type Behavior = "allow" | "ask" | "deny"

/** Where a setting came from, strongest first. */
export type Scope = "managed" | "cli" | "session" | "local" | "project" | "user" | "recipe" | "plugin"

/** The sources of a decision, in the order in which they are asked. */
export const DECISION_SOURCES = [
  "abort",
  "floor",
  "deny",
  "plan",
  "ask",
  "protected",
  "rules",
  "classifier",
  "allow",
  "mode",
  "approval",
] as const
export type DecisionSource = (typeof DECISION_SOURCES)[number] | "hook"

/** Where a rule or value stands. `line` and `column` count from 1. */
export interface Origin {
  scope: Scope
  file?: string
  line?: number
  column?: number
  /** The plugin or recipe that brought it. */
  by?: string
}

/** A rule as written, with its origin. */
export interface RuleSource extends Origin {
  text: string
  behavior: Behavior
  /** Set: an entry of the ordered list `permissions.rules`, in which the first match decides. */
  ordered?: true
}

/** What was decided about one call, and why. */
export interface Decision {
  behavior: Behavior
  source: DecisionSource
  /** One sentence; for a denial also what the model may try instead. */
  reason: string
  /** For a question or denial that a rule or flag would have spared: which. */
  mend?: string
  rule?: RuleSource
  /** Which part of the call decided. */
  target?: Target
  trace: DecisionStep[]
}

/** One source of the pipeline, in order, and what it said. */
export interface DecisionStep {
  source: DecisionSource
  outcome: "no match" | "match" | "not reached"
  rule?: RuleSource
  target?: Target
}

/** A call as the permission layer sees it: the tool by what it declares, not by what it is. */
export interface PermissionCall {
  tool: string
  ruleName: string
  input: unknown
  readOnly: boolean
  targets: readonly Target[]
  /** The tool leaves files that a rule refuses out of its result by itself, so it may search a folder that holds some. */
  skipsDenied?: boolean
}

/** Where a path leads. All absolute; `real` with every symlink followed, also for a file that does not exist yet. */
export interface ResolvedPath {
  lexical: string
  real: string
  /** Further places that the same text may lead to: `..` behind a symlink, read as the operating system reads it. */
  others?: readonly string[]
  /** It is a folder. */
  directory?: boolean
}

/** What `decide` may know beside the rules; resolved before it is called, so that it stays pure. */
export interface PermissionFacts {
  aborted: boolean
  mode: PermissionMode
  /** Absolute, real. The agent's current directory. */
  cwd: string
  /** Absolute, real paths of the folders the agent works in, and of the run's own result folder (`readRoots`). */
  roots: readonly string[]
  /** Folders that may be read without a rule, beside `roots`. */
  readRoots: readonly string[]
  home: string
  /** Of `roots`, those that this start or managed settings named; the floor lets writes to system folders pass only there. */
  namedRoots?: readonly string[]
  /** Absolute, real: the state folder of sous, its trust store, managed settings. No call may change them. */
  stateFolders?: readonly string[]
  /** Absolute, real files and folders that configure sous, beside those it knows by name; bypass mode asks for them too. */
  configures?: readonly string[]
  /** For each path target by its written path, for each path in a command by its lexical one. What is missing is unknown. */
  paths: ReadonlyMap<string, ResolvedPath>
  /** True when somebody could answer a question. */
  canAsk: boolean
}

/** A question to a person, a host or a hook. */
export interface ApprovalRequest {
  /** Unique in the run: the tool_use id, with a suffix when asked again. */
  id: string
  tool: string
  input: unknown
  decision: Decision
  agent: { id: string; type: string; depth: number; step?: string }
  /** The rules that `always` would add, one for each part that needed it; empty when there is no exact one. */
  suggestions: string[]
}

/** The answer to an ApprovalRequest. */
export interface ApprovalAnswer {
  behavior: "allow" | "deny"
  /** For the model, when denied. */
  message?: string
  /** Changed input; goes through check and decide again. */
  input?: unknown
  /** Keep the request's suggestions as allow rules for this conversation. */
  remember?: "session"
}
