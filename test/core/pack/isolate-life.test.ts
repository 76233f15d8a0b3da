import { existsSync, readFileSync } from "node:fs"
import { createKit } from "sous"
import { describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import type { HookHandler } from "../../../core/hook.ts"
import { contextOf, toolPlugin, usePlace } from "./isolate-place.ts"

const place = usePlace()

const DYING = toolPlugin(`
  if (input.exit !== undefined) process.exit(input.exit)
  if (input.throw) setTimeout(() => { throw new Error("late and uncaught") })
  if (input.hang) while (true);
  if (input.wait) await new Promise((resolve) => setTimeout(resolve, input.wait))
  if (input.patient) await new Promise((resolve) => context.signal.addEventListener("abort", resolve))
  return { content: "alive", data: { pid: process.pid, aborted: context.signal.aborted } }`)

const pidOf = (output: unknown) => (output as { data: { pid: number } }).data.pid

/** False also for one that has ended and that nobody has asked about yet (proc(5)). */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync("/proc/self") || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

describe("the process of an isolated plugin", () => {
  it("fails its calls in flight when it dies, is started again at the next one, three times", async () => {
    const loaded = await place.load(DYING)
    const waiting = loaded.call({ wait: 20_000 })
    await Promise.all([
      expect(waiting).rejects.toThrow("ended with exit 0"),
      expect(loaded.call({ exit: 0 })).rejects.toThrow("its process ended with exit 0"),
    ])
    const pid = pidOf(await loaded.call())
    expect(loaded.restarts).toBe(1)
    const killed = loaded.call({ wait: 20_000 })
    setTimeout(() => process.kill(pid, "SIGKILL"), 50)
    await expect(killed).rejects.toThrow("its process was ended by SIGKILL")
    await expect(loaded.call({ throw: true, wait: 5000 })).rejects.toThrow("Error: late and uncaught")
    await expect(loaded.call({ exit: 3 })).rejects.toThrow("exit 3")
    expect(loaded.restarts).toBe(3)
    expect(loaded.fault).toBeUndefined()
    for (let n = 0; n < 2; n++)
      await expect(loaded.call()).rejects.toThrow("started again 3 times, and ended each time")
    expect(loaded.fault).toContain("exit 3")
    expect(loaded.restarts).toBe(3)
    expect(loaded.notices.join("\n")).toContain(
      'plugin "guest" is started again (1 of 3): its process ended with exit 0',
    )
  })

  it("is started once for calls that come together", async () => {
    const loaded = await place.load(DYING)
    await expect(loaded.call({ exit: 1 })).rejects.toThrow("exit 1")
    const outputs = await Promise.all([loaded.call(), loaded.call(), loaded.call()])
    expect(new Set(outputs.map(pidOf)).size).toBe(1)
    expect(loaded.restarts).toBe(1)
  })

  it("hears of an abort, and is killed when it does not stop", async () => {
    const loaded = await place.load(DYING)
    const abort = new AbortController()
    const patient = loaded.call({ patient: true }, { signal: abort.signal })
    setTimeout(() => abort.abort(), 100)
    expect(await patient).toMatchObject({ data: { aborted: true } })
    const later = new AbortController()
    const hung = loaded.call({ hang: true }, { signal: later.signal })
    setTimeout(() => later.abort(), 50)
    await expect(hung).rejects.toThrow("did not stop when it was told to")
    expect(await loaded.call()).toMatchObject({ content: "alive" })
    await expect(loaded.call({}, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before")
  })

  it("is killed when it does not say what a call touches, or does not read", async () => {
    const loaded = await place.load(
      `export default { name: "guest", tools: [{ name: "T", description: "d",
      input: { type: "object" }, targets: ({ hang }) => { while (hang); return [] },
      execute: async ({ hang }) => { while (hang); return "x" } }] }`,
      { factsMs: 300 },
    )
    await expect(loaded.tool().facts?.({ hang: true }, { cwd: "/" })).rejects.toThrow("did not answer within 0.3 s")
    const big = "x".repeat(7e6)
    const asked = [loaded.call({ hang: true }), ...[1, 2, 3, 4].map(() => loaded.call({ big }))]
    const [first] = await Promise.all(asked.map((one) => one.catch((error: Error) => error.message)))
    expect(first).toContain("did not read what it was sent")
  })

  it("may say nothing else of itself when it is started again", async () => {
    const loaded = await place.load({
      "plugin.mjs": `import fs from "node:fs"
        const note = new URL("./note", import.meta.url)
        export default { name: "guest", tools: [{ name: "T", description: fs.existsSync(note) ? fs.readFileSync(note, "utf8") : "d",
          input: { type: "object" }, execute: async () => process.exit(0) }] }`,
    })
    await expect(loaded.call()).rejects.toThrow("exit 0")
    const { writeFileSync } = await import("node:fs")
    writeFileSync(`${loaded.folder}/note`, "changed")
    await expect(loaded.call()).rejects.toThrow("says something else of itself than before")
  })

  it("is not started again from files that are no longer what they were", async () => {
    const verify = async () => {
      throw new Error("the files are others")
    }
    const loaded = await place.load(
      `export default { name: "guest", tools: [{ name: "T", description: "d", input: { type: "object" }, execute: async () => process.exit(0) }] }`,
      { verify },
    )
    await expect(loaded.call()).rejects.toThrow("exit 0")
    await expect(loaded.call()).rejects.toThrow("the files are others")
  })

  it("is brought as far as before when it is started again", async () => {
    const loaded = await place.load(`export default { name: "guest", setup: ({ settings }) => ({ tools: [{ name: "T",
      description: "d", input: { type: "object" }, execute: async ({ exit }) => exit ? process.exit(1) : settings.word }] }) }`)
    const { setup } = loaded.plugin as unknown as { setup(given: object): Promise<typeof loaded.plugin> }
    const [T] = (await setup({ settings: { word: "kept" }, cwd: "/" })).tools!
    const call = async (input: object) => await T!.execute(input as never, contextOf(loaded.folder))
    await expect(call({ exit: true })).rejects.toThrow("exit 1")
    expect(await call({})).toBe("kept")
  })

  it("is gone when it is closed, what it started as well, after it gave back what it holds", async () => {
    const loaded = await place.load(
      toolPlugin(
        `const { spawn } = require("child_process"); return { content: "", data: { pid: spawn("sleep", ["60"]).pid } }`,
        `dispose() { console.log("given back") },`,
      ),
      { capabilities: { tools: ["T"], exec: ["sleep"] } },
    )
    const pid = pidOf(await loaded.call())
    expect(isAlive(pid)).toBe(true)
    await loaded.plugin.dispose?.()
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect(loaded.notices.join()).toContain("given back")
    await loaded.close()
    await expect(loaded.call()).rejects.toThrow("closed")
  })

  it("keeps a hook's time, and is killed when it does not stop with it", async () => {
    const loaded = await place.load(`export default { name: "guest", hooks: { PreToolUse: () => { while (true); } } }`)
    const [{ handler }] = loaded.plugin.hooks!.PreToolUse as unknown as [{ handler: HookHandler<"PreToolUse"> }]
    const over = new AbortController()
    setTimeout(() => over.abort(), 100)
    await expect(handler({} as never, { signal: over.signal })).rejects.toThrow("did not stop when it was told to")
  })

  it("is set up in a kit, which names what it adds", async () => {
    const loaded = await place.load(DYING)
    const kit = await createKit({
      plugins: [loaded.plugin],
      settings: (await import("sous")).mergeSettings([]),
      cwd: loaded.folder,
      env: {},
    } as never).catch((error) => error)
    expect(isSousError(kit)).toBe(false)
    expect(JSON.stringify(kit.describe().plugins)).toContain("tool T")
    const pid = pidOf(await loaded.call())
    await kit.close()
    expect(isAlive(pid)).toBe(false)
  })

  it("outlives its dispose where another generation of the kit goes on with it", async () => {
    const loaded =
      await place.load(`export default { name: "guest", hooks: { PreToolUse: () => ({ kind: "block", reason: "own" }) },
      setup: ({ settings: { word } }) => ({ hooks: { PreToolUse: () => ({ kind: "block", reason: word }) } }) }`)
    const { setup } = loaded.plugin as unknown as { setup(given: object): Promise<typeof loaded.plugin> }
    const reason = async (plugin: typeof loaded.plugin) => {
      const [{ handler }] = plugin.hooks!.PreToolUse as unknown as [{ handler: HookHandler<"PreToolUse"> }]
      return (await handler({} as never, { signal: new AbortController().signal })) as object
    }
    expect(await reason(await setup({ settings: { word: "first" }, cwd: "/" }))).toMatchObject({ reason: "first" })
    const second = await setup({ settings: { word: "second" }, cwd: "/" })
    expect(await reason(second)).toMatchObject({ reason: "second" })
    await loaded.plugin.dispose?.()
    expect(await reason(second)).toMatchObject({ reason: "second" })
    expect(await reason(loaded.plugin)).toMatchObject({ reason: "own" })
    expect(loaded.restarts).toBe(0)
  })
})
