/**
 * A session with edits whose process is killed at many moments: what is left, and how it goes on. SOUS_TEST_FULL=1 takes
 * a hundred of them.
 */
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { checkConversation } from "sous/testing"
import { expect, it } from "vitest"
import { serve } from "../harness.ts"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const EDITS = 8
/** Lines of events that the whole run writes, about. */
const LINES = 8 * EDITS
const COUNT = process.env["SOUS_TEST_FULL"] ? 100 : 8
const MOMENTS = Array.from({ length: COUNT }, (_, at) => Math.round(1 + (at * LINES) / COUNT))

const answersIn = (messages: any[]) => messages.filter(({ role }) => role === "assistant").length
const isGoingOn = ({ messages }: any) => JSON.stringify(messages.at(-1)).includes("Go on")

it.each(MOMENTS)("kill -9 behind event %i loses at most the turn in flight", async (moment) => {
  place.put("project/a.txt", "n=0\n")
  const server = await serve(({ messages }: any) => {
    const at = answersIn(messages)
    if (isGoingOn({ messages }) || at > EDITS) return { text: "done" }
    if (at === 0) return { text: "I look", tool: { Read: { file_path: "a.txt" } } }
    return { tool: { Edit: { file_path: "a.txt", old_string: `n=${at - 1}`, new_string: `n=${at}` } } }
  })
  const flags = ["--model", "claude-opus-5-5", "--allow-write=.", "--json"]
  const child = place.start(["-p", "Count", ...flags], { more: server.env })
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, "close")
  let left = moment
  lines.on("line", () => {
    if (--left === 0) child.kill("SIGKILL")
  })
  await ended
  const text = readFileSync(join(place.project, "a.txt"), "utf8")
  expect(text).toMatch(/^n=\d\n$/)
  const sent = server.asked().map(({ body }) => body as any)
  const settled = without(sent.at(-2)?.messages ?? [])

  const again = await place.run(["-p", "Go on", "--continue", ...flags], { more: server.env })
  // Killed before there was anything to go on with.
  if (again.code === 2 && sent.length <= 1) {
    expect(again.stderr).toContain("SESSION_NONE")
    return
  }
  expect(again).toMatchObject({ code: 0 })
  const { messages } = server.asked().at(-1)!.body as any
  checkConversation(messages)
  expect(without(messages).slice(0, settled.length)).toEqual(settled)
  // A call stands in the transcript before it runs: the disk is never ahead of what the conversation says.
  const told = [...JSON.stringify(messages).matchAll(/"new_string":"n=(\d)"/g)].map(([, n]) => Number(n))
  expect([0, 1]).toContain(Math.max(0, ...told) - Number(text[2]))
})

/** Messages without the mark that moves on with each request. */
function without(messages: any[]): any[] {
  return JSON.parse(JSON.stringify(messages, (key, value) => (key === "cache_control" ? undefined : value)))
}
