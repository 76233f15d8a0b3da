/**
 * A folder that somebody else has made: whatever is started in it, none of its code runs before a person has trusted it.
 *
 * Each row of hostile-vectors.ts lies in a folder of its own, and all that can lie together in one more. Where the feature
 * is here, the row fires once the folder is trusted, and not any more when one byte of it has changed.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Ended, finished, type Place, useCommand } from "./command.ts"
import { VECTORS, type Vector } from "./hostile-vectors.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
  mkdirSync(join(fresh.folder, "marks"))
  mkdirSync(join(fresh.folder, "outside"))
  const allow = ["Bash(echo *)", "Bash(node -e 0)", "Bash(printf *)", "Bash(tr *)", "Bash(touch *)"]
  fresh.put("home/.config/sous/settings.json", JSON.stringify({ permissions: { allow } }))
  // A plugin of the person's own, so that loaders of code are at work in the folder.
  fresh.put(
    "home/.config/sous/plugins/own.ts",
    'import { definePlugin, z } from "sous"\nexport default definePlugin({ name: "own", settings: z.object({}) })\n',
  )
})

/** How long a start may take, ms; one that waits for the folder would take for ever. */
const PATIENCE_MS = 20_000

const markOf = ({ name }: Vector) => name.replace(/[^\w.-]+/g, "-")
const ran = () => readdirSync(join(place.folder, "marks")).sort()

function lay(vector: Vector): void {
  const file = join(place.folder, "marks", markOf(vector))
  vector.lay({
    project: place.project,
    outside: join(place.folder, "outside"),
    mark: `touch '${file}'`,
    markCode: `;(await import("node:fs")).writeFileSync(${JSON.stringify(file)}, "")`,
    put: (path, text) => {
      const target = join(place.project, path)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, typeof text === "string" ? text : JSON.stringify(text, null, 2))
    },
  })
}

/** Starts it with a model that makes one call; ends it when it waits. */
async function start(args: readonly string[], { command = "echo hi" }: Pick<Vector, "command"> = {}): Promise<Ended> {
  const turns = [{ tool: { Bash: { command } } }, { text: "done" }]
  place.put("turns.json", JSON.stringify({ turns }))
  const model = args[0] === "-p" || args[0] === "run" ? ["--model", `script:${join(place.folder, "turns.json")}`] : []
  const child = place.start([...args, ...model])
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS)
  const ended = await finished(child)
  clearTimeout(late)
  return ended
}

describe("a folder with one thing that would run", () => {
  it.each(VECTORS.map((vector) => [vector.name, vector] as const))("runs nothing of it: %s", async (_, vector) => {
    lay(vector)
    const starts = [["-p", "Go"], ["check"], ...(vector.fires && vector.fires[0] !== "-p" ? [vector.fires] : [])]
    const ended: Ended[] = []
    for (const args of starts) ended.push(await start(args, vector))
    expect(ran()).toEqual([])
    for (const { code } of ended) expect([0, 1, 2]).toContain(code)
    if (vector.fires === undefined) return
    expect(await start(["trust", "--yes"])).toMatchObject({ code: 0 })
    expect(ran()).toEqual([])
    const trusted = await start(vector.fires, vector)
    expect(ran(), trusted.stderr).toEqual([markOf(vector)])
    rmSync(join(place.folder, "marks", markOf(vector)))
    appendFileSync(join(place.project, vector.changes!), "\n")
    const { stderr } = await start(vector.fires, vector)
    expect(ran()).toEqual([])
    expect(stderr).toContain(`changed "${vector.changes}"`)
  })
})
