/**
 * Hands scripted turns out to requests: by their conditions where they have some, in order where they have none.
 *
 * Invariant: a turn answers as many requests as it says and no more; a request that no turn is for, or that breaks what
 * its turn expects, is a loud failure that says what was wanted and what came.
 */
import { createModelFault, type ModelFault, SousError } from "sous"
import type { RequestBody } from "./request.ts"
import type { Script, Turn, TurnFault, TurnInput } from "./turn.ts"
import { failuresOf } from "./turn-condition.ts"
import { checkTurn } from "./turn-file.ts"

/** Makes the turn for a request; `request` counts from 1. */
export type TurnMaker = (body: RequestBody, request: number) => TurnInput

/** One request's turn, and the fault that befalls the request, if one does. */
export interface TakenTurn {
  turn: Turn
  fault?: TurnFault
}

/** Turns with the memory of which are spent. */
export interface TurnList {
  /** Throws a ModelFault `no_answer`. */
  take(body: RequestBody): TakenTurn
  /** Throws MODEL_TURNS_UNUSED, unless a request has failed already. */
  checkSpent(): void
}

/** `name` is what failures call the script. */
export function createTurnList(name: string, source: Script | TurnMaker): TurnList {
  return typeof source === "function" ? madeTurns(name, source) : writtenTurns(name, source)
}

function madeTurns(name: string, make: TurnMaker): TurnList {
  let request = 0
  return {
    take(body) {
      request += 1
      const turn = checkTurn(make(body, request), `${name}, turn ${request}`)
      checkExpected(name, request, turn, body)
      return turn.faults[0] === undefined ? { turn } : { turn, fault: turn.faults[0] }
    },
    checkSpent() {},
  }
}

interface Slot {
  turn: Turn
  /** Counts from 1, as people count. */
  number: number
  left: number
  /** The faults still to come, one for each request. */
  faults: TurnFault[]
}

function writtenTurns(name: string, script: Script): TurnList {
  const slots = script.turns.map(slotOf)
  let failed = false
  return {
    take(body) {
      try {
        const slot = choose(name, slots, body)
        checkExpected(name, slot.number, slot.turn, body)
        return spend(slot)
      } catch (error) {
        failed = true
        throw error
      }
    },
    checkSpent() {
      const turns = slots.filter(({ turn, left }) => left > 0 && turn.times !== "always").map(({ number }) => number)
      if (turns.length > 0 && !failed && script.unused === "fail")
        throw new SousError("MODEL_TURNS_UNUSED", { name, turns })
    },
  }
}

function slotOf(turn: Turn, index: number): Slot {
  const faults = turn.faults.flatMap((fault) => Array.from({ length: fault.times }, () => fault))
  return { turn, number: index + 1, left: turn.times === "always" ? Number.POSITIVE_INFINITY : turn.times, faults }
}

/** A turn with nothing to say is spent with its last fault; any other still has its answer to give. */
function spend(slot: Slot): TakenTurn {
  const { turn } = slot
  const fault = slot.faults.shift()
  if (fault === undefined) slot.left -= 1
  else if (slot.faults.length === 0 && turn.blocks.length === 0) slot.left = 0
  return fault === undefined ? { turn } : { turn, fault }
}

function choose(name: string, slots: readonly Slot[], body: RequestBody): Slot {
  const open = slots.filter(({ left }) => left > 0)
  const slot =
    open.find(({ turn }) => turn.when !== undefined && failuresOf(turn.when, body).length === 0) ??
    open.find(({ turn }) => turn.when === undefined)
  if (slot !== undefined) return slot
  const why = open.map(
    ({ turn, number }) => `turn ${number} is for another: ${failuresOf(turn.when ?? {}, body).join("; ")}`,
  )
  const spent = why.length > 0 ? why.join(". ") : `all ${slots.length} are spent`
  throw noAnswer(
    `The scripted model "${name}" has no turn for this request of ${body.messages.length} messages: ${spent}`,
    "add a turn, or find out why the loop asks once more",
  )
}

function checkExpected(name: string, number: number, turn: Turn, body: RequestBody): void {
  const broken = turn.expect === undefined ? [] : failuresOf(turn.expect, body)
  if (broken.length === 0) return
  throw noAnswer(
    `Turn ${number} of the scripted model "${name}" expects what the request does not hold: ${broken.join("; ")}`,
    "correct what the request says, or the turn's expect",
  )
}

function noAnswer(message: string, mend: string): ModelFault {
  return createModelFault("no_answer", message, { mend })
}
