/**
 * The environment of this process, and of those that started it → whether an agent of a run is behind it.
 *
 * Invariant: what an agent takes out of the environment of a command still stands in that of the shell around it.
 */
import { readFileSync } from "node:fs"
import { SousError } from "../error.ts"
import type { Host } from "./host.ts"

/** What every process of a run has in its environment. */
const MARK = "SOUS_SESSION_ID"
/** No chain of processes that a person starts is longer. */
const MOST_ANCESTORS = 64

/** For commands that only a person may give. Throws CLI_INSIDE_RUN. */
export function refuseInside(host: Pick<Host, "env">, command: string, proc = "/proc"): void {
  if (isMarkedInside(host) || isBelowRun(proc)) throw new SousError("CLI_INSIDE_RUN", { command })
}

/** The short look: what a run has started says so, unless it took that out of its environment. */
export function isMarkedInside(host: Pick<Host, "env">): boolean {
  return host.env[MARK] !== undefined
}

/** Looks where the system tells of other processes (Linux); elsewhere the environment alone speaks. */
function isBelowRun(proc: string): boolean {
  let id = "self"
  for (let count = 0; count < MOST_ANCESTORS; count++) {
    if (`\0${textOf(`${proc}/${id}/environ`)}`.includes(`\0${MARK}=`)) return true
    // The name of the program stands in parentheses and may hold anything.
    const stat = textOf(`${proc}/${id}/stat`)
    id = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] || "0"
    if (id === "0") return false
  }
  return false
}

/** Empty where there is none, and for processes of others. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1")
  } catch {
    return ""
  }
}
