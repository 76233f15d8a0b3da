/**
 * A command line or a program → how it ended, with everything it started in one process group of its own.
 *
 * Invariant: when the promise settles, nothing of the group is left running, no pipe is still read, and no more than
 * `keepBytes` of each stream was held. Only what leaves the group by itself (setsid) escapes. No other file spawns.
 */
import type { ChildProcess } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { Readable } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"
import { createGroup, type ProcessGroup } from "./process-group.ts"

/** Text for the shell, or a program and its arguments as they are. */
export type ProcessCommand = string | { file: string; args: readonly string[] }

export type ProcessStream = "stdout" | "stderr"

export interface ProcessOptions {
  /** Absolute. */
  cwd: string
  /** The whole environment of the child; nothing is inherited beside it. */
  env: Readonly<Record<string, string>>
  /** Ends the group when it fires. */
  signal: AbortSignal
  /** ms until the group is ended; 0: never. */
  timeoutMs: number
  /** Called with each piece as it arrives; a promise holds the stream back. What it throws ends the group and rejects. */
  onChunk?(chunk: Buffer, stream: ProcessStream): void | Promise<void>
  /** Written to the child, then closed. Left out: an empty input. */
  stdin?: string | Uint8Array
  /** ms between TERM and KILL. Default 2,000. */
  killGraceMs?: number
  /** How much of the start of each stream the result keeps. Default 1 MiB. */
  keepBytes?: number
}

/** How a process ended. `code` is null when a signal ended it; 126 and 127 with `error` when it did not start. */
export interface ProcessResult {
  code: number | null
  signal: NodeJS.Signals | null
  timedOut: boolean
  aborted: boolean
  /** True when the process had ended but others of its group had not, and were ended. */
  leftover: boolean
  /** The first `keepBytes` of each stream, and how many bytes there were in all. */
  stdout: Buffer
  stderr: Buffer
  stdoutBytes: number
  stderrBytes: number
  durationMs: number
  /** Why it could not be started, one sentence. */
  error?: string
}

/** Runs a process to its end. Faults of the process are in the result; it rejects only with what `onChunk` threw. */
export async function runProcess(command: ProcessCommand, options: ProcessOptions): Promise<ProcessResult> {
  const output = createOutput(options)
  const started = performance.now()
  const ended: Ended = { code: null, signal: null, timedOut: false, aborted: options.signal.aborted, leftover: false }
  const result = () => ({ ...ended, ...output.kept(), durationMs: Math.round(performance.now() - started) })
  if (ended.aborted) return result()

  const child = await launch(command, options)
  if ("error" in child) return Object.assign(result(), child)
  const group = createGroup(child.pid!, options.killGraceMs ?? 2000)
  const watch = watchLimits(options, group, ended)
  const pumps = output.pump(child, () => group.end())
  writeInput(child, options.stdin)
  try {
    const exit = await Promise.race([exitOf(child), group.givenUp])
    Object.assign(ended, exit)
    ended.leftover = await settleGroup(group, pumps, output)
  } finally {
    watch.stop()
    group.forget()
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
  if (output.fault !== undefined) throw output.fault.error
  return result()
}

type Ended = Pick<ProcessResult, "code" | "signal" | "timedOut" | "aborted" | "leftover">

async function launch(command: ProcessCommand, options: ProcessOptions): Promise<ChildProcess | LaunchFault> {
  // Loaded late: it is not needed to start up, and brings the network stack along.
  const { spawn } = await import("node:child_process")
  const { file, args } = typeof command === "string" ? shellCommand(command, options) : command
  const stdin = options.stdin === undefined ? "ignore" : "pipe"
  try {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: options.env as NodeJS.ProcessEnv,
      detached: true,
      stdio: [stdin, "pipe", "pipe"],
      windowsHide: true,
    })
    if (child.pid !== undefined) return child
    const [error] = await new Promise<[Error]>((resolve) => child.once("error", (error) => resolve([error])))
    return launchFault(error, file, options.cwd)
  } catch (error) {
    return launchFault(error as Error, file, options.cwd)
  }
}

function shellCommand(command: string, options: ProcessOptions) {
  return { file: findShell(options.env), args: ["-c", command] }
}

/** Bash, else sh. Fixed places come first: a project can put its own into PATH. */
function findShell(env: Readonly<Record<string, string>>): string {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder.startsWith("/"))
  const places = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", ...folders]
  return places.map((folder) => join(folder, "bash")).find((file) => existsSync(file)) ?? "/bin/sh"
}

interface LaunchFault {
  code: 126 | 127
  error: string
}

/** The shell's own codes: 127 for what is not there, 126 for what cannot be run. */
function launchFault(error: NodeJS.ErrnoException, file: string, cwd: string): LaunchFault {
  const fault = (code: 126 | 127, reason: string): LaunchFault => ({ code, error: `Cannot run "${file}": ${reason}` })
  if (!existsSync(cwd)) return fault(126, `the working directory "${cwd}" does not exist`)
  if (error.code === "ENOENT") return fault(127, "there is no such program")
  if (error.code === "EACCES") return fault(126, "it may not be executed")
  if (error.code === "E2BIG") return fault(126, "its arguments are too long; put them into a file")
  return fault(126, error.message)
}

