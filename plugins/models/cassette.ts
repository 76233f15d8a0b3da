/**
 * The plugin for `cassette:FILE`: a model that answers what was recorded with `--record FILE`.
 *
 * Invariant: nothing of it is loaded before a cassette is opened.
 */
import { resolve } from "node:path"
import { definePlugin, type ModelProvider } from "sous"

const SCHEME = "cassette:"

/** Opens `cassette:FILE`; FILE is relative to the run's working directory. */
export const cassetteProvider: ModelProvider = {
  name: "cassette",
  handles: (id) => id.startsWith(SCHEME),
  async open(id, options) {
    const { replayModel } = await import("./cassette-replay.ts")
    return replayModel(id, resolve(options.cwd, id.slice(SCHEME.length)), options)
  },
}

export default definePlugin({ name: "cassette", models: [cassetteProvider], capabilities: { read: ["*"] } })
