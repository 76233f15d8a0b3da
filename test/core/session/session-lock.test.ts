import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { holderOf, holdSession } from "../../../core/session/session-lock.ts"
import { after, folder } from "../../harness.ts"

/** A process that takes the lock and lives on. */
async function holder(place: string) {
  const script = `
    import { holdSession } from "./core/session/session-lock.ts"
    await holdSession(process.env.PLACE, "talk")
    console.log("held")
    setInterval(() => {}, 1e6)
  `
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    env: { ...process.env, PLACE: place },
    cwd: join(import.meta.dirname, "../../.."),
  })
  after(() => child.kill("SIGKILL"))
  await once(child.stdout, "data")
  return child
}

describe("holdSession()", () => {
  it("keeps a second one out, in this process and from another, until it is given back", async () => {
    const place = folder()
    const release = await holdSession(place, "talk")
    await expect(holdSession(place, "talk")).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { id: "talk", holder: `process ${process.pid}` },
    })
    await (await holdSession(place, "other"))()
    await release()
    expect(readdirSync(place)).toEqual([])
    const child = await holder(place)
    await expect(holdSession(place, "talk")).rejects.toMatchObject({ code: "SESSION_LOCKED" })
    expect(await holderOf(place, "talk")).toBe(`process ${child.pid}`)
  })

  it("takes over from a holder that was killed", async () => {
    const place = folder()
    const child = await holder(place)
    child.kill("SIGKILL")
    await once(child, "close")
    expect(await holderOf(place, "talk")).toBeUndefined()
    const release = await holdSession(place, "talk")
    expect(JSON.parse(readFileSync(join(place, "talk.holder"), "utf8"))).toMatchObject({ pid: process.pid })
    expect(statSync(join(place, "talk.holder")).mode & 0o777).toBe(0o600)
    await release()
  })

  it("lets one of several take over", async () => {
    const place = folder()
    writeFileSync(join(place, "talk.holder"), JSON.stringify({ pid: 2 ** 22 + 1, started: "", host: "nowhere" }))
    age(join(place, "talk.holder"))
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => holdSession(place, "talk")))
    const taken = tries.filter(({ status }) => status === "fulfilled")
    expect(taken).toHaveLength(1)
    for (const one of tries) if (one.status === "fulfilled") await one.value()
  })

  it("does not take another process with the same id for the holder", async () => {
    const place = folder()
    await holdSession(place, "talk")
    const file = join(place, "talk.holder")
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), started: "1" }))
    expect(await holderOf(place, "talk")).toBe(process.platform === "linux" ? undefined : expect.anything())
  })

  it("believes a holder on another machine, and half a lock, for a minute", async () => {
    const place = folder()
    const file = join(place, "talk.holder")
    for (const text of [JSON.stringify({ pid: 1, started: "", host: "far away" }), '{"pid":']) {
      writeFileSync(file, text)
      await expect(holdSession(place, "talk")).rejects.toMatchObject({ code: "SESSION_LOCKED" })
      age(file)
      await (await holdSession(place, "talk"))()
    }
  })
})

function age(file: string): void {
  const then = new Date(Date.now() - 61_000)
  utimesSync(file, then, then)
}
