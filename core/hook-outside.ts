/**
 * Runs one external handler: from an event to what was heard of it, and from there, by its dialect, to a reply.
 *
 * Invariant: loaded when the first external hook fires, and not before; a handler that could not be started, ran out of
 * time or cannot be understood has failed, and its words are never read in the other dialect.
 */
import { fitResult } from "./context/budget.ts"
import { maskSecrets } from "./env.ts"
import { type HookReply, parseAnswer } from "./hook-answer.ts"
import { parseClaude } from "./hook-claude.ts"
import { runCommand } from "./hook-command.ts"
import type { Ending, ExecutionLimits, Heard, Outside } from "./hook-ending.ts"
import type { HookContext, HookFiring } from "./hook-fire.ts"
import { postHook } from "./hook-http.ts"
import type { CompiledHook } from "./hook-match.ts"
import { askModel } from "./hook-question.ts"
import type { HookSource } from "./hook-source.ts"
import { WIRE_NAMES } from "./hook-table.ts"

/** Runs it. Never throws. */
export async function runOutside(
  compiled: CompiledHook & { source: HookSource },
  firing: HookFiring,
  context: HookContext,
  limits: ExecutionLimits,
): Promise<Ending> {
  const { source } = compiled
  const { outside: surroundings } = context
  if (surroundings === undefined) return { failure: "no external hook can be started here" }
  try {
    const heard = await hear({ compiled, source, firing, json: payloadJson(firing), surroundings, limits })
    if ("reply" in heard) return { reply: await fitReply(heard.reply, firing, context) }
    if (!("stdout" in heard)) return heard
    const exit = heard.status ?? heard.exit
    const said = { ...(exit === null ? {} : { exit }), answer: heard.stdout || heard.stderr }
    try {
      return { reply: await fitReply(understand(heard, source), firing, context), ...said }
    } catch (error) {
      return { failure: (error as Error).message, ...said }
    }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

async function hear(outside: Outside): Promise<Heard> {
  const { form } = outside.source
  switch (form.type) {
    case "command":
      return await runCommand(outside, form)
    case "http":
      return await postHook(outside, form)
    case "prompt":
    case "agent":
      return await askModel(outside, form)
    case "mcp_tool":
      return { failure: "handlers of the type mcp_tool are not here yet" }
  }
}

/** Throws an Error whose message goes on after "the hook failed: ". */
function understand({ env, ...heard }: Extract<Heard, { stdout: string }>, { dialect, event }: HookSource): HookReply {
  const { exit, stdout, stderr } = heard
  const reply = dialect === "native" ? parseAnswer({ exit, stdout, stderr }, event) : parseClaude(heard, event)
  return env === undefined ? reply : { ...reply, env }
}

const payloads = new WeakMap<object, string>()

/** The payload as handlers read it, made once for all that are given the same. */
function payloadJson({ event, fields }: HookFiring): string {
  let json = payloads.get(fields)
  if (json === undefined) {
    const other = Object.entries(WIRE_NAMES[event] ?? {}).map(([name, own]) => [name, fields[own]])
    json = JSON.stringify({ ...fields, ...Object.fromEntries(other) })
    payloads.set(fields, json)
  }
  return json
}

/** How long one text of a reply may be; what is longer goes to a file that the rest of it names. In characters. */
const TEXT_CHARS = 10_000

async function fitReply(reply: HookReply, { event }: HookFiring, context: HookContext): Promise<HookReply> {
  const fitted = { ...reply }
  for (const part of ["inject", "reason", "result", "say"] as const) {
    const text = reply[part]
    if (text === undefined) continue
    const masked = maskSecrets(text, context.secrets)
    const options = { limit: TEXT_CHARS, folder: context.outside!.folder, name: `hook-${event}` }
    fitted[part] = masked.length <= TEXT_CHARS ? masked : ((await fitResult(masked, options)).content as string)
  }
  return fitted
}
