/**
 * What an external hook takes beyond the start of its child, and what an event takes that no hook wants; one process.
 *
 * Invariant: the hook and the bare child run the same command with the same input, in turns. Samples are in ms; those of
 * an event without a hook in µs.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"
import { median } from "./samples.mjs"

const COMMAND = "cat >/dev/null"
const CALL = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "t1" }
const PAIRS = 30
const EVENTS = 100_000

/** Adds one sample for each figure: the median of many pairs. */
export async function measureHook(place, samples) {
  if (!place.wants("hook") && !place.wants("no-hook")) return
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-hook-"))
  try {
    const { createHookRunner } = await load(folder)
    const { hooked, child } = await measurePairs(createRunner(createHookRunner, folder), folder)
    samples.add("hook", "sous", hooked)
    samples.add("hook-child", "sous", child)
    samples.add("no-hook", "sous", await measureSilence(createRunner(createHookRunner, folder)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The runner is no part of the public surface, so it is bundled for this; its lazy parts stay lazy. */
async function load(folder) {
  const entry = fileURLToPath(new URL("../core/hook-runner.ts", import.meta.url))
  const shape = { bundle: true, format: "esm", platform: "node", splitting: true }
  await build({ ...shape, entryPoints: [entry], outdir: folder, outExtension: { ".js": ".mjs" } })
  return await import(pathToFileURL(join(folder, "hook-runner.mjs")).href)
}

function createRunner(createHookRunner, folder) {
  const env = { PATH: process.env.PATH }
  const form = { type: "command", command: COMMAND }
  const source = { event: "PreToolUse", dialect: "native", form, origin: { scope: "user" } }
  return createHookRunner([{ event: "PreToolUse", source }], {
    emit() {},
    signal: new AbortController().signal,
    clock: { now: () => performance.now(), sleep: () => new Promise(() => {}) },
    outside: { projectDir: folder, folder, childEnv: env, env },
  })
}

const fromOf = (cwd) => ({ sessionId: "s", transcriptPath: "", cwd, mode: "default" })

async function measurePairs(runner, cwd) {
  const [hooked, child] = [[], []]
  const input = JSON.stringify({ ...CALL, ...fromOf(cwd), hook_event_name: "PreToolUse" })
  for (let i = -3; i < PAIRS; i++) {
    const first = await timed(() => runner.gate("PreToolUse", { ...CALL }, fromOf(cwd)))
    const second = await timed(() => bareChild(input, cwd))
    if (i < 0) continue
    hooked.push(first)
    child.push(second)
  }
  return { hooked: median(hooked), child: median(child) }
}

async function bareChild(input, cwd) {
  // Without a level, a bash whose input is a socket reads ~/.bashrc.
  const options = { cwd, env: { PATH: process.env.PATH, SHLVL: "1" }, detached: true, stdio: ["pipe", "pipe", "pipe"] }
  const child = spawn("/bin/bash", ["-c", COMMAND], options)
  child.stdin.end(input)
  child.stdout.resume()
  child.stderr.resume()
  await once(child, "close")
}

async function timed(work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function measureSilence(runner) {
  const round = async () => {
    for (let i = 0; i < EVENTS; i++) if (runner.has("PostToolUse")) await runner.fold("PostToolUse", CALL, fromOf("/"))
  }
  await round()
  return ((await timed(round)) / EVENTS) * 1000
}
