/**
 * Writes one turn as a response of the Messages API, whole or as a stream, with the fault that is to befall it.
 *
 * Invariant: without delays a response is one write; a connection that is to fall silent stays open until the client goes.
 */
import type { ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { errorTypeOf } from "../models/fault.ts"
import type { Turn, TurnFault } from "../models/turn.ts"
import { foldEvents, type TurnPlace, turnEvents, type WireEvent } from "../models/turn-event.ts"

/** Sends a turn; returns once it is sent, cut or left silent. */
export async function sendTurn(
  response: ServerResponse,
  { turn, fault }: { turn: Turn; fault?: TurnFault },
  place: TurnPlace,
): Promise<void> {
  if (turn.delay_ms > 0) await sleep(turn.delay_ms)
  if (fault?.kind === "mute") return
  if (fault?.kind === "reset") return void response.socket?.resetAndDestroy()
  if (fault?.kind === "status") return sendFault(response, fault)
  const events = turnEvents(turn, place)
  if (place.body.stream !== true) return sendWhole(response, events, fault)
  await sendStream(response, { turn, events: fault === undefined ? events : events.slice(0, fault.after) }, fault)
}

/** Sends an error as the API words it. */
export function sendError(
  response: ServerResponse,
  status: number,
  {
    type = errorTypeOf(status),
    message,
    headers = {},
  }: { type?: string | undefined; message: string; headers?: Record<string, string> },
): void {
  sendJson(response, status, { type: "error", error: { type, message }, request_id: "req_scripted" }, headers)
}

/** Sends a value as JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", "request-id": "req_scripted", ...headers })
  response.end(JSON.stringify(value))
}

function sendFault(response: ServerResponse, { status, type, message, headers }: TurnFault): void {
  sendError(response, status, { type, message: message ?? type ?? errorTypeOf(status), headers })
}

/** What would break a stream midway breaks a whole answer from its start. */
function sendWhole(response: ServerResponse, events: readonly WireEvent[], fault: TurnFault | undefined): void {
  if (fault === undefined) sendJson(response, 200, foldEvents(events))
  else if (fault.kind === "error_event") sendFault(response, fault)
  else if (fault.kind !== "stall") response.socket?.resetAndDestroy()
}

interface Streamed {
  turn: Turn
  events: readonly WireEvent[]
}

async function sendStream(
  response: ServerResponse,
  { turn, events }: Streamed,
  fault: TurnFault | undefined,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "request-id": "req_scripted",
  })
  if (turn.first_byte_ms > 0) {
    response.flushHeaders()
    await sleep(turn.first_byte_ms)
  }
  const last = lastWords(fault)
  if (turn.chunk_delay_ms > 0) await trickle(response, events, turn.chunk_delay_ms)
  const text = (turn.chunk_delay_ms > 0 ? "" : events.map(written).join("")) + last
  if (fault === undefined || fault.kind === "error_event" || fault.kind === "end" || fault.kind === "garbage") {
    response.end(text)
  } else {
    response.flushHeaders()
    await new Promise<void>((resolve) => (text === "" ? resolve() : void response.write(text, () => resolve())))
    if (fault.kind === "cut") response.socket?.end()
  }
}

async function trickle(response: ServerResponse, events: readonly WireEvent[], delayMs: number): Promise<void> {
  for (const event of events) {
    response.write(written(event))
    await sleep(delayMs)
    if (response.destroyed) return
  }
}

/** One event on the wire. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html */
function written(event: WireEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function lastWords(fault: TurnFault | undefined): string {
  if (fault?.kind === "garbage") return 'event: content_block_delta\ndata: {"type": "content_block_del\n\n'
  if (fault?.kind !== "error_event") return ""
  const type = fault.type ?? errorTypeOf(fault.status)
  return written({ type: "error", error: { type, message: fault.message ?? type } })
}
