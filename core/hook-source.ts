/**
 * An external hook as data: what settings, `.hooks.json`, front matter and packs hand to the kernel, one object each.
 *
 * Invariant: whatever a hook does is said here; the protocol it speaks (its dialect) is settled before it runs and never
 * guessed from what it answers.
 */
import type { HookEvent } from "./hook.ts"
import type { Origin } from "./permission/decision.ts"

/** Which protocol a handler speaks: what its exit codes mean, and where PreToolUse stands. */
export type HookDialect = "native" | "claude-code"

/** What a failed hook counts for. */
export type OnHookFailure = "block" | "ask" | "allow"

/** How a handler is reached. */
export type HookForm =
  /** With `args` a program, started as it is; without, text for the shell. */
  | { type: "command"; command: string; args?: readonly string[] }
  | {
      type: "http"
      /** http or https. That it may be reached was settled when the settings were read. */
      url: string
      /** Values may use `$NAME` and `${NAME}`; names that are not in `headerEnv` stand for nothing. */
      headers?: Readonly<Record<string, string>>
      /** Names of environment variables that header values may use. */
      headerEnv?: readonly string[]
    }
  /** One question to a model, which answers `{ ok, reason }`; `$ARGUMENTS` stands for the event's JSON. */
  | { type: "prompt"; prompt: string; model?: string; continueOnBlock?: boolean }
  /** The same question to an agent that may look around first, with tools that only read. */
  | { type: "agent"; prompt: string; model?: string }
  | { type: "mcp_tool"; server: string; tool: string; input?: Readonly<Record<string, unknown>> }

/** One configured handler of one event. */
export interface HookSource {
  event: HookEvent
  /** Exact names, or a regular expression, on the field that the event's row names. Left out: everything. */
  matcher?: string
  dialect: HookDialect
  form: HookForm
  /** In ms. Left out: what the event's row says; for `prompt` 30,000; else 60,000. */
  timeoutMs?: number
  /** Left out: native hooks fall as their event's row says; claude-code ones let the event go on. A warning either way. */
  onFailure?: OnHookFailure
  /** One permission rule: the hook runs only for a call that it fits. On an event without a call it never runs. */
  if?: string
  /** Runs for the first event that it matches, and never again in this run. */
  once?: boolean
  /** Starts and is not waited for. What it adds to the conversation comes with the next turn; `rewake`: it may bring one about. */
  async?: boolean | "rewake"
  /** Names the hook in messages. */
  description?: string
  /** Shown while it runs. */
  statusMessage?: string
  /** Further variables of a command's environment: where its pack lies. */
  env?: Readonly<Record<string, string>>
  /** Who configured it, and where. */
  origin: Origin
  /** Of a hook of a project: the only files below `root` that it may start, by absolute path, with the sha256 of each. */
  expects?: { root: string; files: Readonly<Record<string, string>> }
  /** Why it does not run, one clause ("hooks are disabled by …"). It stays in lists, and nothing starts it. */
  suppressed?: string
}

/** Events whose payload is a call of a tool: those that `if` can narrow. */
const CALL_EVENTS: readonly HookEvent[] = [
  "PreToolUse",
  "PermissionRequest",
  "PermissionDenied",
  "PostToolUse",
  "PostToolUseFailure",
]

/** Why nothing will ever start this hook, one clause; undefined when it is active. */
export function suppressionOf(source: HookSource): string | undefined {
  if (source.suppressed !== undefined) return source.suppressed
  if (source.form.type === "mcp_tool") return "handlers of the type mcp_tool are not here yet"
  if (source.if !== undefined && !CALL_EVENTS.includes(source.event))
    return `"if" narrows calls of tools, and ${source.event} is none`
  return undefined
}

/** Where a hook was configured, for people: `.hooks.json:3`, `project settings`, `plugin guard`. */
export function placeOf({ scope, file, line, by }: Origin): string {
  if (file !== undefined) return line === undefined ? file : `${file}:${line}`
  return by === undefined ? `${scope} settings` : `${scope} ${by}`
}
