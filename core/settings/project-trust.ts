/**
 * What a project brings that can execute or widen, and what a person said about it → whether it counts at this start.
 *
 * Invariant: trust is by content and by the project's real path; what was hashed is what is loaded. Where there is nothing
 * to trust, or nobody has trusted it, no file is read for this.
 */
import { join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import { contentFolder, keepContent } from "../session/content.ts"
import { loadTrust, printsOf, type TrustRecord } from "../session/trust.ts"
import type { HookFile } from "./hook-entry.ts"
import type { SettingsSource } from "./merge.ts"
import { withoutTrust } from "./trust.ts"
import { bringsCode } from "./trust-inputs.ts"
import { inTree } from "./trust-path.ts"
import type { TrustTree } from "./trust-read.ts"

/**
 * trusted: as a person saw it; follows: whatever it is; start: for this start only (`--trust`); changed: something is not
 * as a person saw it; untrusted: nobody has said yes; nothing: there is no project, or nothing in it that needs trust.
 */
export type TrustState = "trusted" | "follows" | "start" | "changed" | "untrusted" | "nothing"

/** A file that is not as it was trusted. */
export interface TrustChange {
  /** Relative to the project's root. */
  file: string
  how: "changed" | "added" | "removed"
}

/** What holds for the project of this start. */
export interface ProjectTrust {
  state: TrustState
  /** What executes or widens counts. */
  isTrusted: boolean
  /** In the state `changed`. */
  changes: readonly TrustChange[]
  /** Where a file (absolute, of the project) is loaded from: a copy that has the bytes which were hashed, or itself. */
  copyOf(file: string): string
  /** Says of hooks which files they may start, and what these were when they were hashed; changes nothing else. */
  bindHooks(sources: readonly HookSource[]): Promise<HookSource[]>
  /** ISO 8601, UTC: when a person said yes. Left out: nobody has. */
  since?: string
  /** Why what a person said cannot be used: TRUST_STORE_UNREADABLE, or a TREE_… error of a file that counts. */
  fault?: SousError
  /** What it was about; the sources with all that they set. */
  question: TrustQuestion
}

export interface TrustQuestion {
  /** The project's root, a real path. */
  root: string | undefined
  /** Absolute; left out: there is none. */
  home?: string | undefined
  /** Sources of the scopes project and local, as they were read. */
  sources: readonly SettingsSource[]
  /** The hooks of these and of `.hooks.json`. */
  hooks: readonly HookFile[]
  /** Files of code that settings lie in (`settings.ts`), absolute. */
  code: readonly string[]
  /** The state folder, absolute. */
  state: string
  /** Where copies are kept, absolute. */
  data: string
  /** `--trust`. */
  forStart: boolean
}

/** Finds out whether the project counts. Throws TREE_… errors with `forStart`, and SESSION_FOLDER_… errors. */
export async function settleTrust(given: TrustQuestion): Promise<ProjectTrust> {
  // What is left out later is taken out of the sources themselves.
  const question = { ...given, sources: given.sources.map((source) => ({ ...source })) }
  const { root, state } = question
  if (root === undefined || !needsSomebody(question, root)) return withoutCopies("nothing", question)
  const { record, fault } = await loadTrust(state, root)
  if (record?.follow) return { ...withoutCopies("follows", question), since: record.at }
  if (record === undefined && !question.forStart)
    return { ...withoutCopies("untrusted", question), ...(fault && { fault }) }
  return await compare(question, root, record)
}

/** True when anything of the project needs a yes. */
function needsSomebody({ sources, hooks, code }: TrustQuestion, root: string): boolean {
  if (hooks.length > 0 || code.length > 0 || bringsCode(root)) return true
  return sources.some(({ values }) => withoutTrust(values).leftOut.length > 0)
}

function withoutCopies(state: TrustState, question: TrustQuestion): ProjectTrust {
  return {
    state,
    isTrusted: state === "follows",
    changes: [],
    copyOf: (file) => file,
    bindHooks: async (sources) => [...sources],
    question,
  }
}

async function compare(question: TrustQuestion, root: string, record: TrustRecord | undefined): Promise<ProjectTrust> {
  const { forStart } = question
  const since = record === undefined ? {} : { since: record.at }
  let found: TrustTree
  try {
    found = await readSubject(question, root)
  } catch (error) {
    if (forStart || !isSousError(error)) throw error
    const file = inTree(String((error.details as { file?: string }).file ?? root), root) ?? "."
    return { ...withoutCopies("changed", question), changes: [{ file, how: "changed" }], fault: error, ...since }
  }
  const isSame = record?.hash === found.tree.hash
  if (isSame || forStart)
    return { ...(await fromCopies(isSame ? "trusted" : "start", question, root, found)), ...since }
  return {
    ...withoutCopies("changed", question),
    changes: changesOf(record?.files ?? {}, printsOf(found.tree)),
    ...since,
  }
}

/** Reads all that counts. Throws TREE_… errors, and TRUST_CHANGED when settings are not any more what was read of them. */
export async function readSubject(question: TrustQuestion, root: string): Promise<TrustTree> {
  const { readTrustTree } = await import("./trust-read.ts")
  const found = await readTrustTree({ ...question, root, home: question.home })
  for (const { file, text } of [...question.sources, ...question.hooks]) {
    if (file === undefined || text === undefined) continue
    const path = inTree(file, root)
    const real = path === undefined ? undefined : (found.tree.links.get(path) ?? path)
    // What counts was read before this: both must have been the same.
    if (real !== undefined && found.tree.files.get(real)?.bytes.toString() !== text)
      throw new SousError("TRUST_CHANGED", { file })
  }
  return found
}

async function fromCopies(
  state: "trusted" | "start",
  question: TrustQuestion,
  root: string,
  { tree, isLoaded, reaches }: TrustTree,
): Promise<ProjectTrust> {
  const copy = isLoaded ? await keepContent(tree, question.data) : contentFolder(tree.hash, question.data)
  return {
    ...withoutCopies(state, question),
    isTrusted: true,
    // A file of the project that was not hashed has no copy, and cannot be loaded.
    copyOf(file) {
      const path = inTree(file, root)
      return path === undefined ? file : join(copy, path)
    },
    async bindHooks(sources) {
      const { bindHooks } = await import("./trust-hook.ts")
      return await bindHooks(sources, { root, home: question.home, tree, reaches })
    },
  }
}

/** What is not as it was, by file. */
export function changesOf(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): TrustChange[] {
  const files = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()
  return files.flatMap((file): TrustChange[] => {
    if (!Object.hasOwn(before, file)) return [{ file, how: "added" }]
    if (!Object.hasOwn(now, file)) return [{ file, how: "removed" }]
    return before[file] === now[file] ? [] : [{ file, how: "changed" }]
  })
}
