/**
 * A call that is about to start → the files that it may change, kept in the session's store.
 *
 * Invariant: it goes by what was judged and by nothing else; a call whose files cannot be kept does not start.
 */
import { basename, dirname, join } from "node:path"
import { isReadOnlyCall } from "./permission/cover.ts"
import { resolvePath } from "./permission/path.ts"
import { unitsOf } from "./permission/unit.ts"
import type { Permitted } from "./permit.ts"
import type { AgentScope } from "./scope.ts"
import type { Tool } from "./tool.ts"

/** Keeps them; returns what to call once the call is done. Throws as the store does. */
export async function keepFiles(
  scope: AgentScope,
  tool: Tool,
  id: string,
  permitted: Permitted,
): Promise<() => void | Promise<void>> {
  const { checkpoint } = scope
  if (checkpoint === undefined) return () => {}
  const [paths, command] = [await writtenPaths(permitted), mayChangeMore(permitted)]
  if (paths.length === 0 && !command) return () => {}
  const call = { toolUseId: id, tool: tool.name, turn: scope.turn(), input: permitted.input }
  const done = await checkpoint.before(command ? { ...call, command } : call, paths)
  // What it did is done; without this line, going back asks before it is put over.
  return () => done().catch(() => {})
}

/** It runs a command that is not known to look only. */
function mayChangeMore({ call, facts }: Permitted): boolean {
  if (call.targets.every(({ kind }) => kind !== "command")) return false
  return !isReadOnlyCall(call, unitsOf(call, facts), facts)
}

/** Where the call may write; of a link, the link itself as well as where it leads. */
async function writtenPaths({ call, paths }: Permitted): Promise<string[]> {
  const found = new Set<string>()
  // What only looks like a path may name a whole tree that the call reads.
  const hints = (call.hints ?? []).filter((hint) => hint.kind === "path" && !paths.get(hint.path)?.directory)
  for (const target of [...call.targets, ...hints]) {
    const path = target.kind === "path" && target.access === "write" ? paths.get(target.path) : undefined
    if (path === undefined) continue
    found.add(path.real)
    const above = path.link ? await resolvePath(dirname(path.lexical), "/") : undefined
    if (above) found.add(join(above.real, basename(path.lexical)))
  }
  return [...found]
}
