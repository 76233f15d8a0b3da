/**
 * A process group, by its leader's id: is anybody left in it, and its end, gentle first.
 *
 * Invariant: every group that was made and not forgotten is killed when this process exits, whatever made it exit.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"

/** The processes that a leader started, and itself. */
export interface ProcessGroup {
  /** True when somebody of it still runs after that time; settles as soon as nobody does. */
  outlives(ms: number): Promise<boolean>
  /** TERM now, KILL after the grace. */
  end(): void
  /** The same for a group whose leader has ended; settles when it is gone or was killed. */
  endOrphans(): Promise<void>
  /** Settles when the leader has outlived its KILL (stuck in the kernel). */
  givenUp: Promise<{ code: null; signal: "SIGKILL" }>
  forget(): void
}

/** How long a group whose leader has ended is given to end by itself after TERM, ms. */
const ORPHAN_GRACE_MS = 250

/** The group that the process `pid` leads; `graceMs` lie between its TERM and its KILL. */
export function createGroup(pid: number, graceMs: number): ProcessGroup {
  if (running.size === 0) process.once("exit", killAll)
  running.add(pid)
  const timers: NodeJS.Timeout[] = []
  let giveUp = (_: { code: null; signal: "SIGKILL" }) => {}
  return {
    givenUp: new Promise((resolve) => {
      giveUp = resolve
    }),
    outlives: (ms) => outlives(pid, ms),
    end: () => {
      if (timers.length > 0) return
      signalGroup(pid, "SIGTERM")
      timers.push(setTimeout(() => signalGroup(pid, "SIGKILL"), graceMs))
      timers.push(setTimeout(() => giveUp({ code: null, signal: "SIGKILL" }), graceMs + 1000))
    },
    endOrphans: async () => {
      signalGroup(pid, "SIGTERM")
      if (!(await outlives(pid, ORPHAN_GRACE_MS))) return
      signalGroup(pid, "SIGKILL")
      await outlives(pid, ORPHAN_GRACE_MS)
    },
    forget: () => {
      for (const timer of timers) clearTimeout(timer)
      running.delete(pid)
      if (running.size === 0) process.off("exit", killAll)
    },
  }
}

/** Groups that run now. */
const running = new Set<number>()

/** Last resort, when this process ends before its children: there is no time left for TERM. */
function killAll(): void {
  for (const pid of running) signalGroup(pid, "SIGKILL")
}

async function outlives(pid: number, ms: number): Promise<boolean> {
  const until = performance.now() + ms
  while (isGroupAlive(pid)) {
    if (performance.now() >= until) return true
    await delay(10)
  }
  return false
}

/** Sends a signal to a whole group (kill(2) with a negative id). False: there is nobody in it any more. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/**
 * True when the group has a member that is no zombie. In a container whose first process reaps nobody's children,
 * what was ended stays a zombie for good, and kill(2) still finds it. Needs proc(5); where there is none, kill(2) decides.
 */
function isGroupAlive(pid: number): boolean {
  if (!signalGroup(pid, 0)) return false
  if (!existsSync("/proc/self/stat")) return true
  return readdirSync("/proc").some((entry) => /^\d/.test(entry) && isLivingMember(entry, pid))
}

function isLivingMember(entry: string, group: number): boolean {
  try {
    // After the name in parentheses, which may hold anything: state, parent, group.
    const [state, , member] = readFileSync(`/proc/${entry}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ", 3)
    return Number(member) === group && state !== "Z" && state !== "X"
  } catch {
    return false
  }
}
