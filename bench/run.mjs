/**
 * `npm run bench`: the floors and sous side by side against one loopback server, rounds interleaved, as one table.
 *
 * Invariant: bounded in count and time, and ends by itself; a program that answers wrongly stops the measurement, for
 * its figures would mean nothing. A time here compares with another of the same table only.
 */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { measureAssembling } from "./assemble.mjs"
import { measureGrowth, measureMemory, measureRound } from "./figures.mjs"
import { measureHook } from "./hook.mjs"
import { createWorkplace } from "./peers.mjs"
import { measurePermission } from "./permission.mjs"
import { measurePlateau } from "./plateau.mjs"
import { measurePlugins } from "./plugins.mjs"
import { startServer } from "./process.mjs"
import { createSamples } from "./samples.mjs"
import { formatTable, ROWS } from "./table.mjs"

const { values: flags } = parseArgs({
  options: {
    runs: { type: "string", default: "7" },
    "growth-runs": { type: "string", default: "3" },
    turns: { type: "string", default: "2000" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})

if (flags.help) {
  process.stdout.write(`npm run bench -- [--runs 7] [--growth-runs 3] [--turns 2000] [--only FIGURE,…] [--json]
Figures: ${ROWS.map((row) => row.figure).join(" ")}
`)
  process.exit(0)
}
const only = flags.only?.split(",") ?? ROWS.map((row) => row.figure)
const unknown = only.filter((name) => !ROWS.some((row) => row.figure === name))
if (unknown.length > 0)
  fail(`There is no figure "${unknown[0]}": choose from ${ROWS.map((row) => row.figure).join(" ")}`)
if (!existsSync(fileURLToPath(new URL("../dist/cli.js", import.meta.url)))) fail("dist/ is missing: run npm run build")

const server = await startServer()
const workplace = createWorkplace()
const place = { server, workplace, turns: Number(flags.turns), wants: (name) => only.includes(name) }
const samples = createSamples()
try {
  await measureRound(place, createSamples())
  for (let round = 1; round <= Number(flags.runs); round++) {
    await measureRound(place, samples)
    await measureHook(place, samples)
    await measurePermission(place, samples)
    await measurePlugins(place, samples)
    await measureAssembling(place, samples)
    process.stderr.write(`round ${round} of ${flags.runs}\n`)
  }
  await measureMemory(place, samples)
  for (let round = 1; round <= Number(flags["growth-runs"]); round++) {
    await measureGrowth(place, samples)
    if (place.wants("growth") || place.wants("memory-long"))
      process.stderr.write(`growth ${round} of ${flags["growth-runs"]}\n`)
  }
  await measurePlateau(place, samples)
} finally {
  server.close()
  workplace.remove()
}
process.stdout.write(flags.json ? `${JSON.stringify(samples.lists, null, 1)}\n` : formatTable(samples, only))

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
