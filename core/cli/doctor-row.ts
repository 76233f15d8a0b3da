/**
 * What a check of `sous doctor` is handed, and what it answers.
 *
 * Invariant: plain data.
 */
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"

/** One line of the answer. */
export interface DoctorRow {
  /** fault: a run fails, or does not do what somebody relies on. */
  level: "ok" | "warning" | "fault"
  /** Left out: the name of its check. */
  what?: string
  state: string
  /** One imperative clause; "" where there is nothing to do. */
  mend: string
  code?: string
}

/** Where it was started. */
export interface DoctorPlace {
  line: CommandLine
  host: Host
  /** Absolute; undefined when the current folder is gone. */
  cwd: string | undefined
  /** Why it is. */
  gone?: unknown
}

/** One check. */
export interface DoctorCheck {
  what: string
  find(place: DoctorPlace): Promise<DoctorRow[]>
}
