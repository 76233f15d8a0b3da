/**
 * What a plugin's code returned or threw → what can be sent about it.
 *
 * Invariant: anything may be thrown, also what throws when it is looked at; a sentence comes out.
 */
import { Refusal } from "../call.ts"
import { isSousError } from "../error.ts"
import type { ChildMessage } from "../pack/isolate-message.ts"
import type { ToolContext, ToolOutput, ToolProgress } from "../tool.ts"

/** The last output of an execution; progress on the way is reported. */
export async function consume(
  execution: Promise<ToolOutput> | AsyncIterable<ToolProgress | ToolOutput>,
  context: Pick<ToolContext, "progress" | "signal">,
): Promise<ToolOutput> {
  if (typeof execution !== "object" || execution === null || !(Symbol.asyncIterator in execution))
    return await execution
  let output: ToolOutput = ""
  for await (const item of execution) {
    if (context.signal.aborted) break
    if (typeof item === "object" && "progress" in item) context.progress(item.progress)
    else output = item
  }
  return output
}

type Fault = Omit<Extract<ChildMessage, { type: "fault" }>, "type" | "id">

/** Longer sentences are cut, in characters. */
const LONGEST = 4000

/** What was thrown, as a sentence; with its code, when it is a coded fault of the toolkit. */
export function faultOf(thrown: unknown): Fault {
  try {
    const denied = deniedIn(thrown)
    if (denied !== undefined) return { kind: "error", message: cut(denied) }
    if (thrown instanceof Refusal) return { kind: "refusal", message: cut(thrown.message) }
    if (isSousError(thrown)) {
      const details = Object.entries(thrown.details as object).filter((entry): entry is [string, string] =>
        isPlain(entry[1]),
      )
      return { kind: "error", message: cut(thrown.message), code: thrown.code, details: Object.fromEntries(details) }
    }
    return { kind: "error", message: cut(thrown instanceof Error ? String(thrown.message) : String(thrown)) }
  } catch {
    return { kind: "error", message: "it threw a value that cannot be read" }
  }
}

/** What Node kept from the plugin, here or in what it caused: Node's own words leave out what it was about. */
function deniedIn(thrown: unknown): string | undefined {
  const { code, permission, resource, cause } = (thrown ?? {}) as Record<string, unknown>
  if (code !== "ERR_ACCESS_DENIED") return cause === undefined ? undefined : deniedIn(cause)
  if (typeof permission !== "string") return undefined
  const about = typeof resource === "string" && resource !== "" ? ` "${resource}"` : ""
  return `${DENIED[permission] ?? permission}${about} is none of its capabilities`
}

/** Node's words for what it guards. Source: https://nodejs.org/api/permissions.html#permissionhasscope-reference */
const DENIED: Readonly<Record<string, string>> = {
  FileSystemRead: "reading",
  FileSystemWrite: "writing",
  ChildProcess: "starting a program",
  WorkerThreads: "starting a thread",
  Net: "the network",
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === "string" && one.length <= LONGEST)
  return typeof value === "string" ? value.length <= LONGEST : Number.isFinite(value)
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
