/**
 * `sous permissions` from outside: what it lists, what it takes back, what it refuses.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

/** Lists for a machine. */
async function list() {
  const { code, stdout, stderr } = await place.run(["permissions", "list", "--json"])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

/** Grants as a person would have, and the file that they lie in. */
async function grant(...rules: string[]): Promise<string> {
  const { grantsFile } = await list()
  const grants = rules.map((rule, index) => ({ rule, at: `2026-01-0${index + 1}T10:00:00.000Z` }))
  place.put(
    grantsFile.slice(place.folder.length + 1),
    JSON.stringify({ version: 1, project: place.project, grants }, null, 1),
  )
  execFileSync("chmod", ["600", grantsFile])
  return grantsFile
}

describe("sous permissions", () => {
  test("lists mode, rules with their places, and grants with number and date", async () => {
    place.put("home/.config/sous/settings.json", '{ "permissions": { "deny": ["Bash(rm *)"] } }')
    await grant("Bash(npm test)", "Bash(echo \n  y)")
    const { code, stdout } = await place.run(["permissions", "--allow-run=git"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Mode default\nRules\n/)
    expect(stdout).toMatch(/ {2}deny +Bash\(rm \*\) +user {2}\S*settings\.json:1:\d+\n/)
    expect(stdout).toMatch(/ {2}allow +--allow-run=git +cli\n/)
    expect(stdout).toMatch(/ {2}1 {2}Bash\(npm test\) +2026-01-01 10:00\n {2}2 {2}Bash\(echo \\n {2}y\) /)
    expect((await list()).grants).toEqual([
      { number: 1, rule: "Bash(npm test)", at: "2026-01-01T10:00:00.000Z", line: 6 },
      { number: 2, rule: "Bash(echo \n  y)", at: "2026-01-02T10:00:00.000Z", line: 10 },
    ])
  })

  test("writes nothing to list", async () => {
    await place.run(["permissions"])
    expect(readdirSync(place.project)).toEqual([".git"])
    expect(existsSync(join(place.home, ".local/state/sous/projects"))).toBe(false)
  })

  test("revokes one by number or rule, all with --all, and says when there is nothing", async () => {
    await grant("Bash(a)", "Bash(b)", "Bash(c)", "Bash(d)")
    expect((await place.run(["permissions", "revoke", "2"])).stdout).toBe("revoked  Bash(b)\n")
    const byRule = await place.run(["permissions", "revoke", "Bash(d)", "--json"])
    expect(JSON.parse(byRule.stdout)).toEqual({ revoked: [{ rule: "Bash(d)", at: "2026-01-04T10:00:00.000Z" }] })
    expect((await list()).grants.map(({ rule }: { rule: string }) => rule)).toEqual(["Bash(a)", "Bash(c)"])
    expect((await place.run(["permissions", "revoke", "--all"])).stdout).toBe("revoked  Bash(a)\nrevoked  Bash(c)\n")
    expect(await place.run(["permissions", "revoke", "--all"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("nothing to revoke"),
    })
  })

  test("loses nothing when several processes revoke at once", async () => {
    const file = await grant("Bash(a)", "Bash(b)", "Bash(c)", "Bash(d)", "Bash(e)")
    const rules = ["Bash(a)", "Bash(b)", "Bash(d)", "Bash(e)"]
    const ended = await Promise.all(rules.map((rule) => place.run(["permissions", "revoke", rule])))
    expect(ended.map(({ code, stdout }) => [code, stdout])).toEqual(rules.map((rule) => [0, `revoked  ${rule}\n`]))
    expect(JSON.parse(readFileSync(file, "utf8")).grants.map(({ rule }: { rule: string }) => rule)).toEqual(["Bash(c)"])
    expect(readdirSync(join(file, "..")).filter((name) => name.startsWith("grants"))).toEqual(["grants.json"])
  })

  test.each([
    [["revoke", "3"], "PERMISSION_GRANT_UNKNOWN"],
    [["revoke", "Bash(x)"], "PERMISSION_GRANT_UNKNOWN"],
    [["revoke"], "CLI_ARGUMENT_MISSING"],
    [["revoke", "1", "--all"], "CLI_FLAGS_CONFLICT"],
    [["--all"], "CLI_ARGUMENT_UNEXPECTED"],
    [["revke", "1"], "sous permissions revoke"],
    [["list", "more"], "CLI_ARGUMENT_UNEXPECTED"],
  ])("refuses %j", async (words, said) => {
    const file = await grant("Bash(a)", "Bash(b)")
    const before = readFileSync(file, "utf8")
    const { code, stdout, stderr } = await place.run(["permissions", ...words])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain(said)
    expect(readFileSync(file, "utf8")).toBe(before)
  })

  test.each([[[]], [["list"]], [["revoke", "--all"]]])("refuses %j inside of a run", async (words) => {
    const file = await grant("Bash(a)")
    const inside = await place.run(["permissions", ...words], { more: { SOUS_SESSION_ID: "run" } })
    expect(inside).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("CLI_INSIDE_RUN") })
    expect(readFileSync(file, "utf8")).toContain("Bash(a)")
  })

  test("a file that is broken grants nothing, is named and is kept as it is", async () => {
    const file = await grant("Bash(touch made)")
    writeFileSync(file, '{ "version": 1, "grants": [')
    place.put("project/turns.yaml", "turns:\n  - tool: { Bash: { command: touch made } }\n  - text: done\n")
    const run = await place.run(["-p", "go", "--model", "script:turns.yaml"])
    expect(run.stderr).toContain(`Cannot use the grants in "${file}": it is no JSON object`)
    expect(existsSync(join(place.project, "made"))).toBe(false)
    expect((await place.run(["permissions"])).stderr).toContain("PERMISSION_GRANTS_UNREADABLE")
    expect(await place.run(["permissions", "revoke", "--all"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("PERMISSION_GRANTS_UNREADABLE"),
    })
    expect(readFileSync(file, "utf8")).toBe('{ "version": 1, "grants": [')
  })
})
