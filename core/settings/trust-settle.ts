/**
 * A project that brings something, and what a person saw of it → whether it counts, what changed, and where its code is
 * loaded from.
 *
 * Invariant: loaded only where a project brings something; a project that nobody trusted is not read.
 */
import { join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { contentFolder, keepContent } from "../session/content.ts"
import { loadTrust, printsOf, type TrustRecord } from "../session/trust.ts"
import { inTree, realInTree } from "./trust-path.ts"
import { readTrustTree, type TrustTree } from "./trust-read.ts"
import { type ProjectTrust, plainTrust, type TrustChange, type TrustQuestion } from "./trust-state.ts"

/** Compares what lies there with what a person saw. Throws as `settleTrust` does. */
export async function comparePrints(question: TrustQuestion, root: string): Promise<ProjectTrust> {
  const { state, forStart } = question
  const { record, fault } = await loadTrust(state, root)
  if (record?.follow) return { ...plainTrust("follows", question), since: record.at }
  if (record !== undefined || forStart) return await compare(question, root, record)
  return { ...plainTrust("untrusted", question), ...(fault && { fault }) }
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
    return { ...plainTrust("changed", question), changes: [{ file, how: "changed" }], fault: error, ...since }
  }
  const isSame = record?.hash === found.tree.hash
  if (isSame || forStart)
    return { ...(await fromCopies(isSame ? "trusted" : "start", question, root, found)), ...since }
  return {
    ...plainTrust("changed", question),
    changes: changesOf(record?.files ?? {}, printsOf(found.tree)),
    ...since,
  }
}

/** Reads all that counts. Throws TREE_… errors, and TRUST_CHANGED when settings are not any more what was read of them. */
export async function readSubject(question: TrustQuestion, root: string): Promise<TrustTree> {
  const found = await readTrustTree({ ...question, root, home: question.home })
  for (const { file, text } of [...question.sources, ...question.hooks]) {
    if (file === undefined || text === undefined) continue
    const path = inTree(file, root)
    const real = path && (realInTree(path, root) ?? path)
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
    ...plainTrust(state, question),
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
