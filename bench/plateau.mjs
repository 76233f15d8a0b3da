/**
 * How much memory a long run holds late, beyond what it holds early: commands that print 50 KB each, a conversation that
 * is compacted over and over.
 *
 * Invariant: the run goes to its end, and the conversation never fills its window. Samples are in MiB.
 */
import { readFileSync } from "node:fs"
import { clock } from "./clock.mjs"
import { environment, peers } from "./peers.mjs"
import { run } from "./process.mjs"

/** Of each command, bytes: 2,000 of them are 100 MB. */
const OUTPUT = 51_200
/** The conversation is compacted at this share of the window. */
const THRESHOLD = 0.1
const LIMIT_MS = 900_000

/** Adds one sample for each figure. */
export async function measurePlateau(place, samples) {
  if (!place.wants("plateau")) return
  const { server, workplace, turns } = place
  await server.play({ turns, output: OUTPUT })
  const watched = []
  let watch
  const [file, ...args] = peers.sous.prompt
  const settings = JSON.stringify({ compact: { threshold: THRESHOLD } })
  const result = await run([file, ...args, "-A", "--settings", settings], {
    cwd: workplace.project,
    env: environment(workplace, server.url),
    limitMs: LIMIT_MS,
    onStart(pid) {
      watch = setInterval(() => watched.push({ at: clock(), size: residentSize(pid) }), 20)
    },
  })
  clearInterval(watch)
  const { log } = await server.report()
  if (result.code !== 0 || !result.stdout.includes("FINAL") || log.length <= turns)
    throw new Error(
      `sous: exit ${result.code}, ${log.length} requests for ${turns} turns\n${result.stderr.slice(-600)}`,
    )
  const most = (from, to) => {
    const [begin, end] = [from, to].map((share) => log[Math.floor((log.length - 1) * share)].arrived)
    return Math.max(...watched.filter(({ at, size }) => size && at >= begin && at <= end).map(({ size }) => size))
  }
  samples.add("plateau", "sous", most(0.9, 1))
  samples.add("plateau-early", "sous", most(0.1, 0.2))
  samples.add("plateau-requests", "sous", log.length)
  samples.add("plateau-largest", "sous", Math.max(...log.map(({ bytes }) => bytes)) / 1024)
}

function residentSize(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024 || undefined
  } catch {
    return undefined
  }
}
