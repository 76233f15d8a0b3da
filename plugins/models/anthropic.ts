/**
 * The plugin for Claude over Anthropic's API, and for whatever speaks the Messages API at ANTHROPIC_BASE_URL.
 *
 * Invariant: to open a model is to look at its id and the environment; the network is for the first request.
 */
import { definePlugin, type ModelProvider, SousError } from "sous"
import { createAnthropicModel } from "./anthropic-model.ts"
import { connectionSettings, createConnection } from "./connection.ts"
import { ALIASES } from "./price.ts"

/** Takes `claude-…`, the aliases, `anthropic:ANY`, and any id without a scheme when ANTHROPIC_BASE_URL is set. */
export const anthropicProvider: ModelProvider = {
  name: "anthropic",
  handles(id, { env }) {
    if (/^(?:claude-|anthropic:)/.test(id) || Object.hasOwn(ALIASES, id)) return true
    return Boolean(env["ANTHROPIC_BASE_URL"]?.trim()) && !/^[a-z][a-z-]*:/.test(id)
  },
  async open(id, options) {
    const settings = connectionSettings(options.env)
    if (settings.apiKey === undefined && settings.authToken === undefined && !settings.ownServer) {
      throw new SousError("MODEL_KEY_MISSING", { id })
    }
    const bare = id.replace(/^anthropic:/, "")
    const model = createAnthropicModel(
      Object.hasOwn(ALIASES, bare) ? ALIASES[bare]! : bare,
      createConnection(settings),
      options,
    )
    if (options.record === undefined) return model
    const { recordModel } = await import("./cassette-record.ts")
    return recordModel(model, options.record, options)
  },
  fallbackId({ env }) {
    const named = env["ANTHROPIC_MODEL"]?.trim()
    if (named) return named
    return env["ANTHROPIC_API_KEY"]?.trim() || env["ANTHROPIC_AUTH_TOKEN"]?.trim() ? "sonnet" : undefined
  },
}

export default definePlugin({
  name: "anthropic",
  models: [anthropicProvider],
  capabilities: { net: ["*"], env: ["ANTHROPIC_*", "SOUS_STALL_MS", "SOUS_MAX_RETRIES"] },
})
