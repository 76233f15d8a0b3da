/**
 * Providers that stand in for every model of a run: one that speaks a script, one that replays a cassette.
 *
 * Invariant: all models that a provider opens speak from one list, and the last one closed says what was left over.
 */
import { resolve } from "node:path"
import type { Model, ModelProvider } from "sous"
import { replayModel } from "../models/cassette-replay.ts"
import { createScriptModel } from "../models/script-model.ts"
import { checkScript } from "../models/turn-file.ts"
import { createTurnList } from "../models/turn-list.ts"
import { isTurns, type TurnSource } from "./server.ts"

/** A provider for one run. */
export interface StandIn extends ModelProvider {
  /** The id to ask for; any other is taken too. */
  id: string
}

/** Speaks the turns. List it before other providers. `id`: what failures call it. Throws MODEL_SCRIPT_INVALID. */
export function scriptModel(source: TurnSource, { id = "script:test" }: { id?: string } = {}): StandIn {
  const made = typeof source === "function"
  const script = checkScript(made ? { turns: [] } : isTurns(source) ? { turns: [...source] } : source, id)
  const list = createTurnList(id, made ? source : script)
  const users = countUsers(() => list.checkSpent())
  return {
    id,
    name: "scripted",
    handles: () => true,
    open(asked, { signal }) {
      users.open()
      return createScriptModel(asked, list, { traits: script, onClose: () => users.close(signal) })
    },
  }
}

/** Replays a cassette; `file` is relative to the run's working directory. List it before other providers. */
export function cassette(file: string): StandIn {
  const id = `cassette:${file}`
  let shared: Promise<Model> | undefined
  const users = countUsers(async () => (await shared)?.close?.())
  return {
    id,
    name: "replayed",
    handles: () => true,
    async open(asked, options) {
      users.open()
      shared ??= replayModel(id, resolve(options.cwd, file), options)
      return { ...(await shared), id: asked, close: () => users.close(options.signal) }
    },
  }
}

function countUsers(onLast: () => void | Promise<void>) {
  let open = 0
  return {
    open() {
      open += 1
    },
    close(signal: AbortSignal): void | Promise<void> {
      open -= 1
      if (open === 0 && !signal.aborted) return onLast()
    },
  }
}
