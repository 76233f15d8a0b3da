/**
 * Hooks of a project that was trusted → the same, each with the files that it may start and what these were.
 *
 * Invariant: a hook of another scope is left as it is.
 */
import type { HookSource } from "../hook-source.ts"
import type { Tree } from "../session/tree.ts"
import type { SettingsScope } from "./merge.ts"
import { needsTrust } from "./trust.ts"
import { inTree, realInTree } from "./trust-path.ts"
import type { TrustTree } from "./trust-read.ts"
import { scriptsOf } from "./trust-script.ts"

interface Bound extends Pick<TrustTree, "reaches"> {
  root: string
  home: string | undefined
  tree: Tree
}

/** Adds what the runner of hooks compares right before it starts a command. */
export async function bindHooks(sources: readonly HookSource[], bound: Bound): Promise<HookSource[]> {
  return await Promise.all(
    sources.map(async (source) => {
      const { form, origin } = source
      if (form.type !== "command" || !needsTrust(origin.scope as SettingsScope)) return source
      return { ...source, expects: { root: bound.root, files: await filesFor(form, bound) } }
    }),
  )
}

/** By absolute path, scripts as they are named and modules where they lie: the sha256 of each. */
async function filesFor(
  form: Extract<HookSource["form"], { type: "command" }>,
  { root, home, tree, reaches }: Bound,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  const waiting = (await scriptsOf(form, { root, home })).map((file) => ({ path: inTree(file, root)!, file }))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const real = realInTree(next.path, root) ?? next.path
    const found = tree.files.get(real)
    if (found === undefined || Object.hasOwn(files, next.file)) continue
    files[next.file] = found.sha256
    for (const path of reaches.get(real) ?? []) waiting.push({ path, file: `${root}/${path}` })
  }
  return files
}
