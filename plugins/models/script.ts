/**
 * The plugin for `script:FILE`: a model that answers with the turns of a YAML or JSON file.
 *
 * Invariant: the file is read when its model is opened, so that a script that is wrong stops a run before its first step.
 */
import { resolve } from "node:path"
import { definePlugin, type ModelProvider } from "sous"

const SCHEME = "script:"

/** Opens `script:FILE`; FILE is relative to the run's working directory. */
export const scriptProvider: ModelProvider = {
  name: "script",
  handles: (id) => id.startsWith(SCHEME),
  async open(id, options) {
    const [{ loadScript }, { createTurnList }, { createScriptModel }] = await Promise.all([
      import("./turn-file.ts"),
      import("./turn-list.ts"),
      import("./script-model.ts"),
    ])
    const traits = await loadScript(resolve(options.cwd, id.slice(SCHEME.length)))
    const list = createTurnList(id, traits)
    const onClose = () => {
      if (!options.signal.aborted) list.checkSpent()
    }
    const model = createScriptModel(id, list, { traits, onClose })
    if (options.record === undefined) return model
    const { recordModel } = await import("./cassette-record.ts")
    return recordModel(model, options.record, options)
  },
}

export default definePlugin({ name: "script", models: [scriptProvider], capabilities: { read: ["*"] } })