function writeInput(child: ChildProcess, stdin: string | Uint8Array | undefined): void {
  if (!child.stdin || stdin === undefined) return
  // A child may end without having read its input.
  child.stdin.on("error", () => {})
  child.stdin.end(stdin)
}

function exitOf(child: ChildProcess): Promise<Pick<Ended, "code" | "signal">> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }))
    child.once("error", () => resolve({ code: child.exitCode, signal: child.signalCode }))
  })
}

/** Ends the group when the time is up or the signal fires. */
function watchLimits(options: ProcessOptions, group: ProcessGroup, ended: Ended) {
  const onAbort = () => {
    ended.aborted = true
    group.end()
  }
  const onTimeout = () => {
    ended.timedOut = true
    group.end()
  }
  const timer = options.timeoutMs > 0 ? setTimeout(onTimeout, Math.min(options.timeoutMs, MAX_TIMER_MS)) : undefined
  options.signal.addEventListener("abort", onAbort, { once: true })
  if (options.signal.aborted) onAbort()
  return {
    stop: () => {
      clearTimeout(timer)
      options.signal.removeEventListener("abort", onAbort)
    },
  }
}

/** Above it, node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Silence after which pipes that somebody still holds are no longer waited for, ms. */
const IDLE_MS = 200
/** How long pipes are read at most once the process has ended, ms, however much still comes. */
const DRAIN_MS = 500

/** Helpers that end on their own right after their leader are not left over, ms. */
const LEAVE_MS = 100

/** After the leader's exit: reads what is still in the pipes, and ends what is left of the group. True: there was some. */
async function settleGroup(group: ProcessGroup, pumps: Promise<void>, output: Output): Promise<boolean> {
  await drained(pumps, output)
  const leftover = await group.outlives(LEAVE_MS)
  if (leftover) {
    await group.endOrphans()
    await drained(pumps, output)
  }
  return leftover
}

async function drained(pumps: Promise<void>, output: Output): Promise<void> {
  const giveUpAt = performance.now() + DRAIN_MS
  const state = { open: true }
  const closed = pumps.then(() => {
    state.open = false
  })
  while (state.open && (output.busy > 0 || (performance.now() < giveUpAt && output.idleMs() < IDLE_MS))) {
    await Promise.race([closed, delay(IDLE_MS / 10)])
  }
}

type Output = ReturnType<typeof createOutput>

function createOutput(options: ProcessOptions) {
  const streams = { stdout: createKeeper(options.keepBytes), stderr: createKeeper(options.keepBytes) }
  let lastAt = performance.now()
  const output = {
    /** Chunks that `onChunk` is at work on. */
    busy: 0,
    fault: undefined as { error: unknown } | undefined,
    idleMs: () => performance.now() - lastAt,
    kept: () => ({
      stdout: streams.stdout.start(),
      stderr: streams.stderr.start(),
      stdoutBytes: streams.stdout.bytes,
      stderrBytes: streams.stderr.bytes,
    }),
    /** Settles when both pipes are closed, never rejects. */
    pump: async (child: ChildProcess, onFault: () => void): Promise<void> => {
      const read = async (stream: Readable, name: ProcessStream) => {
        for await (const chunk of stream) await take(chunk, name)
      }
      await Promise.all([read(child.stdout!, "stdout").catch(onEnd), read(child.stderr!, "stderr").catch(onEnd)])
      // Pipes that are destroyed while they are read end with an error that means nothing.
      function onEnd() {
        if (output.fault !== undefined) onFault()
      }
    },
  }
  async function take(chunk: Buffer, name: ProcessStream): Promise<void> {
    lastAt = performance.now()
    streams[name].add(chunk)
    output.busy++
    try {
      await options.onChunk?.(chunk, name)
    } catch (error) {
      output.fault ??= { error }
      throw error
    } finally {
      output.busy--
      lastAt = performance.now()
    }
  }
  return output
}

/** Keeps the first bytes of a stream in one buffer that grows with them: pieces may be as small as a byte. */
function createKeeper(limit = 2 ** 20) {
  let buffer = Buffer.alloc(0)
  let kept = 0
  const keeper = {
    bytes: 0,
    add: (chunk: Buffer) => {
      keeper.bytes += chunk.length
      const size = Math.min(limit, kept + chunk.length)
      if (size > buffer.length) {
        const larger = Buffer.alloc(Math.min(limit, Math.max(size, 2 * buffer.length)))
        buffer.copy(larger, 0, 0, kept)
        buffer = larger
      }
      kept += chunk.copy(buffer, kept, 0, size - kept)
    },
    start: () => buffer.subarray(0, kept),
  }
  return keeper
}
