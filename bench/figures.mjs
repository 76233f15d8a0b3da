/**
 * The figures of design and release, each measured for every program that has it, into samples.
 *
 * Invariant: a round measures every program once before the next round measures any twice. Samples are in ms, MiB or
 * bytes.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { environment, peers } from "./peers.mjs"
import { run, runWatched } from "./process.mjs"
import { median } from "./samples.mjs"

const MANY = 50
const PARALLEL = 20

/** One round over the programs: start, first request, one turn, many turns, parallel reads. */
export async function measureRound(place, samples) {
  for (const [name, peer] of Object.entries(peers)) {
    const keep = (figure, value) => samples.add(figure, name, value)
    if (peer.version !== undefined && place.wants("version")) keep("version", (await start(place, peer.version)).wall)
    if (peer.prompt === undefined) continue
    if (["first-request", "one-turn", "per-turn", "request-bytes"].some(place.wants))
      await measureOne(place, peer, keep)
    if (place.wants("per-turn")) {
      const { wall, log } = await session(place, peer, { turns: MANY })
      keep("many-turns", wall)
      keep("turn-interval", median(intervals(log, 1, MANY)))
    }
    if (place.wants("parallel")) {
      const { log } = await session(place, peer, { turns: 2, parallel: PARALLEL })
      keep("parallel", log[1].arrived - log[0].done)
    }
    if (peer.recipe !== undefined && place.wants("recipe")) {
      const { log, started } = await session(place, { ...peer, prompt: peer.recipe }, { turns: 1 })
      keep("recipe", log[0].arrived - started)
    }
  }
}

async function measureOne(place, peer, keep) {
  const { wall, started, log, kept } = await session(place, peer, { turns: 1 })
  keep("one-turn", wall)
  keep("first-request", log[0].arrived - started)
  const { system, tools } = kept.first
  keep(
    "request-bytes",
    Buffer.byteLength(JSON.stringify(system ?? "")) + Buffer.byteLength(JSON.stringify(tools ?? [])),
  )
}

/** The most memory at many turns; apart from the timed runs, for looking costs time. */
export async function measureMemory(place, samples) {
  if (!place.wants("memory")) return
  for (let i = 0; i < 3; i++) {
    for (const [name, peer] of Object.entries(peers).filter(([, one]) => one.prompt !== undefined)) {
      const { peak } = await session(place, peer, { turns: MANY, watch: true })
      samples.add("memory", name, peak)
    }
  }
}

/**
 * What sous adds to a turn late in a long conversation over what it adds early: its time less that of a fetch loop
 * which sends the same bodies, at the last twentieth ÷ the same at the second twentieth.
 */
export async function measureGrowth(place, samples) {
  if (!place.wants("growth") && !place.wants("memory-long")) return
  const { turns, workplace } = place
  const own = await session(place, peers.sous, { turns, watch: true })
  const body = join(workplace.folder, "replay.json")
  writeFileSync(body, JSON.stringify(own.kept.last))
  const read = peers.sous.read
  const floor = await session(place, { ...peers.fetch, read }, { turns, env: { REPLAY: body } })
  checkSameBytes(own.log, floor.log)
  const added = (from, to) => quiet(intervals(own.log, from, to)) - quiet(intervals(floor.log, from, to))
  samples.add("added-early", "sous", added(turns * 0.05, turns * 0.1))
  samples.add("added-late", "sous", added(turns * 0.95, turns))
  samples.add("memory-long", "sous", own.peak)
}

/** The lower quartile: of a hundred turns, what a busy machine does to some of them only ever adds. */
function quiet(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)]
}

function checkSameBytes(own, floor) {
  for (const at of [Math.floor(own.length * 0.1), own.length - 2]) {
    if (Math.abs(own[at].bytes / floor[at].bytes - 1) > 0.02) {
      throw new Error(`Turn ${at}: sous sent ${own[at].bytes} bytes, the fetch loop ${floor[at].bytes}`)
    }
  }
}

/** ms from each request's arrival to the next one's, for the turns in between. */
function intervals(log, from, to) {
  return log
    .slice(Math.floor(from), Math.floor(to))
    .flatMap((entry, i, part) => (i === 0 ? [] : [entry.arrived - part[i - 1].arrived]))
}

function start({ server, workplace }, command) {
  return run(command, { cwd: workplace.project, env: environment(workplace, server.url) })
}

/** Runs a program against a script of so many turns, and checks that it went to its end. */
async function session({ server, workplace }, peer, { turns, parallel = 0, watch = false, env = {} }) {
  await server.play({ turns, parallel, files: workplace.files, ...peer.read })
  const options = { cwd: workplace.project, env: { ...environment(workplace, server.url), ...env } }
  const result = await (watch ? runWatched : run)(peer.prompt, options)
  const { log, kept } = await server.report()
  if (result.code !== 0 || log.length !== turns || !result.stdout.includes("FINAL")) {
    const said = `${result.stdout.slice(-300)}${result.stderr.slice(-600)}`
    throw new Error(`${peer.label}: exit ${result.code}, ${log.length} of ${turns} requests\n${said}`)
  }
  return { ...result, log, kept }
}
