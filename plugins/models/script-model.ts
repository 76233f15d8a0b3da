/**
 * A model that answers from a list of turns, with the events that the API would stream, and without a network.
 *
 * Invariant: what a turn expects is checked before a word of it is said; a turn's fault reaches the loop as the fault that
 * it would become, since no SDK stands between to try again.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Model, ModelEvent, ModelFault, ModelRequest } from "sous"
import { createModelFault } from "sous"
import { abortError, errorTypeOf, faultOfBreak, faultOfRefusal } from "./fault.ts"
import { Headers } from "./headers.ts"
import { bodyOf, type RequestBody } from "./request.ts"
import { apiSchema } from "./schema.ts"
import type { Script, TurnFault } from "./turn.ts"
import { estimateTokens, turnEvents, withoutPings } from "./turn-event.ts"
import type { TurnList } from "./turn-list.ts"

/** What a scripted model is, beside its turns. */
export type ScriptTraits = Pick<Script, "limits" | "price" | "structured_output">

/** Several models may share one list; `onClose` is called as each is closed. */
export function createScriptModel(
  id: string,
  list: TurnList,
  { traits, onClose }: { traits: ScriptTraits; onClose(): void },
): Model {
  let answer = 0
  return {
    id,
    knownLimits: traits.limits,
    limits: async () => traits.limits,
    price: traits.price,
    structuredOutput: traits.structured_output && ((schema) => apiSchema(schema) !== undefined),
    stream: (request, { signal }) => {
      answer += 1
      return speak(list, { body: bodyOf(id, request), answer, signal })
    },
    countTokens: async (request) => sizeOf(request),
    close: onClose,
  }
}

interface Speech {
  body: RequestBody
  answer: number
  signal: AbortSignal
}

async function* speak(list: TurnList, { body, answer, signal }: Speech): AsyncGenerator<ModelEvent> {
  checkAborted(signal)
  const { turn, fault } = list.take(body)
  const events = withoutPings(turnEvents(turn, { answer, body, inputTokens: bodySize(body) }))
  await pause(turn.delay_ms + turn.first_byte_ms, signal)
  for (const event of fault === undefined ? events : events.slice(0, isInStream(fault) ? fault.after : 0)) {
    checkAborted(signal)
    yield event
    if (turn.chunk_delay_ms > 0) await pause(turn.chunk_delay_ms, signal)
  }
  if (fault !== undefined) throw faultOfTurn(fault)
}

function checkAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return
  await sleep(ms, undefined, { signal }).catch(() => checkAborted(signal))
}

function isInStream({ kind }: TurnFault): boolean {
  return kind !== "status" && kind !== "reset" && kind !== "mute"
}

function faultOfTurn(fault: TurnFault): ModelFault {
  const { kind, status } = fault
  const type = fault.type ?? errorTypeOf(status)
  const message = fault.message ?? type
  if (kind === "status") {
    return faultOfRefusal({ status, type, message, headers: new Headers(fault.headers) })
  }
  if (kind === "error_event") return faultOfRefusal({ type, message })
  if (kind === "mute" || kind === "stall") return createModelFault("stall", "The scripted model fell silent")
  return faultOfBreak(`The scripted model broke off (${kind})`)
}

function sizeOf(request: ModelRequest): number {
  return bodySize(bodyOf("", request))
}

const sizes = new WeakMap<object, number>()

/** Tokens, estimated; each message is measured once. */
function bodySize({ system, tools, messages }: RequestBody): number {
  const parts = [system, tools, ...messages].filter((part) => typeof part === "object")
  return estimateTokens(parts.reduce((sum, part) => sum + measure(part), 0))
}

function measure(part: object): number {
  const known = sizes.get(part)
  if (known !== undefined) return known
  const { length } = JSON.stringify(part)
  sizes.set(part, length)
  return length
}
