/**
 * The contract of a tool: what the model may call, what rules are matched against, what comes back.
 *
 * Invariant: a tool says what it touches (`targets`) and what it is (`readOnly`, `role`); shared code never asks for its name.
 */
import type { z } from "zod"
import type { JsonSchema, ToolResultContent } from "./message.ts"

/** What the kernel may look for among the tools, whatever they are called. */
export type ToolRole = "shell" | "write" | "exitPlan" | "subagent" | "memory"

/** One thing that a call touches. Deny and ask rules fire when any target matches; allow needs every one matched. */
export type Target =
  | { kind: "command"; text: string }
  /** `path` is absolute or relative to the call's working directory. */
  | { kind: "path"; access: "read" | "write"; path: string }
  | { kind: "url"; url: string }
  | { kind: "name"; name: string; params?: Record<string, string | number | boolean> }

/** A tool, as plain data. Everything but `execute` can be printed and frozen. */
export interface Tool<Input = any> {
  /** As the model calls it and rules spell it: `Read`, `Bash`, `mcp__server__tool`. Unique in a run. */
  name: string
  /** For the model: what it does, when to use it, when not, what comes back. */
  description: string
  /** A zod object schema, or JSON Schema as data. Input that does not fit never reaches the permission layer. */
  input: z.ZodType<Input> | JsonSchema
  /** The name that rules use for it, when it is not `name` (Write answers to `Edit(…)` rules). */
  ruleName?: string
  role?: ToolRole
  /** True when a call changes nothing outside the process. Default false. */
  readOnly?: boolean | ((input: Input) => boolean)
  /** True when calls may overlap. Default: what `readOnly` says. */
  concurrencySafe?: boolean | ((input: Input) => boolean)
  /** What rules are matched against; without it a rule can only match the bare name. */
  targets?(input: Input, context: { cwd: string }): Target[]
  /**
   * For a tool whose code runs elsewhere: what `readOnly`, `concurrencySafe` and `targets` say of a call, in one answer;
   * asked in their place. What it throws keeps the call from being judged, and so from running.
   */
  facts?(input: Input, context: { cwd: string }): Promise<CallFacts>
  /**
   * It asks `context.mayRead` about every file below its path targets and leaves out, names included, what may not be
   * read; so it may search a folder that holds some of those without a question.
   */
  skipsDenied?: true
  /** Characters of text result that go to the model; what is longer is spilled to a file. Default 30,000. */
  maxResultChars?: number
  /** `external`: a call has effects that cannot be repeated safely (a message sent, a payment). */
  sideEffects?: "external"
  execute(input: Input, context: ToolContext): Promise<ToolOutput> | AsyncIterable<ToolProgress | ToolOutput>
}

/** What a tool says of one call before it runs. */
export interface CallFacts {
  readOnly: boolean
  concurrencySafe: boolean
  targets: Target[]
}

/** What a tool returns. A plain string is a text result. */
export type ToolOutput =
  | string
  | {
      content: ToolResultContent
      /** True: the model is told that the call failed. Default false. */
      isError?: boolean
      /** Structured facts for hooks and recipes (exit code, paths …); never sent to the model. JSON. */
      data?: unknown
      /** The whole output is in this file (absolute path); `content` is a preview of it. */
      spilled?: { path: string; chars: number }
    }

/** A sign of life from a long call; shown to people, never sent to the model. */
export interface ToolProgress {
  progress: string
}

/** What a call is given. Everything it needs arrives here: no global current directory, environment or clock. */
export interface ToolContext {
  toolUseId: string
  /** Who asks: a model, or a step of a recipe (which may overwrite a file that it never read). */
  caller: "model" | "recipe"
  /** Absolute. The agent's current directory. */
  cwd: string
  /** Moves the agent's current directory (absolute path); later calls see it. */
  setCwd(path: string): void
  /** The folders the agent works in, absolute, first one the project's. */
  roots: readonly string[]
  /**
   * What the permission layer judged for each path target, by its written path. A file tool opens `real` and nothing
   * else: a link may have been swapped since. Left out: the tool resolves the path itself.
   */
  judged?: ReadonlyMap<string, { lexical: string; real: string }>
  /**
   * False for a file (absolute path) that a deny or ask rule keeps from being read. Looks at the path as it is written:
   * where links lead elsewhere, ask about both ends.
   */
  mayRead(path: string): boolean
  /** What the rules say about web addresses that a call meets on its way. Left out: no host is named, none is guarded. */
  web?: {
    /** True when an allow rule or flag names exactly this host (as a URL spells it), without a wildcard. */
    names(host: string): boolean
    /** True when a deny or ask rule speaks of this address that did not speak of the call: it was never answered. */
    guards(url: string): boolean
  }
  /** The environment for child processes: no provider keys, no secret-looking names. */
  env: Readonly<Record<string, string>>
  /** Fires when the run is aborted. */
  signal: AbortSignal
  agent: AgentIdentity
  sessionId: string
  /** A folder (absolute, exists) for files that belong to this run: spilled results, background output. Readable without a rule. */
  runFolder: string
  /** The folder (absolute, perhaps not there yet) of the notes that agents keep for later conversations; left out: they keep none. */
  memoryFolder?: string
  /** State that lives as long as this agent: made once per key. Not shared with subagents. */
  state<T>(key: symbol, create: () => T): T
  /** What this agent remembers and its session keeps: it is there again when the session is resumed. */
  notes: Notebook
  /** Reports progress to people. */
  progress(text: string): void
  /** Called when the run ends, last registered first; used to end what a call left running. */
  defer(cleanup: () => void | Promise<void>): void
  /** Runs a child loop; see core/subagent.ts. */
  subagent(request: SubagentRequest): Promise<SubagentResult>
  /** The agents that plugins and recipes defined. */
  agents: readonly AgentDefinition[]
}

