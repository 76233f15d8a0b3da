/**
 * `sous doctor`: the toolkit and this place → a line for each thing that a run needs, and how to mend what is broken.
 *
 * Invariant: it never throws because something is broken, asks no network, changes nothing, and ends within seconds: what
 * takes longer is told as a fault.
 */
import { isSousError } from "../error.ts"
import type { CommandLine } from "./command-line.ts"
import { DOCTOR_CHECKS } from "./doctor-check.ts"
import type { DoctorCheck, DoctorPlace, DoctorRow } from "./doctor-row.ts"
import type { Host } from "./host.ts"

/** How long a check is waited for while nothing is to be done, ms; they run beside each other. */
const CHECK_MS = 1_200
/** Between two looks at that, ms. */
const TICK_MS = 50

/** Returns 1 when something is a fault; warnings alone are none. */
export async function doctor(line: CommandLine, host: Host): Promise<number> {
  const place = await openPlace(line, host)
  const found = await Promise.all(DOCTOR_CHECKS.map(async (check) => await within(check, place)))
  const rows = found.flat()
  const ok = rows.every(({ level }) => level !== "fault")
  if (line.values.json) host.print(`${JSON.stringify({ ok, checks: rows })}\n`)
  else host.print(host.escape(forPeople(rows)))
  return ok ? 0 : 1
}

async function openPlace(line: CommandLine, host: Host): Promise<DoctorPlace> {
  try {
    return { line, host, cwd: await host.cwd() }
  } catch (error) {
    return { line, host, cwd: undefined, gone: error }
  }
}

async function within({ what, find }: DoctorCheck, place: DoctorPlace): Promise<DoctorRow[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<DoctorRow[]>((resolve) => {
    const state = `no answer within ${CHECK_MS / 1000} s`
    let left = CHECK_MS / TICK_MS
    // Ticks do not add up while a machine that is slow is at work, as they do while something hangs.
    timer = setInterval(() => {
      if (--left <= 0) resolve([{ level: "warning", what, state, mend: "run sous check, which waits longer" }])
    }, TICK_MS)
  })
  const work = find(place).catch((error: unknown): DoctorRow[] => [brokenRow(what, error)])
  try {
    return await Promise.race([work.then((rows) => rows.map((row) => ({ ...row, what: row.what ?? what }))), late])
  } finally {
    clearInterval(timer)
  }
}

function brokenRow(what: string, error: unknown): DoctorRow {
  if (isSousError(error)) return { level: "fault", what, state: error.message, mend: error.mend, code: error.code }
  return { level: "fault", what, state: error instanceof Error ? error.message : String(error), mend: "" }
}

function forPeople(rows: readonly DoctorRow[]): string {
  const width = Math.max(...rows.map(({ what = "" }) => what.length))
  const lines = rows.map(({ level, what = "", state, mend, code }) => {
    const more = mend === "" ? "" : `; ${mend}`
    return `${level.padEnd(7)}  ${what.padEnd(width)}  ${state}${more}${code === undefined ? "" : ` (${code})`}`
  })
  return `${lines.map((text) => text.replaceAll("\n", "\\n")).join("\n")}\n`
}
