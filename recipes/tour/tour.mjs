/**
 * `npm run tour`: a small git project with a failing test, and `recipes/green.ts` at work on it.
 *
 * Invariant: only the model is scripted. It speaks the Messages API over HTTP on 127.0.0.1; files, commands and git are
 * what they are. Nothing is written outside of one temporary folder.
 */
import { execFileSync, spawn } from "node:child_process"
import { cpSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { createModelServer, loadScript } from "sous/testing"

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(dirname(here))
const place = mkdtempSync(join(tmpdir(), "sous-tour-"))
const project = join(place, "slugs")

say(`A small project whose tests fail: ${project}`)
cpSync(join(here, "project"), project, { recursive: true })
git("init", "--quiet")
git("add", ".")
git(
  "-c",
  "user.name=tour",
  "-c",
  "user.email=tour@localhost",
  "commit",
  "--quiet",
  "--message",
  "A slug that is not right yet",
)

const server = await createModelServer(await loadScript(join(here, "script.yaml")))
const args = ["run", join(root, "recipes", "green.ts"), "--grant"]
say(`\n$ sous ${["run", "recipes/green.ts", ...args.slice(2)].join(" ")}\n`)
const code = await sous(args)
await server.close({ abandon: code !== 0 })
if (code !== 0) {
  say(`\nThe tour ended with exit code ${code}; what it made is in ${place}`)
  process.exit(1)
}

say("\nWhat changed:\n")
process.stdout.write(git("diff", "--unified=1"))
say(`
The test passes. That was a scripted model; with a key the same recipe works on a project of yours:

  export ANTHROPIC_API_KEY=…
  cd your-project
  npx --prefix ${root} sous run green --grant

Next: README.md shows a recipe of one file, a plugin and a hook.`)

function sous(args) {
  const env = {
    ...process.env,
    ...server.env,
    XDG_STATE_HOME: join(place, "state"),
    XDG_CONFIG_HOME: join(place, "config"),
  }
  delete env.ANTHROPIC_AUTH_TOKEN
  const child = spawn(process.execPath, [join(root, "dist", "cli.js"), ...args], {
    cwd: project,
    env,
    stdio: "inherit",
  })
  return new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)))
}

function git(...args) {
  return execFileSync("git", args, { cwd: project, encoding: "utf8" })
}

function say(text) {
  process.stdout.write(`${text}\n`)
}
