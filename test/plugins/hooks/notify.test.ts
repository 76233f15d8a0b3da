import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { createKit, mergeSettings } from "sous"
import { describe, expect, test } from "vitest"
import notify from "../../../plugins/hooks/notify.ts"
import { after, folder } from "../../harness.ts"

const EVENT = { kind: "permission_prompt", message: "Bash waits for an answer" }

/** What becomes of one notification. */
async function fire(own: object, env: Record<string, string> = {}, event = EVENT) {
  const settings = mergeSettings([{ scope: "user", base: "/", values: { pluginSettings: { notify: own as never } } }])
  const kit = await createKit({ plugins: [notify], settings, cwd: folder(), env, home: folder(), strict: true })
  after(() => kit.close())
  const { executions, notices } = await kit.testHooks("Notification", event)
  return { outcomes: executions.map(({ outcome }) => outcome), notices }
}

/** A server that answers with `status`, and what it was sent. */
async function webhook(status = 200) {
  const sent: { headers: IncomingHttpHeaders; body: any }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    sent.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
    response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("ok")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  after(() => server.close())
  return { sent, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

describe("notify", () => {
  test("posts to a webhook, with headers from the environment", async () => {
    const { sent, url } = await webhook()
    const own = { webhook: url, headers: { Authorization: "Bearer ${NOTE_TOKEN}" } }
    expect(await fire(own, { NOTE_TOKEN: "t0k" })).toEqual({ outcomes: ["pass"], notices: [] })
    expect(sent).toHaveLength(1)
    expect(sent[0]!.headers).toMatchObject({ authorization: "Bearer t0k", "content-type": "application/json" })
    expect(sent[0]!.body).toMatchObject({ ...EVENT, text: expect.stringMatching(/^sous in .*: Bash waits/) })
    expect(Object.keys(sent[0]!.body).sort()).toEqual(["kind", "message", "project", "session_id", "text"])
  })

  test.each([500, 302])("warns of a webhook that answers with %i", async (status) => {
    const { url } = await webhook(status)
    const { outcomes, notices } = await fire({ webhook: url })
    expect(outcomes).toEqual(["failed"])
    expect(notices.join()).toContain(`the webhook answered with the status ${status}`)
  })

  test.runIf(process.platform === "linux")("shows it on the desktop where there is no webhook", async () => {
    const bin = folder()
    const program = join(bin, "notify-send")
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > ${bin}/said\n`)
    chmodSync(program, 0o755)
    const message = "$(touch x) -u critical"
    const { outcomes } = await fire({}, { PATH: `${bin}:/usr/bin:/bin` }, { kind: "x", message })
    expect(outcomes).toEqual(["pass"])
    expect(readFileSync(join(bin, "said"), "utf8")).toMatch(
      /^--app-name=sous\n--\nsous in .*\n\$\(touch x\) -u critical\n$/,
    )
  })

  test.runIf(process.platform === "linux")("warns where there is no desktop", async () => {
    const { outcomes, notices } = await fire({ desktop: true }, { PATH: folder() })
    expect(outcomes).toEqual(["failed"])
    expect(notices.join()).toContain("the desktop cannot be reached")
  })

  test("fires for the kinds that it was given, and refuses settings that it does not know", async () => {
    const { sent, url } = await webhook()
    expect(await fire({ webhook: url, kinds: "run_finished" })).toEqual({ outcomes: [], notices: [] })
    expect(sent).toEqual([])
    await expect(fire({ webhok: url })).rejects.toMatchObject({ code: "PLUGIN_SETTINGS_INVALID" })
    await expect(fire({ webhook: "ftp://x/" })).rejects.toMatchObject({ code: "PLUGIN_SETTINGS_INVALID" })
  })
})
