/**
 * What a person always allows in one project: from a file in the state folder to allow rules, and back.
 *
 * Invariant: a file that is broken, foreign or open to others grants nothing; nothing is ever written into the project,
 * and what several runs grant at once is all kept.
 */
import { dirname, join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { RuleSource } from "../permission/decision.ts"
import { replaceFile, withLock } from "./lock.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { createFolder, projectFolder } from "./store.ts"

/** A rule that a person granted to a project. */
export interface Grant {
  rule: string
  /** ISO 8601, UTC: when it was granted. */
  at: string
}

/** The grants of a project as a start finds them. */
export interface LoadedGrants {
  /** Absolute; it need not exist. */
  file: string
  grants: readonly Grant[]
  /** The grants as allow rules of the local scope, with their line in the file. */
  rules: RuleSource[]
  /** Why the file grants nothing: PERMISSION_GRANTS_UNREADABLE. */
  fault?: SousError
}

const VERSION = 1
/** A file that is longer was not written by us, bytes. */
const MAX_BYTES = 2 ** 20

/** The file of a project (absolute, real) in the state folder. */
export function grantsFile(state: string, project: string): string {
  return join(projectFolder(state, project), "grants.json")
}

/** Reads what was granted to a project. Never throws: a file that cannot be used grants nothing and says why. */
export async function loadGrants(state: string, project: string): Promise<LoadedGrants> {
  const file = grantsFile(state, project)
  try {
    const text = await readOwnFile(file, { mostBytes: MAX_BYTES })
    const grants = text === undefined ? [] : parseGrants(text, { file, project })
    return { file, grants, rules: grants.map((grant) => ruleOf(grant, file, text ?? "")) }
  } catch (error) {
    const fault = isSousError(error) ? error : unreadable(file, reasonOf(error))
    return { file, grants: [], rules: [], fault }
  }
}

/** Adds rules to those of a project. Throws PERMISSION_GRANTS_UNREADABLE or PERMISSION_GRANTS_UNWRITABLE. */
export async function addGrants(
  state: string,
  project: string,
  options: { rules: readonly string[] /** ms since the epoch. */; now: number },
): Promise<void> {
  const at = new Date(options.now).toISOString()
  await changeGrants(state, project, (grants) => {
    const known = new Set(grants.map(({ rule }) => rule))
    const fresh = [...new Set(options.rules)].filter((rule) => !known.has(rule))
    return [...grants, ...fresh.map((rule) => ({ rule, at }))]
  })
}

/** Takes rules away; returns those that were there. Throws as `addGrants` does. */
export async function removeGrants(state: string, project: string, rules: readonly string[]): Promise<Grant[]> {
  let removed: Grant[] = []
  await changeGrants(state, project, (grants) => {
    removed = grants.filter(({ rule }) => rules.includes(rule))
    return grants.filter(({ rule }) => !rules.includes(rule))
  })
  return removed
}

async function changeGrants(
  state: string,
  project: string,
  change: (grants: readonly Grant[]) => readonly Grant[],
): Promise<void> {
  const file = grantsFile(state, project)
  try {
    await createFolder(dirname(file))
    await withLock(file, async () => {
      const { grants, fault } = await loadGrants(state, project)
      // What cannot be read is not written over: a person may want to mend it.
      if (fault) throw fault
      const next = change(grants)
      if (next.length !== grants.length) await replaceFile(file, printGrants(project, next))
    })
  } catch (error) {
    if (isSousError(error)) throw error
    throw new SousError("PERMISSION_GRANTS_UNWRITABLE", { file, reason: reasonOf(error) }, { cause: error })
  }
}

function parseGrants(text: string, { file, project }: { file: string; project: string }): Grant[] {
  const value = parseJson(text) as { version?: unknown; project?: unknown; grants?: unknown } | null | undefined
  if (typeof value !== "object" || value === null) throw unreadable(file, "it is no JSON object")
  if (value.version !== VERSION) {
    throw unreadable(file, `its version is ${JSON.stringify(value.version)}, this program reads ${VERSION}`)
  }
  if (value.project !== project) throw unreadable(file, `it belongs to ${JSON.stringify(value.project)}`)
  if (!Array.isArray(value.grants) || !value.grants.every(isGrant))
    throw unreadable(file, "a grant has no rule or date")
  return value.grants
}

function isGrant(value: unknown): value is Grant {
  const { rule, at } = (value ?? {}) as Partial<Grant>
  return typeof rule === "string" && typeof at === "string" && !Number.isNaN(Date.parse(at))
}

/** One grant a line, so that each has a line of its own to be named by. */
function printGrants(project: string, grants: readonly Grant[]): string {
  const lines = grants.map((grant) => `    ${JSON.stringify({ rule: grant.rule, at: grant.at })}`)
  const list = lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n  ]`
  return `{\n  "version": ${VERSION},\n  "project": ${JSON.stringify(project)},\n  "grants": ${list}\n}\n`
}

function ruleOf({ rule, at }: Grant, file: string, text: string): RuleSource {
  const quoted = JSON.stringify(rule)
  const line = text.split("\n").findIndex((one) => one.includes(quoted)) + 1
  const source: RuleSource = { text: rule, behavior: "allow", scope: "local", file, granted: at }
  return line === 0 ? source : { ...source, line }
}

function unreadable(file: string, reason: string): SousError {
  return new SousError("PERMISSION_GRANTS_UNREADABLE", { file, reason })
}
