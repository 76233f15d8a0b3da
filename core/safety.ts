/**
 * The contract of a safety classifier: what it learns of a call in auto mode, what it may ask, what it may answer.
 *
 * Invariant: it judges only what no rule and no other source has settled; silence, a fault, or an answer in any other form
 * stops the call.
 */
import type { JsonSchema } from "./message.ts"
import type { Target, ToolRole } from "./tool.ts"

/** Judges one call. Whatever it throws stops the call. */
export type SafetyClassifier = (call: SafetyCall, context: SafetyContext) => SafetyAnswer | Promise<SafetyAnswer>

/** `reason`: why it is stopped, as the end of a sentence: `it deletes whole folders`. */
export type SafetyAnswer = { kind: "allow" } | { kind: "stop"; reason: string }

/** A call, taken apart as far as the kernel can. */
export interface SafetyCall {
  tool: string
  /** What the tool says of itself. */
  description: string
  role?: ToolRole
  sideEffects?: "external"
  input: unknown
  targets: readonly Target[]
  /** Every simple command of its command targets, those that wrappers and shells run included. */
  commands: readonly SafetyCommand[]
  /** Every file that it names, those of commands included. */
  paths: readonly SafetyPath[]
  /** Why its command cannot be read: it does not parse, is too long, holds odd characters. */
  trouble?: string
  /** Absolute. The agent's current directory. */
  cwd: string
  /** Absolute, real: the folders of the work. */
  roots: readonly string[]
  /** Absolute; "" when unknown. */
  home: string
}

/** One simple command. */
export interface SafetyCommand {
  /** The program without its folder, as far as it can be guessed; "" when there is none. */
  program: string
  /** The words as they are best guessed, the program as it was written first. */
  words: readonly string[]
  /** Indices of words that are only known when the command runs. */
  open: readonly number[]
  /** Names of the variables that it sets for itself. */
  sets: readonly string[]
  /** Why nobody can say what it runs. */
  opaque?: string
  /** It changes nothing, wherever it reads; redirects are not looked at. */
  readOnly: boolean
  /** It surely runs in a folder of the work. */
  inside: boolean
  /** Folders that its relative paths may start from, absolute; undefined: not known. */
  bases: readonly string[] | undefined
}

/** A file that a call names. */
export interface SafetyPath {
  access: "read" | "write"
  /** It is removed, moved or given other rights. */
  change: boolean
  written: string
  /** It is known before the call runs; otherwise the places are guesses. */
  exact: boolean
  /** Every place that it may be, absolute. */
  places: readonly string[]
  /** Every one of them lies in a folder of the work, or is one. */
  inside: boolean
}

/** What a classifier is given beside the call. */
export interface SafetyContext {
  /** What the person asked the agent for, the newest words last. */
  request: string
  /** Fires when the run is aborted or the time for the answer is up. */
  signal: AbortSignal
  /** Asks the model of `permissions.autoModel`; the cost counts as the run's. Left out: no model is set. */
  ask?(question: SafetyQuestion): Promise<string>
}

/** One question to a small model. */
export interface SafetyQuestion {
  system: string
  prompt: string
  /** The form of the answer; models that cannot be held to it are only told. */
  schema?: JsonSchema
}