/** Named sets of notes. */
export type Notebook = <T>(name: string) => Notes<T>

/** Values by key, in the order in which they were last set. A value is JSON, and is not changed after it was set. */
export interface Notes<T> {
  get(key: string): T | undefined
  set(key: string, value: T): void
  delete(key: string): void
  /** The oldest first. */
  entries(): readonly (readonly [key: string, value: T])[]
}

/** Who makes a call: the main loop of a step, or a subagent. */
export interface AgentIdentity {
  /** Unique in the run. */
  id: string
  /** `main`, or the name of the agent definition. */
  type: string
  /** 0 for the main loop, 1 for its subagents, and so on. */
  depth: number
  /** The step that this agent belongs to, as a path: `verify/src/a.ts:3`. */
  step?: string
  /** The `each` or `pipeline` step that it works for an item of, as a path: `verify`. */
  each?: string
}

/** A kind of subagent: what it is told, what it may use. */
export interface AgentDefinition {
  /** kebab-case, unique. */
  name: string
  /** For the model that chooses: when to hand work to it. */
  description: string
  /** Its system prompt. */
  prompt: string
  /** Names or rules that narrow what it may use; left out: all that its parent has. Never grants anything. */
  tools?: string[]
  model?: string
  effort?: Effort
  maxTurns?: number
  mode?: PermissionMode
  compact?: CompactOptions
}

/** How a conversation is kept within its window. */
export interface CompactOptions {
  /** False: only when a person asks, or the model refuses. Default true. */
  auto?: boolean
  /** The name of the strategy to try first. */
  strategy?: string
  /** The share of the window, 0.1 to 1, at which it is shortened. Default: what leaves room for an answer. */
  threshold?: number
  /** Tokens at its end that should stay as they are. Default: a tenth of the window, 20,000 at most. */
  keep?: number
}

/** How much thought a model gives an answer (the API's `output_config.effort`), least first. */
export const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const
export type Effort = (typeof EFFORTS)[number]

/** How a call is treated that no rule settles; design: permission mode. */
export type PermissionMode = "default" | "acceptEdits" | "plan" | "auto" | "dontAsk" | "bypassPermissions"

/** What a tool asks of a child loop. */
export interface SubagentRequest {
  /** An agent definition's name; left out: a general one with the parent's system prompt. */
  type?: string
  prompt: string
  model?: string
  maxTurns?: number
}

/** What comes back from a child loop: its last message only. */
export interface SubagentResult {
  ok: boolean
  agentId: string
  text: string
  turns: number
  usage: import("./message.ts").Usage
  /** Why it stopped, in words, when `ok` is false. */
  error?: string
}

/** Types a tool and returns it as it is. */
export function defineTool<Schema extends z.ZodType>(
  tool: Omit<Tool<z.output<Schema>>, "input"> & { input: Schema },
): Tool<z.output<Schema>> {
  return tool as Tool<z.output<Schema>>
}

/** What is known of a call with this input, whoever says it. */
export async function factsOf(tool: Tool, input: unknown, context: { cwd: string }): Promise<CallFacts> {
  if (tool.facts !== undefined) return await tool.facts(input, context)
  const targets = tool.targets?.(input, context) ?? []
  return { ...overlapOf(tool, input), targets }
}

/** The same without targets: whether it may start early, and beside its neighbours. */
export async function looksAhead(
  tool: Tool,
  input: unknown,
  context: { cwd: string },
): Promise<Omit<CallFacts, "targets">> {
  return tool.facts === undefined ? overlapOf(tool, input) : await tool.facts(input, context)
}

function overlapOf(tool: Tool, input: unknown): Omit<CallFacts, "targets"> {
  return { readOnly: isReadOnly(tool, input), concurrencySafe: isConcurrencySafe(tool, input) }
}

/** True when a call with this input changes nothing outside the process. */
export function isReadOnly(tool: Tool, input: unknown): boolean {
  return typeof tool.readOnly === "function" ? tool.readOnly(input) : (tool.readOnly ?? false)
}

/** True when a call with this input may overlap with its neighbours. */
export function isConcurrencySafe(tool: Tool, input: unknown): boolean {
  const { concurrencySafe } = tool
  if (concurrencySafe === undefined) return isReadOnly(tool, input)
  return typeof concurrencySafe === "function" ? concurrencySafe(input) : concurrencySafe
}
