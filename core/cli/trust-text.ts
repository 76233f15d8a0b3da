/**
 * What is known about the trust in a project → text for people, objects for machines.
 *
 * Invariant: every entry is shown whole; a project that is followed says so wherever it is shown.
 */

import type { Tree } from "../session/tree.ts"
import { printsOf } from "../session/trust.ts"
import type { ProjectTrust, TrustState } from "../settings/project-trust.ts"
import { TRUST_GROUPS, type TrustEntry, type TrustGroup } from "./trust-listing.ts"

const TITLES: Record<TrustGroup, string> = {
  code: "Code that would run in this process",
  commands: "Commands that would be started",
  network: "Addresses that would be reached",
  rules: "What agents would be allowed",
  environment: "Variables that would be set (values not shown)",
  settings: "Other settings",
  files: "Files that count",
}

const STATES: Record<TrustState, string> = {
  trusted: "trusted as it is",
  follows: "trusted whatever lies there",
  start: "trusted for this start",
  changed: "not as it was trusted",
  untrusted: "not trusted",
  nothing: "nothing to trust",
}

/** All that a project would add, by group. */
export function listingForPeople(trust: ProjectTrust, entries: readonly TrustEntry[]): string {
  const lines = TRUST_GROUPS.flatMap((group) => {
    const own = entries.filter((entry) => entry.group === group)
    return own.length === 0 ? [] : ["", TITLES[group], ...own.flatMap(entryLines)]
  })
  return [...headLines(trust), ...lines, ""].join("\n")
}

/** Names and commands are the project's words: no line of them can pass for one of ours. */
function entryLines({ what, text, file, line }: TrustEntry): string[] {
  const place = file === undefined || file === text ? "" : `   ${oneLine(file)}${line === undefined ? "" : `:${line}`}`
  const [first = "", ...more] = text.split(LINE_END)
  const label = what === "file" ? "" : `${oneLine(what)}  `
  return [`  ${label}${first}${place}`, ...more.map((one) => `    ┊ ${one}`)]
}

const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/

function oneLine(text: string): string {
  return text.split(LINE_END).join("\\n")
}

/** What is known, and what changed. */
export function statusForPeople(trust: ProjectTrust): string {
  return [...headLines(trust), ""].join("\n")
}

function headLines({ state, since, changes, fault, question: { root } }: ProjectTrust): string[] {
  if (root === undefined) return ["Nothing to trust: this folder belongs to no project"]
  const when = since === undefined ? "" : `, since ${since.slice(0, 16).replace("T", " ")}`
  return [
    `${root}: ${STATES[state]}${when}`,
    ...(fault === undefined ? [] : [`  ${fault.message}; ${fault.mend} (${fault.code})`]),
    ...changes.map(({ file, how }) => `  ${how}  ${oneLine(file)}`),
  ]
}

/** The same for machines. */
export function statusForMachines({ state, isTrusted, since, changes, fault, question: { root } }: ProjectTrust) {
  const problem = fault === undefined ? {} : { fault: { code: fault.code, message: fault.message, mend: fault.mend } }
  return { project: root ?? null, state, isTrusted, ...(since === undefined ? {} : { since }), changes, ...problem }
}

/** The listing for machines, with what each file was. */
export function listingForMachines(trust: ProjectTrust, tree: Tree, entries: readonly TrustEntry[]) {
  return { ...statusForMachines(trust), hash: tree.hash, files: printsOf(tree), adds: entries }
}
