import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { createKit } from "sous"
import guard from "./guard.ts"

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** What the guard says about a command on a branch: its reason, or undefined when the command passes. */
async function judge(command: string, branch: string): Promise<string | undefined> {
  const cwd = mkdtempSync(join(tmpdir(), "sous-branch-guard-"))
  folders.push(cwd)
  mkdirSync(join(cwd, ".git"))
  writeFileSync(join(cwd, ".git/HEAD"), `ref: refs/heads/${branch}\n`)
  const kit = await createKit({ plugins: [guard], cwd, env: {}, home: cwd, state: join(cwd, "state") })
  try {
    const trial = await kit.testHooks("PreToolUse", { tool_name: "Bash", tool_input: { command } })
    return JSON.stringify(trial).includes("block") ? JSON.stringify(trial) : undefined
  } finally {
    await kit.close()
  }
}

test("branch-guard refuses what reaches or overwrites a protected branch", async () => {
  assert.match((await judge("npm test && git commit -m x", "main")) ?? "", /git switch -c NAME/)
  assert.match((await judge("git push", "master")) ?? "", /is protected/)
  assert.match((await judge("git -C . push origin HEAD:main", "topic")) ?? "", /open a pull request/)
  assert.match((await judge("git push origin +topic", "topic")) ?? "", /overwrite/)
  assert.match((await judge("git push -uf origin topic", "topic")) ?? "", /overwrite/)
})

test("branch-guard lets work on other branches pass", async () => {
  assert.equal(await judge("git commit -m 'fix main'", "topic"), undefined)
  assert.equal(await judge("git push --force-with-lease origin topic", "topic"), undefined)
  assert.equal(await judge("git status; git diff main", "main"), undefined)
})
