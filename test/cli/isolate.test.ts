/**
 * Plugins in processes of their own, in runs of the built command.
 */
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const GUEST = `
import { block, definePlugin, defineTool, z } from "sous"
import { readFileSync } from "node:fs"
import { shout } from "./shout.ts"

export default definePlugin({
  name: "guest",
  capabilities: { tools: ["Count", "Steal", "Spin"], read: ["words"] },
  tools: [
    defineTool({
      name: "Count", description: "Counts words.", input: z.object({ file: z.string() }), readOnly: true,
      targets: ({ file }) => [{ kind: "path", access: "read", path: file }],
      execute: async ({ file }, { cwd }) => shout(readFileSync(cwd + "/" + file, "utf8").split(" ").length + " words"),
    }),
    defineTool({
      name: "Steal", description: "Steals.", input: z.object({}), readOnly: true,
      execute: async () => readFileSync("/etc/passwd", "utf8"),
    }),
    defineTool({
      name: "Spin", description: "Spins.", input: z.object({}), readOnly: true,
      execute: async (_, context) => { context.progress("pid " + process.pid); while (true); },
    }),
  ],
  hooks: {
    PreToolUse: { matcher: "Bash", handler({ tool_input: { command } }) {
      if (command.includes("crash")) process.exit(9)
      return command.includes("touch") ? block("no touching") : undefined
    } },
  },
})`

const turns = (...list: object[]) => JSON.stringify({ turns: [...list, { text: "done" }] })

beforeEach(() => {
  place.put("home/guests/guest.ts", GUEST)
  place.put("home/guests/shout.ts", "export const shout = (text: string): string => text.toUpperCase()")
  const plugins = [{ plugin: join(place.home, "guests/guest.ts"), isolation: "process" }]
  place.put("home/.config/sous/settings.json", JSON.stringify({ plugins }))
  place.put("project/words/a.txt", "one two three")
  place.put("project/other/b.txt", "one two")
})

/** The results of the calls that a model makes, by the order of the calls. */
async function results(...calls: object[]): Promise<{ text: string; isError: boolean }[]> {
  place.put("project/turns.yaml", turns(...calls.map((tool) => ({ tool }))))
  const args = ["-p", "go", "--model", "script:turns.yaml", "--json", "--allow-run"]
  const { stdout } = await place.run(args)
  const events = stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []))
  return events.filter(({ type }) => type === "tool_result").map(({ preview, isError }) => ({ text: preview, isError }))
}

describe("a plugin in a process of its own", () => {
  it("serves its tool, within what it declares and what rules allow", async () => {
    place.put("project/.sous/settings.json", JSON.stringify({ permissions: { deny: ["Count(words/secret.txt)"] } }))
    const [count, denied, other, steal] = await results(
      { Count: { file: "words/a.txt" } },
      { Count: { file: "words/secret.txt" } },
      { Count: { file: "other/b.txt" } },
      { Steal: {} },
    )
    expect(count).toEqual({ text: "3 WORDS", isError: false })
    expect(denied).toMatchObject({ isError: true, text: expect.stringContaining("words/secret.txt") })
    expect(other).toMatchObject({ isError: true, text: expect.stringContaining("is none of its capabilities") })
    expect(steal).toMatchObject({ isError: true, text: expect.stringContaining('reading "/etc/passwd"') })
  })

  it("guards: its hook blocks, and blocks also when its process dies", async () => {
    const [touch, crash, echo] = await results(
      { Bash: { command: "touch made" } },
      { Bash: { command: "touch crash" } },
      { Bash: { command: "echo fine" } },
    )
    expect(touch).toMatchObject({ isError: true, text: expect.stringContaining("no touching") })
    expect(crash).toMatchObject({ isError: true, text: expect.stringContaining("exit 9") })
    expect(echo).toEqual({ text: "fine", isError: false })
    expect(existsSync(join(place.project, "made"))).toBe(false)
    expect(existsSync(join(place.project, "crash"))).toBe(false)
  })

  it("ends with the command, also when that is killed while the plugin spins", async () => {
    place.put("project/turns.yaml", turns({ tool: { Spin: {} } }))
    const child = place.start(["-p", "go", "--model", "script:turns.yaml", "--json"])
    let pid: number | undefined
    for await (const piece of child.stdout) {
      pid ??= Number(/pid (\d+)/.exec(String(piece))?.[1] ?? Number.NaN) || undefined
      if (pid !== undefined) break
    }
    expect(isRunning(pid!)).toBe(true)
    child.kill("SIGKILL")
    await once(child, "exit")
    await expect.poll(() => isRunning(pid!), { timeout: 5000 }).toBe(false)
  })
})

/** False also for one that has ended and that nobody has asked about yet (proc(5)). */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync("/proc/self") || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
