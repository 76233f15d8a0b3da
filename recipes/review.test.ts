import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { runRecipe } from "sous/testing"
import review from "./review.ts"

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A repository with one commit on main, and a change that is not committed. */
function repository(before: string, changed: string): string {
  const cwd = mkdtempSync(join(tmpdir(), "sous-review-"))
  folders.push(cwd)
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd })
  git("init", "--quiet", "--initial-branch=main")
  writeFileSync(join(cwd, "page.js"), before)
  git("add", ".")
  git("commit", "--quiet", "--message", "one")
  writeFileSync(join(cwd, "page.js"), changed)
  return cwd
}

const claim = (line: number, problem: string) => ({ file: "page.js", line, problem, severity: "high" })

test("review verifies each finding by itself and reports both kinds", async () => {
  const run = await runRecipe(review, {
    cwd: repository(
      "export const last = (list) => list[list.length - 1]\n",
      "export const last = (list) => list[list.length]\n",
    ),
    model: {
      turns: [
        {
          expect: { last_user_contains: "+export const last" },
          json: { findings: [claim(1, "off by one"), claim(1, "no type")] },
        },
        { when: { first_user_contains: "off by one" }, tool: { Read: { file_path: "page.js" } } },
        { when: { first_user_contains: "off by one" }, json: { real: true, why: "length is past the end" } },
        { when: { first_user_contains: "no type" }, json: { real: false, why: "it is JavaScript" } },
      ],
    },
  })
  assert.equal(run.status, "ok")
  assert.deepEqual(run.output, [{ ...claim(1, "off by one"), why: "length is past the end" }])
  const report = run.read("review.md")
  assert.match(report, /## Confirmed\n\n- \*\*high\*\* page\.js:1: off by one/)
  assert.match(report, /## Refuted\n\n- \*\*high\*\* page\.js:1: no type/)
})

test("review asks no model when nothing changed", async () => {
  const run = await runRecipe(review, { cwd: repository("1\n", "1\n"), model: [] })
  assert.equal(run.status, "ok")
  assert.deepEqual(run.output, [])
})

test("review fails when a verification dies: what was not checked is not taken for checked", async () => {
  const run = await runRecipe(review, {
    cwd: repository("1\n", "2\n"),
    model: {
      turns: [
        { json: { findings: [claim(1, "it dies"), claim(1, "it lives")] } },
        { when: { first_user_contains: "it dies" }, content: [], stop_reason: "refusal" },
        { when: { first_user_contains: "it lives" }, json: { real: true, why: "yes" } },
      ],
    },
  })
  assert.equal(run.status, "failed")
  assert.match(run.failure?.error ?? "", /1 of 2 items failed/)
})
