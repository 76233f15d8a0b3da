/**
 * A program that stays → its pipes: what it prints, and channels on descriptors 3 and up that go both ways.
 *
 * Invariant: it leads a process group of its own, which is gone when `ended` settles, and also when this process is killed
 * and can do nothing about it any more. While nobody waits for it, it keeps nothing alive.
 */
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import { createGroup } from "./process-group.ts"

/** A process that is spoken with. */
export interface ChannelProcess {
  pid: number
  stdin: Socket
  stdout: Socket
  stderr: Socket
  /** One for each descriptor from 3 on; a channel ends when either side closes it. */
  channels: readonly Socket[]
  /** How it ended, once nothing of its group is left. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Ends the whole group at once. */
  kill(): void
}

/**
 * Starts a program with so many channels; `env` is its whole environment. Rejects when it cannot be started (ENOENT,
 * EAGAIN …).
 */
export async function startChannelProcess(
  command: { file: string; args: readonly string[] },
  options: { cwd: string; env: Readonly<Record<string, string>>; channels: number },
): Promise<ChannelProcess> {
  const { spawn } = await import("node:child_process")
  const pipes = Array.from({ length: options.channels }, () => "pipe" as const)
  const child = spawn(command.file, command.args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...pipes],
    windowsHide: true,
  })
  await new Promise<void>((resolve, reject) => void child.once("spawn", resolve).once("error", reject))
  const group = createGroup(child.pid!, 0)
  const [stdin, stdout, stderr, ...channels] = child.stdio as unknown as [Socket, Socket, Socket, ...Socket[]]
  // A pipe whose other end is gone is told by the end of the process.
  for (const socket of [stdin, stdout, stderr, ...channels]) socket.on("error", () => {}).unref()
  child.unref()
  const guard = startGuard(spawn, child.pid!)
  const ended = endOf(child).then(async (end) => {
    await group.endOrphans()
    group.forget()
    guard.kill("SIGKILL")
    for (const socket of [stdin, ...channels]) socket.destroy()
    return end
  })
  return { pid: child.pid!, stdin, stdout, stderr, channels, ended, kill: () => group.end() }
}

/** Waits for the end of this process, which closes its input, and then ends the group. Where there is no shell: nothing. */
function startGuard(spawn: typeof import("node:child_process").spawn, pid: number): ChildProcess {
  const wait = `read -r line; kill -KILL -${pid} 2>/dev/null`
  const guard = spawn("/bin/sh", ["-c", wait], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  })
  guard.on("error", () => {}).unref()
  const stdin = guard.stdin as Socket | null
  stdin?.on("error", () => {}).unref()
  return guard
}

function endOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })))
}
