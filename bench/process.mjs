/**
 * Starts programs and reads what they took: wall time, and the most memory that they held at once.
 *
 * Invariant: a program that does not end within its limit is ended, and only it; times are on server.mjs's clock.
 */
import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { clock } from "./clock.mjs"

/** Runs `[command, ...args]` to its end; returns when it was started, its wall time (ms), its output and exit code. */
export async function run([command, ...args], { cwd, env, limitMs = 240_000, onStart }) {
  const started = clock()
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
  onStart?.(child.pid)
  const output = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      output[name] += text
    })
  }
  const limit = setTimeout(() => child.kill("SIGKILL"), limitMs)
  const exited = once(child, "exit").then(() => clock())
  const [code] = await once(child, "close")
  clearTimeout(limit)
  return { started, wall: (await exited) - started, code, ...output }
}

/** The same, and the largest resident size that the process reached, in MiB; `undefined` where /proc is missing. */
export async function runWatched(command, options) {
  let peak
  let watch
  const result = await run(command, {
    ...options,
    onStart(pid) {
      watch = setInterval(() => {
        peak = residentPeak(pid) ?? peak
      }, 5)
    },
  })
  clearInterval(watch)
  return { ...result, peak }
}

/** The kernel keeps the peak itself, so that asking now and then misses only what came after the last look. */
function residentPeak(pid) {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024 || undefined
  } catch {
    return undefined
  }
}

/** The server of server.mjs in a process of its own. */
export async function startServer() {
  const child = fork(fileURLToPath(new URL("server.mjs", import.meta.url)), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  })
  const [{ url }] = await once(child, "message")
  const ask = async (message) => {
    child.send(message)
    return (await once(child, "message"))[0]
  }
  return {
    url,
    /** Sets what the next program is answered, and forgets the last one's requests. */
    play: (script) => ask({ script }),
    /** The requests since: `{ log: { arrived, done, bytes }[], kept: { first, last } }`. */
    report: () => ask({ report: true }),
    close: () => child.disconnect(),
  }
}
