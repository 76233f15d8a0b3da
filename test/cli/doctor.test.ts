/**
 * `sous doctor`: what it says of a place that is whole, and of one in which nearly everything is broken.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

interface Row {
  level: string
  what: string
  state: string
  mend: string
  code?: string
}

async function doctor(...options: Parameters<Place["run"]> extends [unknown, (infer O)?] ? [O?] : never) {
  const { code, stdout, stderr } = await place.run(["doctor", "--json"], ...options)
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Row[] }
  const find = (what: string) => checks.filter((row) => row.what === what)
  return { code, ok, checks, find, stderr }
}

describe("sous doctor", () => {
  it("finds nothing to mend where everything is in place", async () => {
    const more = { ANTHROPIC_API_KEY: "key-of-nobody" }
    const { code, ok, checks } = await doctor({ more })
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect([...new Set(checks.map(({ what }) => what))]).toEqual([
      "node",
      "git",
      "search",
      "terminal",
      "state folder",
      "cache folder",
      "data folder",
      "settings folder",
      "locks",
      "model",
      "trust",
      "settings",
      "hooks",
      "plugins",
      "packs",
    ])
    expect(checks.filter(({ level }) => level !== "ok")).toEqual([])
    expect(JSON.stringify(checks)).not.toContain("key-of-nobody")
    const { stdout } = await place.run(["doctor"], { more })
    expect(stdout).toMatch(/^ok {7}node {13}Node \d+/)
  })

  it("reports everything that is broken, each with its mend", async () => {
    place.put("project/.sous/settings.json", '{ "modle": "x" }')
    place.put("project/.hooks.json", '{ "hooks": { "PreToolUse": [{ "command": "bash gone.sh" }] } }')
    place.put("state", "a file in the way")
    const lock = place.put("home/.config/sous/settings.json.lock", "")
    utimesSync(lock, new Date(0), new Date(0))
    const { code, find } = await doctor({ more: { XDG_STATE_HOME: join(place.folder, "state") } })
    expect(code).toBe(1)
    expect(find("settings")).toMatchObject([{ level: "fault", code: "SETTINGS_KEY_UNKNOWN", mend: 'write "model"' }])
    expect(find("hooks")).toMatchObject([{ level: "fault", state: expect.stringContaining("gone.sh") }])
    expect(find("state folder")).toMatchObject([{ level: "fault", mend: expect.stringMatching(/./) }])
    expect(find("locks")).toMatchObject([{ level: "warning", state: expect.stringContaining(lock) }])
    expect(find("plugins")).toMatchObject([{ level: "warning" }])
  })

  it("tells of plugins that do not load, of packs that are not there, and of trust", async () => {
    place.put("home/.config/sous/settings.json", '{ "packs": { "gone": "npm:gone" } }')
    place.put("home/.config/sous/plugins/bad.mjs", "throw new Error('broken plugin')")
    place.put("project/.claude/settings.json", '{ "permissions": { "allow": ["Bash(ls)"] } }')
    const { code, find } = await doctor()
    expect(code).toBe(1)
    expect(find("plugins")).toMatchObject([{ level: "fault", state: expect.stringContaining("broken plugin") }])
    expect(find("packs")).toMatchObject([{ level: "fault", state: expect.stringContaining("gone") }])
    expect(find("trust")).toMatchObject([{ level: "warning", mend: "look at it with sous trust" }])
    expect(find("model")).toMatchObject([{ level: "warning", mend: expect.stringContaining("ANTHROPIC_API_KEY") }])
  })

  it("says of a model that is set and has no key what it needs", async () => {
    place.put("home/.config/sous/settings.json", '{ "model": "sonnet" }')
    const { code, find } = await doctor()
    expect(code).toBe(1)
    expect(find("model")).toMatchObject([{ level: "fault", code: "MODEL_KEY_MISSING" }])
  })

  it("waits for no plugin that hangs", async () => {
    place.put("home/.config/sous/plugins/slow.mjs", "await new Promise((done) => setTimeout(done, 60_000))")
    const started = performance.now()
    const { checks } = await doctor()
    expect(performance.now() - started).toBeLessThan(6_000)
    expect(checks.filter(({ state }) => state.startsWith("no answer within")).map(({ what }) => what)).toContain(
      "plugins",
    )
    expect(checks.find(({ what }) => what === "settings folder")).toMatchObject({ level: "ok" })
  })

  it("works without a home, without programs, and in a folder that is gone", async () => {
    const bare = await doctor({ env: {} })
    expect(bare.code).toBe(0)
    expect(bare.find("git")).toMatchObject([{ level: "warning", mend: expect.stringContaining("install git") }])
    const gone = join(place.folder, "gone")
    mkdirSync(gone)
    const script = 'cd "$1" && rmdir "$1" && exec "$2" "$3" doctor --json'
    const args = ["-c", script, "sh", gone, process.execPath, place.file]
    const { status, stdout } = spawnSync("sh", args, { env: place.env, encoding: "utf8" })
    expect(status).toBe(1)
    const { checks } = JSON.parse(stdout) as { checks: Row[] }
    expect(checks.filter(({ code }) => code === "CLI_FOLDER_GONE").map(({ what }) => what)).toContain("settings")
    expect(checks.find(({ what }) => what === "node")).toMatchObject({ level: "ok" })
  })

  it.skipIf(process.getuid?.() === 0)("tells of folders that cannot be read or written", async () => {
    mkdirSync(join(place.home, ".config/sous"), { recursive: true })
    chmodSync(join(place.home, ".config/sous"), 0)
    mkdirSync(join(place.home, ".local/state/sous"), { recursive: true, mode: 0o500 })
    const { code, find } = await doctor()
    chmodSync(join(place.home, ".config/sous"), 0o700)
    expect(code).toBe(1)
    expect(find("settings")).toMatchObject([{ level: "fault", code: "SETTINGS_FILE_UNREADABLE" }])
    expect(find("state folder")).toMatchObject([{ level: "fault", mend: expect.stringContaining("chmod u+rwx") }])
  })

  it("says that others can look into the state folder", async () => {
    mkdirSync(join(place.home, ".local/state/sous"), { recursive: true })
    chmodSync(join(place.home, ".local/state/sous"), 0o755)
    const { find } = await doctor()
    expect(find("state folder")).toMatchObject([{ level: "warning", mend: expect.stringMatching(/^chmod 700 /) }])
  })
})
