/**
 * `sous plugins` and `sous plugins forget NAME`: each plugin with where it comes from, what it adds and how it fares.
 *
 * Invariant: looking stops for nothing, and changes nothing; what would stop a run is said.
 */
import { relative } from "node:path"
import { nearestName, SousError } from "../error.ts"
import type { PluginReport } from "../event.ts"
import { stateFolderFor } from "../session/store.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { openSession, withKit } from "./session.ts"

const WORDS = ["list", "forget"]

/** Returns 0. Throws CLI_… and PLUGIN_… errors, and what broken settings throw. */
export async function plugins(line: CommandLine, host: Host): Promise<number> {
  const [word = "list", name, ...more] = line.args
  if (!WORDS.includes(word)) {
    const near = nearestName(word, WORDS)
    const mend = near ? `write "sous plugins ${near}"` : 'write "sous plugins" or "sous plugins forget NAME"'
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend })
  }
  const [unexpected] = word === "forget" ? more : [name, ...more]
  if (unexpected !== undefined) {
    const mend = word === "forget" ? "name one plugin" : 'write "sous plugins" alone'
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: unexpected, mend })
  }
  return word === "forget" ? await forget(name, host) : await list(line, host)
}

async function list(line: CommandLine, host: Host): Promise<number> {
  const session = await openSession(line, { ...host, openAsker: async () => undefined })
  const found = await withKit(session, async (kit) => kit.describe().plugins, { isSurvey: true })
  for (const warning of session.loaded.warnings) host.tell(`! ${warning}`)
  if (line.values.json) host.print(`${JSON.stringify({ plugins: found })}\n`)
  else host.print(host.escape(forPeople(found, session.cwd, { isWhole: line.values.verbose ?? false })))
  return 0
}

/** A guard that is meant to be gone: a start goes on without it. */
async function forget(name: string | undefined, host: Host): Promise<number> {
  refuseInside(host, "plugins forget")
  if (name === undefined)
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "plugin", example: "sous plugins forget guard" })
  const { forgetGuards, loadGuards } = await import("../guard-memory.ts")
  const state = stateFolderFor(host.env, homeFolder(host.env))
  const forgotten = await forgetGuards(state, name)
  if (forgotten.length === 0) {
    const known = (await loadGuards(state)).map((guard) => guard.name)
    const near = nearestName(name, known)
    const others =
      known.length === 0 ? 'look at "sous plugins": none that guards is remembered' : `name one of ${known.join(", ")}`
    throw new SousError("PLUGIN_NOT_REMEMBERED", { plugin: name, mend: near ? `write "${near}"` : others })
  }
  for (const { name: plugin, file, guards } of forgotten)
    host.print(host.escape(`Forgotten: ${plugin} (${file}) guarded with ${guards.join(", ")}\n`))
  return 0
}

function forPeople(found: readonly PluginReport[], cwd: string, { isWhole }: { isWhole: boolean }): string {
  const isFolded = ({ tier, from, name, ok }: PluginReport) => tier === "shipped" && from === name && ok && !isWhole
  const shown = found.filter((report) => !isFolded(report))
  const heads = shown.map((report) => headOf(report, cwd))
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...heads.map((cells) => cells[column]!.length)))
  const rows = shown.flatMap((report, index) => [
    heads[index]!.map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
    ...detailsOf(report),
  ])
  const names = found.filter(isFolded).map(({ name }) => name)
  const folded = names.length === 0 ? [] : [`Shipped: ${names.join(", ")} (--verbose shows more)`]
  return `${[...(rows.length === 0 ? ["No plugins but those that are shipped"] : rows), ...folded].join("\n")}\n`
}

function headOf(report: PluginReport, cwd: string): string[] {
  const { name, durationMs, tier = "in-process" } = report
  const time = `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`
  return [name, healthOf(report), tier, time, placeOf(report, cwd)]
}

function detailsOf({ adds, guards, error, mend }: PluginReport): string[] {
  const added = adds.length === 0 ? "nothing" : adds.join(", ")
  return [
    ...(error === undefined || adds.length > 0 ? [`    adds ${added}${guards ? " (guards)" : ""}`] : []),
    ...(error === undefined ? [] : [`    ! ${error}`]),
    ...(mend === undefined ? [] : [`      ${mend}`]),
  ]
}

function healthOf({ ok, fatal, restarts, tier }: PluginReport): string {
  const again = restarts === undefined ? "" : `, started again ${restarts === 1 ? "once" : `${restarts} times`}`
  if (ok) return `ok${again}`
  if (fatal) return "left out: no run starts without it"
  return tier === "process" && restarts !== undefined ? `ended${again}` : "left out"
}

function placeOf({ from, name, scope, pack }: PluginReport, cwd: string): string {
  const way = from.startsWith("/") ? relative(cwd, from) : from
  const file = way.startsWith("../..") || way === "" ? from : way
  const parts = [...(scope === undefined ? [] : [scope]), ...(pack === undefined ? [] : [`pack ${pack}`])]
  return [...parts, ...(from === name ? [] : [file])].join(" · ")
}
