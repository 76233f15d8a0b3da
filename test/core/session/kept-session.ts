/**
 * A session in a folder of its own, whose turns change a real tree the way tools do: kept before, noted after.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { checkpointPlace, createCheckpointStore } from "../../../core/session/checkpoint.ts"
import type { RewindSubject } from "../../../core/session/rewind-plan.ts"
import { followChain } from "../../../core/session/session-chain.ts"
import { createTranscript, readTranscript } from "../../../core/session/transcript.ts"
import { folder } from "../../harness.ts"

/** One change: the paths (relative) that a tool names before it makes it, and how it makes it. */
export interface Edit {
  paths: readonly string[]
  make(): void
}

export interface KeptSession {
  subject: RewindSubject
  /** The tree, absolute. */
  tree: string
  /** Absolute. */
  at(path: string): string
  /** One answer of the model, with a call for each edit, and their results. A function is asked when it is its turn. */
  turn(
    edits?: readonly (Edit | (() => Edit | undefined))[],
    options?: { commands?: number; said?: string },
  ): Promise<void>
  /** Turns of the conversation as it stands. */
  turns(): Promise<number>
}

/** Starts a session without a turn. */
export async function keptSession(): Promise<KeptSession> {
  const [state, tree] = [folder(), folder()]
  const file = join(state, "s1.jsonl")
  const subject = { id: "s1", file, checkpoints: checkpointPlace(join(state, "s1")) }
  const store = createCheckpointStore(join(state, "s1"))
  const at = (path: string) => join(tree, path)
  const first = createTranscript(file, { cwd: tree })
  first.append("run", { run: "r1", folder: state })
  await first.close()
  let count = 0
  const turns = async () => {
    const { entries } = await readTranscript(file)
    return followChain(entries).entries.filter(({ type }) => type === "assistant").length
  }
  return {
    subject,
    tree,
    at,
    turns,
    async turn(edits = [], { commands = 0, said } = {}) {
      const { entries, size } = await readTranscript(file)
      const turn = (await turns()) + 1
      const transcript = createTranscript(file, {}, { after: { uuid: entries.at(-1)!.uuid, size } })
      if (said !== undefined || turn === 1) {
        const content = [{ type: "text", text: said ?? "Go" }]
        transcript.append("user", { message: { role: "user", content }, said: [0] })
      }
      const ids = [...edits, ...Array.from({ length: commands })].map(() => `toolu_${++count}`)
      const uses = ids.map((id) => ({ type: "tool_use", id, name: "Write", input: {} }))
      const text = { type: "text", text: `Turn ${turn}` }
      transcript.append("assistant", { message: { role: "assistant", content: [text, ...uses] } })
      for (const [index, id] of ids.entries()) {
        const given = edits[index]
        const edit = typeof given === "function" ? given() : given
        if (edit === undefined && index < edits.length) continue
        const call = { toolUseId: id, tool: edit ? "Write" : "Shell", turn }
        const done = await store.before(edit ? call : { ...call, command: true }, edit?.paths.map(at) ?? [])
        edit?.make()
        await done()
      }
      const results = ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "done" }))
      if (results.length > 0) transcript.append("user", { message: { role: "user", content: results } })
      await transcript.close()
    },
  }
}

/** What stands in a tree: path → kind, mode and content, of everything in it. */
export function snapshot(root: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(join(root, below))) {
    const path = below === "" ? name : `${below}/${name}`
    const place = join(root, path)
    const stats = lstatSync(place)
    const mode = (stats.mode & 0o7777).toString(8)
    if (stats.isSymbolicLink()) found[path] = `link ${readlinkSync(place)}`
    else if (stats.isDirectory()) Object.assign(found, { [path]: `folder ${mode}` }, snapshot(root, path))
    else found[path] = `file ${mode} ${readFileSync(place, "latin1")}`
  }
  return found
}
