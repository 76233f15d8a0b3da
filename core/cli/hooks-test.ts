/**
 * `sous hooks test EVENT`: a sample event → what each hook that fits it answers, and what would come of it.
 *
 * Invariant: only the hooks run; what they decide happens to nothing.
 */
import { nearestName, SousError, suggest } from "../error.ts"
import { HOOKS, type HookEvent, type HookSpec } from "../hook.ts"
import { type HookSource, placeOf, suppressionOf } from "../hook-source.ts"
import type { Kit } from "../kit.ts"
import { type HookTrial, type HookTrialOutcome, isTestable } from "../run-hook-test.ts"
import { readObject } from "../settings/flag.ts"
import { FOREIGN_EVENTS } from "../settings/hook-schema.ts"
import type { CommandLine } from "./command-line.ts"
import { readCall } from "./explain.ts"
import { fitInput } from "./explain-input.ts"
import { CALL_FIELDS, COMMON_FIELDS, SAMPLES } from "./hooks-sample.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { openSession, runOptions, type Session, withKit } from "./session.ts"

/** Returns 0 whatever the hooks say. Throws CLI_… errors. */
export async function testEvent(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "hooks test")
  const event = checkEvent(line.args[1])
  const session = await openSession(line, { ...host, openAsker: async () => undefined })
  return await withKit(session, async (kit) => {
    const payload = await readPayload(kit, session, event)
    const trial = await kit.testHooks(event, payload, runOptions(session))
    const left = session.loaded.hooks.sources.filter((source) => source.event === event && !isTestable(source))
    const notRun = left.map((source) => ({ hook: nameOf(source), origin: source.origin, why: whyNot(source) }))
    for (const warning of session.loaded.warnings) host.tell(`! ${warning}`)
    if (line.values.json) host.print(`${JSON.stringify({ event, payload, ...forMachines(trial), notRun })}\n`)
    else host.print(host.escape(forPeople(event, trial, notRun)))
    return 0
  })
}

function checkEvent(name: string | undefined): HookEvent {
  if (name === undefined) {
    const example = "sous hooks test PreToolUse --tool NAME --input '{}'"
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "event", example })
  }
  const event = (Object.keys(HOOKS) as HookEvent[]).find((one) => one === name)
  if (event !== undefined) return event
  const foreign = FOREIGN_EVENTS.some((one) => one === name)
  const mend = foreign ? `choose an event that is raised here: ${name} is not` : suggest(name, Object.keys(HOOKS))
  throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: name, mend })
}

async function readPayload(kit: Kit, session: Session, event: HookEvent): Promise<Record<string, unknown>> {
  const { tool, input, payload } = session.line.values
  const sample = SAMPLES[event]
  if (payload !== undefined) {
    const other = tool !== undefined ? "--tool" : input !== undefined ? "--input" : undefined
    if (other !== undefined) throw new SousError("CLI_FLAGS_CONFLICT", { one: "--payload", other })
    return { ...sample, ...checkFields(event, await readObject("--payload", payload, session)) }
  }
  const spec: HookSpec = HOOKS[event]
  if (spec.matches !== "tool_name") {
    const extra = tool !== undefined ? "--tool" : input !== undefined ? "--input" : undefined
    const mend = `leave it out: ${event} is no call of a tool; give its fields with --payload`
    if (extra !== undefined) throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: extra, mend })
    return { ...sample }
  }
  if (tool === undefined) {
    const example = `sous hooks test ${event} --tool ${kit.describe().tools[0] ?? "NAME"} --input '{}'`
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "tool", example })
  }
  const near = kit.tool(tool) ? undefined : nearestName(tool, kit.describe().tools)
  if (near !== undefined) session.host.tell(`! No tool "${tool}" is here (did you mean "${near}"?)`)
  const call = readCall(kit, tool, input)
  const known = kit.tool(tool)
  return { ...sample, tool_name: tool, tool_input: known ? await fitInput(known, call.input) : call.input }
}

/** The fields of a payload, none of which may be one that the event does not have. */
function checkFields(event: HookEvent, fields: Record<string, unknown>): Record<string, unknown> {
  const spec: HookSpec = HOOKS[event]
  const own = [...Object.keys(SAMPLES[event]), ...(spec.matches === "tool_name" ? CALL_FIELDS : [])]
  const known = [...own, ...COMMON_FIELDS, "hook_event_name"]
  const wrong = Object.keys(fields).find((name) => !known.includes(name))
  if (wrong === undefined) {
    const { hook_event_name: named, ...rest } = fields
    if (named === undefined || named === event) return rest
    const wanted = `a payload of ${event}`
    throw new SousError("CLI_VALUE_INVALID", { flag: "--payload", value: String(named), wanted })
  }
  const wanted = `fields of ${event}: ${own.join(", ")}`
  throw new SousError("CLI_VALUE_INVALID", { flag: "--payload", value: wrong, wanted, mend: suggest(wrong, known) })
}

function nameOf({ description, event, matcher }: HookSource): string {
  return description ?? (matcher ? `${event}(${matcher})` : event)
}

function whyNot(source: HookSource): string {
  return suppressionOf(source) ?? "it puts a question to a model, which a test does not"
}

interface NotRun {
  hook: string
  origin: HookSource["origin"]
  why: string
}

function forMachines({ executions, notices, outcome }: HookTrial) {
  const hooks = executions.map(({ type: _, event: __, id: ___, ...execution }) => execution)
  return { hooks, notices, outcome }
}

function forPeople(event: HookEvent, { executions, notices, outcome }: HookTrial, notRun: readonly NotRun[]): string {
  const ran = executions.flatMap(({ outcome: said, owner, hook, exit, durationMs, reason, answer }) => [
    `${said.padEnd(8)} ${hook}  ${owner}${exit === undefined ? "" : `  exit ${exit}`}  ${Math.round(durationMs)} ms`,
    ...indent(reason ?? answer ?? ""),
  ])
  const left = notRun.map(
    ({ hook, origin, why }) => `${"not run".padEnd(8)} ${hook}  ${placeOf(origin)}\n         ${why}`,
  )
  const all = [...ran, ...left]
  return `${[
    ...(all.length === 0 ? [`No hook fits this ${event}`] : all),
    ...notices.map((notice) => `!        ${notice}`),
    ...conclude(event, outcome),
  ].join("\n")}\n`
}

function conclude(event: HookEvent, outcome: HookTrialOutcome): string[] {
  const { decision, reasons, input, injected, result, env, stop } = outcome
  const lines = [
    decision === "pass" ? `=> ${event} goes on` : `=> ${event}: ${decision}`,
    ...reasons.flatMap(indent),
    ...(input === undefined ? [] : [`   its input becomes ${JSON.stringify(input)}`]),
    ...(result === undefined ? [] : ["   its result becomes", ...indent(result)]),
    ...(injected.length === 0 ? [] : ["   added to the conversation", ...injected.flatMap(indent)]),
    ...(env === undefined ? [] : [`   sets ${Object.keys(env).join(", ")}`]),
    ...(stop === undefined ? [] : [`   the agent stops: ${stop}`]),
  ]
  return lines
}

function indent(text: string): string[] {
  const trimmed = text.trimEnd()
  return trimmed === "" ? [] : trimmed.split("\n").map((line) => `         ${line}`)
}
