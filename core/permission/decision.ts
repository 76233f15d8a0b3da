/**
 * The words of the permission layer: a rule's origin, a decision and its trace.
 *
 * Invariant: a decision always says which source decided; the same object goes to events, `explain` and transcripts.
 */
import type { AgentIdentity, PermissionMode, Target } from "../tool.ts"

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
  /** A person granted it when asked: on this day (ISO 8601, UTC). */
  granted?: string
}

/** What decided: a target of the call or, of a command, the simple command, operand or redirect in it. */
export type DecidedTarget = Target & { part?: "segment" | "operand" | "redirect" }

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
  target?: DecidedTarget
  trace: DecisionStep[]
}

/** One source of the pipeline, in order, and what it said. */
export interface DecisionStep {
  source: DecisionSource
  outcome: "no match" | "match" | "not reached"
  rule?: RuleSource
  target?: DecidedTarget
  /** Of a source that said nothing: why it did not, in one clause. */
  reason?: string
}

/** A call as the permission layer sees it: the tool by what it declares, not by what it is. */
export interface PermissionCall {
  tool: string
  ruleName: string
  input: unknown
  readOnly: boolean
  targets: readonly Target[]
  /** Of a tool that says nothing of files: parameters that look like some. Guards look at them, and nobody has to allow them. */
  hints?: readonly Target[]
  /** It hands in a plan, whose approval ends plan mode. */
  leavesPlan?: boolean
  /** Its names are those of an agent's notes, which a mode that accepts edits accepts too. */
  keepsNotes?: boolean
  /** The tool leaves files that a rule refuses out of its result, where it is handed the test for them. */
  skipsDenied?: boolean
}

/** Where a path leads. All absolute; `real` with every symlink followed, also for a file that does not exist yet. */
export interface ResolvedPath {
  lexical: string
  real: string
  /** Further places that the same text may lead to: `..` behind a symlink as the system reads it. */
  others?: readonly string[]
  /** Places for guards alone, where a tool looks that does not go by this: a folder named `~` in the current one. */
  guarded?: readonly string[]
  /** Its last part is a symlink. */
  link?: boolean
  /** It is a folder. */
  directory?: boolean
  /** Something stands there that is no folder. */
  file?: boolean
}

/** What `decide` may know beside the rules; resolved before it is called, so that it stays pure. */
export interface PermissionFacts {
  aborted: boolean
  mode: PermissionMode
  /** This mode or one above it is `auto`: neither broad rules nor edits by commands spare the safety classifier. */
  belowAuto?: boolean
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
  /** Absolute: the scripts of hooks. Whoever writes one decides what the hook says, and runs it without a question. */
  hookFiles?: readonly string[]
  /** Absolute, real: the folder of the toolkit that runs, by which its own command line is known. */
  toolkit?: string
  /** For each path target by its written path, for each path in a command by its lexical one. What is missing is unknown. */
  paths: ReadonlyMap<string, ResolvedPath>
  /**
   * Says what git, started in a folder (absolute), would run because the repository there says so, be it only to look: a
   * key with its file, a hook. Undefined: nothing. Left out: nobody has looked.
   */
  gitRuns?: (folder: string) => string | undefined
  /** True when somebody could answer a question. */
  canAsk: boolean
  /** True in a run: a tool is handed the test of each file that it finds, so that a search may leave refused ones out. */
  filtersReads?: boolean
}

/** Who asks, and so who gets what is granted. `id` is the conversation's: all main agents of a run share one. */
export type Grantee = AgentIdentity

/** How far an answer reaches beyond the call: this conversation, this project, or the step of a fan-out in this run. */
export type GrantReach = "session" | "project" | "step"

/** A question to a person, a host or a hook. */
export interface ApprovalRequest {
  /** Unique in the run: the tool_use id, with a suffix when asked again. */
  id: string
  tool: string
  input: unknown
  decision: Decision
  agent: Grantee
  /** The rules that `always` would add, one for each part that needed it; empty when there is no exact one. */
  suggestions: string[]
}

/** How somebody who has begun to answer keeps others from answering meanwhile. */
export interface ApprovalFloor {
  /** From now on no hook, classifier or grant settles the question; what was returned lets them again. */
  hold(): () => void
}

/** The answer to an ApprovalRequest. */
export interface ApprovalAnswer {
  behavior: "allow" | "deny"
  /** For the model, when denied. */
  message?: string
  /** Changed input; goes through check and decide again. */
  input?: unknown
  /** Rules to allow for this conversation, instead of the suggestions. */
  rules?: readonly string[]
  /** For a plan: the mode to go on in; left out: the one from before plan mode. Only a person's counts. */
  mode?: "default" | "acceptEdits"
  /** Keep the request's suggestions as allow rules, so far. */
  remember?: GrantReach
}
