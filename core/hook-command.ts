/**
 * A command as a hook: its environment, its input and its process, from an event to what it printed and how it ended.
 *
 * Invariant: its input always ends, its output is bounded, and nothing that it started outlives its time.
 */

import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Heard, lateFailure, type Outside } from "./hook-ending.ts"
import { missingScript } from "./hook-launch.ts"
import type { HookForm } from "./hook-source.ts"
import { type ProcessResult, runProcess } from "./process.ts"

type CommandForm = Extract<HookForm, { type: "command" }>

/** More than this does not fit into one variable of a process everywhere (Linux: 128 KiB). In bytes. */
const VARIABLE_BYTES = 96 * 1024

/** How much of what it prints is kept of each stream, bytes. */
const KEEP_BYTES = 2 ** 20

/** Between the polite end of its process group and the other one, ms. */
const KILL_GRACE_MS = 1000

/** Starts the command and hears it out. Throws what a folder that cannot be written to throws. */
export async function runCommand(outside: Outside, form: CommandForm): Promise<Heard> {
  const { limits } = outside
  const cwd = folderFor(outside)
  const files = filesFor(outside)
  const env = environmentFor(outside, files)
  const missing = missingScript(form, { cwd, env })
  if (missing !== undefined) return { failure: `there is no file "${missing}"` }
  const { expects } = outside.source
  if (expects !== undefined) {
    const { unexpectedFile } = await import("./hook-expect.ts")
    const changed = await unexpectedFile(form, expects, { cwd, env })
    const mend = outside.source.origin.scope === "plugin" ? "sous packs install" : "sous trust"
    if (changed !== undefined) return { failure: `"${changed}" is not as it was trusted; look at it and run "${mend}"` }
  }
  try {
    if (files.input) await writeFile(files.input.path, files.input.text, { mode: 0o600 })
    const { signal, timeoutMs } = limits
    const bounds = { cwd, env, signal, timeoutMs, keepBytes: KEEP_BYTES, killGraceMs: KILL_GRACE_MS }
    const result = await runProcess(commandOf(form, env), { ...bounds, stdin: outside.json })
    const heard = hear(result, timeoutMs)
    return "stdout" in heard && files.env ? { ...heard, ...(await readEnvFile(files.env, outside, cwd)) } : heard
  } finally {
    if (files.input) await rm(files.input.path, { force: true })
    if (files.env) await rm(files.env, { force: true })
  }
}

/** Native hooks stand in the project, wherever the agent has gone; the others expect to stand where the agent does. */
function folderFor({ source, firing, surroundings }: Outside): string {
  const { cwd } = firing.from
  return source.dialect === "claude-code" && existsSync(cwd) ? cwd : surroundings.projectDir
}

interface Files {
  /** An input that is too large for a variable. */
  input?: { path: string; text: string }
  /** Where a SessionStart hook puts variables. */
  env?: string
}

function filesFor({ firing, surroundings }: Outside): Files {
  const { event, fields } = firing
  const path = (name: string) => join(surroundings.folder, `hook-${name}-${randomBytes(6).toString("hex")}`)
  if (event === "SessionStart") return { env: path("env") }
  if (!("tool_input" in fields)) return {}
  const text = JSON.stringify(fields.tool_input) ?? "null"
  return Buffer.byteLength(text) > VARIABLE_BYTES ? { input: { path: path("input"), text } } : {}
}

/** What the child inherits, and each of ours under both names. */
function environmentFor({ source, firing, surroundings }: Outside, files: Files): Record<string, string> {
  const { fields, from } = firing
  const own: Record<string, string | undefined> = {
    TOOL_NAME: fields.tool_name as string | undefined,
    TOOL_INPUT: files.input || !("tool_input" in fields) ? undefined : JSON.stringify(fields.tool_input),
    TOOL_INPUT_FILE: files.input?.path,
    ENV_FILE: files.env,
    SESSION_ID: from.sessionId,
    PROJECT_DIR: surroundings.projectDir,
  }
  const { childEnv } = surroundings
  // A bash whose input is a socket and whose level is 1 believes that it was started from afar, and reads ~/.bashrc.
  const env: Record<string, string> = { ...childEnv, SHLVL: String(Math.max(1, Number(childEnv.SHLVL) || 0)) }
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue
    env[`CLAUDE_${name}`] = value
    env[`SOUS_${name}`] = value
  }
  return { ...env, ...source.env }
}

function commandOf({ command, args }: CommandForm, env: Readonly<Record<string, string>>) {
  if (args === undefined) return command
  // Nothing expands the arguments of a program that no shell starts.
  const fill = (text: string) => text.replace(/\$\{(CLAUDE|SOUS)_PROJECT_DIR\}/g, () => env.SOUS_PROJECT_DIR!)
  return { file: fill(command), args: args.map(fill) }
}

function hear(result: ProcessResult, timeoutMs: number): Heard {
  const { code, signal, error } = result
  if (result.aborted) return { calledOff: true }
  if (error !== undefined) return { failure: error, ...(code === null ? {} : { exit: code }) }
  if (result.timedOut) return { failure: lateFailure(timeoutMs) }
  if (signal !== null) return { failure: `it was ended by ${signal}` }
  const stdout = result.stdout.toString("utf8")
  // An answer that is cut off, or stands behind more blanks than are kept.
  if (result.stdoutBytes > result.stdout.length && /^\s*(?:\{|$)/.test(stdout)) {
    return { failure: `it printed ${result.stdoutBytes.toLocaleString("en-US")} bytes, too many for an answer` }
  }
  return { exit: code, stdout, stderr: result.stderr.toString("utf8") }
}

/** Variables that a shell sets on its own. */
const SHELL_OWN = /^(_|SHLVL|PWD|OLDPWD|(CLAUDE|SOUS)_ENV_FILE)$/

/**
 * What the lines of the file come to when a shell reads them: `export NAME=value` and whatever else sets a variable. Read
 * once, here, instead of before each command.
 */
async function readEnvFile(
  file: string,
  { surroundings, limits }: Outside,
  cwd: string,
): Promise<{ env?: Record<string, string> }> {
  if ((await readFile(file, "utf8").catch(() => "")).trim() === "") return {}
  const { childEnv } = surroundings
  const env = { ...childEnv, SOUS_ENV_FILE: file }
  const { signal, timeoutMs } = limits
  const read = await runProcess('set -a; . "$SOUS_ENV_FILE" >/dev/null; env -0', { cwd, env, signal, timeoutMs })
  const set = read.stdout
    .toString("utf8")
    .split("\0")
    .map((entry): [string, string] => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)])
    .filter(([name, value]) => name !== "" && !SHELL_OWN.test(name) && childEnv[name] !== value)
  return set.length === 0 ? {} : { env: Object.fromEntries(set) }
}
