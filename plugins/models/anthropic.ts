/**
 * The plugin for Claude over Anthropic's API, and for whatever speaks the Messages API at ANTHROPIC_BASE_URL.
 *
 * Invariant: to open a model is to look at its id and the environment; the network is for the first request.
 */
import { definePlugin, type ModelOptions, type ModelProvider, SousError } from "sous"
import { createAnthropicModel } from "./anthropic-model.ts"
import { connectionSettings, createConnection } from "./connection.ts"
import { ALIASES } from "./price.ts"

/** Takes `claude-…`, the aliases, `anthropic:ANY`, and any id without a scheme when ANTHROPIC_BASE_URL is set. */
export const anthropicProvider: ModelProvider = {
  name: "anthropic",
  handles(id, { env }) {
    if (/^(?:claude-|anthropic:)/.test(id) || Object.hasOwn(ALIASES, bareId(id))) return true
    return Boolean(env["ANTHROPIC_BASE_URL"]?.trim()) && !/^[a-z][a-z-]*:/.test(id)
  },
  async open(id, options) {
    const settings = connectionSettings(options.env)
    if (settings.apiKey === undefined && settings.authToken === undefined && !settings.ownServer) {
      throw new SousError("MODEL_KEY_MISSING", { id })
    }
    const apiId = resolveId(id, options.env)
    const model = createAnthropicModel(apiId, createConnection(settings), options)
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

/** Without its scheme, and without the mark for a long window, which today's models have anyway. */
function bareId(id: string): string {
  return id.replace(/^anthropic:/, "").replace(/\[1m\]$/i, "")
}

/** What the API is to be asked for; `ANTHROPIC_DEFAULT_OPUS_MODEL` and its like say what an alias means. */
function resolveId(id: string, env: ModelOptions["env"]): string {
  const bare = bareId(id)
  if (!Object.hasOwn(ALIASES, bare)) return bare
  return env[`ANTHROPIC_DEFAULT_${bare.toUpperCase()}_MODEL`]?.trim() || ALIASES[bare]!
}

export default definePlugin({
  name: "anthropic",
  models: [anthropicProvider],
  capabilities: { net: ["*"], env: ["ANTHROPIC_*", "SOUS_STALL_MS", "SOUS_MAX_RETRIES"] },
})
