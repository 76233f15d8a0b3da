/**
 * A real terminal for a command: what stands on it, and the keys of a person.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect } from "vitest"
import type { Place } from "./command.ts"

export const hasTmux = spawnSync("tmux", ["-V"]).status === 0

export interface Terminal {
  tmux(...args: string[]): string
  /** Runs the command in it; once that has ended, `ended with CODE` is shown, and the terminal stays. */
  start(args: string[], size?: { columns?: number; rows?: number }): void
  /** Everything that stands there, what has scrolled away included; lines that were wrapped are one. */
  lines(): string[]
  /** Waits for a text; returns all lines. */
  shown(text: string | RegExp): Promise<string[]>
  /** Presses keys by their names: `y`, `Enter`, `C-c`. */
  press(...keys: string[]): void
  /** Types a text as it is. */
  type(text: string): void
  /** The id of the process that was started. */
  pid(): number
  /** The settings of the terminal, as `stty -a` names them. */
  settings(): string
  close(): void
}

/** Opens the terminal of a place; each has a server of its own. */
export function openTerminal(place: Place): Terminal {
  const tmux = (...args: string[]) =>
    execFileSync("tmux", ["-S", join(place.folder, "tmux"), "-f", "/dev/null", ...args], { encoding: "utf8" })
  const lines = () => tmux("capture-pane", "-p", "-J", "-S", "-").trimEnd().split("\n")
  return {
    tmux,
    lines,
    start(args, { columns = 80, rows = 30 } = {}) {
      const words = [process.execPath, place.file, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
      // A person sits there, also where the tests run without one.
      const line = `HOME=${place.home} CI= ${words.join(" ")}; echo "ended with $?"; exec sleep 60`
      tmux("-u", "new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, "-c", place.project, line)
    },
    async shown(text) {
      const read = () => lines().join("\n")
      const poll = expect.poll(read, { interval: 20, timeout: 6_000 })
      await (typeof text === "string" ? poll.toContain(text) : poll.toMatch(text))
      return lines()
    },
    press: (...keys) => void tmux("send-keys", ...keys),
    type: (text) => void tmux("send-keys", "-l", text),
    pid() {
      const shell = tmux("display-message", "-p", "#{pane_pid}").trim()
      return Number(execFileSync("pgrep", ["-P", shell], { encoding: "utf8" }))
    },
    settings() {
      const tty = tmux("display-message", "-p", "#{pane_tty}").trim()
      return execFileSync("stty", ["-F", tty, "-a"], { encoding: "utf8" })
    },
    close: () => void spawnSync("tmux", ["-S", join(place.folder, "tmux"), "kill-server"]),
  }
}
