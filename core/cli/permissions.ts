/**
 * `sous permissions`: the rules in effect and what this project was granted, for people or machines; `revoke` takes grants
 * back.
 *
 * Invariant: listing writes nothing; it refuses to run inside of a run, so that no agent approves itself.
 */
import { realpath } from "node:fs/promises"
import { relative } from "node:path"
import { nearestName, SousError } from "../error.ts"
import type { RuleSource } from "../permission/decision.ts"
import { projectOf } from "../run-grant.ts"
import type { RunPermissions } from "../run-permission.ts"
import { type Grant, loadGrants, removeGrants } from "../session/grants.ts"
import { stateFolderFor } from "../session/store.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { openSession, runOptions, withKit } from "./session.ts"

/** Returns 0. Throws CLI_INSIDE_RUN, CLI_ARGUMENT_…, PERMISSION_GRANT… errors. */
export async function permissions(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "permissions")
  const [word = "list", wanted] = line.args
  if (word === "revoke") return await revoke(line, host, wanted)
  const surplus = word === "list" ? wanted : word
  if (surplus !== undefined) throw unknownWord(surplus)
  if (line.values.all) {
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: "--all", mend: 'write "sous permissions revoke --all"' })
  }
  return await list(line, host)
}

function unknownWord(word: string): SousError {
  const near = nearestName(word, ["list", "revoke"])
  const mend = near ? `write "sous permissions ${near}"` : 'run "sous permissions" to list them'
  return new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend })
}

async function list(line: CommandLine, host: Host): Promise<number> {
  const session = await openSession(line, { ...host, openAsker: async () => undefined })
  const found = await withKit(session, (kit) => kit.permissions(runOptions(session)))
  const { warnings, fault } = found
  for (const warning of [...session.loaded.warnings, ...warnings]) host.tell(`! ${warning}`)
  if (fault) host.tell(`! ${fault.message}; ${fault.mend} (${fault.code})`)
  host.print(line.values.json ? `${JSON.stringify(forMachines(found))}\n` : host.escape(forPeople(found, session.cwd)))
  return 0
}

function forMachines({ mode, rules, grants, grantsFile }: RunPermissions) {
  const numbered = grants.map(({ text: rule, granted: at, line }, index) => ({ number: index + 1, rule, at, line }))
  return { mode, rules: rules.map(({ text: rule, ...rest }) => ({ rule, ...rest })), grantsFile, grants: numbered }
}

function forPeople({ mode, rules, grants, grantsFile }: RunPermissions, cwd: string): string {
  const rows = rules.map((rule) => [
    rule.ordered ? `${rule.behavior} (in order)` : rule.behavior,
    oneLine(rule.text),
    placeOf(rule, cwd),
  ])
  const granted = grants.map(({ text, granted: at = "" }, index) => [
    String(index + 1),
    oneLine(text),
    at.slice(0, 16).replace("T", " "),
  ])
  return [
    `Mode ${mode}`,
    ...(rows.length === 0 ? ["No rules"] : ["Rules", ...columns(rows)]),
    ...(granted.length === 0
      ? ["No grants in this project"]
      : [`Grants of this project, in ${grantsFile}`, ...columns(granted)]),
    "",
  ].join("\n")
}

function placeOf({ scope, by, file, line, column }: RuleSource, cwd: string): string {
  const who = by === undefined ? scope : `${scope} ${by}`
  if (file === undefined) return who
  const near = relative(cwd, file)
  const place = [near.startsWith("..") ? file : near, line, column].filter((part) => part !== undefined)
  return `${who}  ${place.join(":")}`
}

function columns(rows: readonly string[][]): string[] {
  const widths = [0, 1].map((index) => Math.min(60, Math.max(...rows.map((row) => row[index]!.length))))
  return rows.map((row) => `  ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ")}`.trimEnd())
}

function oneLine(text: string): string {
  return text.replaceAll("\n", "\\n")
}

async function revoke({ values }: CommandLine, host: Host, wanted: string | undefined): Promise<number> {
  if (wanted !== undefined && values.all) throw new SousError("CLI_FLAGS_CONFLICT", { one: "--all", other: wanted })
  if (wanted === undefined && !values.all) {
    const example = "sous permissions revoke 2"
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "rule, number or --all", example })
  }
  const home = homeFolder(host.env)
  const state = stateFolderFor(host.env, home)
  const project = projectOf(await realpath(await host.cwd()), home)
  const { grants, fault } = await loadGrants(state, project)
  if (fault) throw fault
  const chosen = wanted === undefined ? grants : [findGrant(grants, wanted)]
  const rules = chosen.map(({ rule }) => rule)
  const removed = rules.length === 0 ? [] : await removeGrants(state, project, rules)
  if (values.json) host.print(`${JSON.stringify({ revoked: removed })}\n`)
  else for (const { rule } of removed) host.print(host.escape(`revoked  ${oneLine(rule)}\n`))
  if (removed.length === 0) host.tell("There was nothing to revoke")
  return 0
}

/** By its number in the list, or by its text. Throws PERMISSION_GRANT_UNKNOWN. */
function findGrant(grants: readonly Grant[], wanted: string): Grant {
  const found = /^\d+$/.test(wanted) ? grants[Number(wanted) - 1] : grants.find(({ rule }) => rule === wanted)
  if (found) return found
  throw new SousError("PERMISSION_GRANT_UNKNOWN", { grant: wanted, count: grants.length })
}
