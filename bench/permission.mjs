/**
 * What one decision takes, for a compound command against a thousand rules, and what a line of `sous explain --batch`.
 *
 * Invariant: no two lines of a batch are alike, so that nothing that was answered before is answered again; a line that
 * gets no decision stops the measurement. Samples are in µs.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"
import { environment, peers } from "./peers.mjs"

const LINES = 20_000
const DECISIONS = 5000

/** Adds one sample for each figure. */
export async function measurePermission(place, samples) {
  if (place.wants("decide")) {
    const { known, fresh } = await measureDecide()
    samples.add("decide", "sous", known)
    samples.add("decide-new", "sous", fresh)
  }
  if (place.wants("explain")) {
    const [many, one] = [await explainLines(place, LINES), await explainLines(place, 1)]
    samples.add("explain", "sous", ((many - one) / (LINES - 1)) * 1000)
  }
}

/** Of every tool and behaviour; none of them settles the command. */
const RULES = Array.from({ length: 1000 }, (_, i) => {
  const texts = [
    `Bash(tool${i} run *)`,
    `Bash(git sub${i} *)`,
    `Read(./f${i}/**)`,
    `Edit(~/g${i})`,
    `WebFetch(domain:h${i}.test)`,
  ]
  return { text: texts[i % 5], behavior: ["allow", "ask", "deny"][i % 3], scope: "project" }
})
const command = (name) => `cd src && npm test -- --grep "${name}" | tee ../${name}.log`

/** A command that was taken apart before, and one that nobody has seen. */
async function measureDecide() {
  const { createCall, decide, resolveTargets, compileRules, shell } = await load()
  const [cwd, home] = ["/srv/project", "/home/me"]
  const rules = compileRules([...RULES, { text: "Bash(npm test *)", behavior: "allow", scope: "project" }], {
    cwd,
    home,
  })
  const facts = { aborted: false, mode: "default", cwd, home, roots: [cwd], readRoots: [], canAsk: true }
  const decideOne = async (text, paths) =>
    decide(await createCall(shell, { command: text }, cwd), rules, { ...facts, paths })
  const lookUp = async (text) => await resolveTargets([{ kind: "command", text }], cwd, { home })
  const paths = await lookUp(command("x"))
  const time = async (name, from) => {
    const started = performance.now()
    for (let i = 0; i < DECISIONS; i++) await decideOne(command(name(from + i)), paths)
    return ((performance.now() - started) / DECISIONS) * 1000
  }
  for (let i = 0; i < 3; i++) await time(() => "x", 0)
  return { known: await time(() => "x", 0), fresh: await time((i) => `name${i}`, 0) }
}

/** What decides is no part of the public surface, so it is bundled for this. */
async function load() {
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-decide-"))
  const core = fileURLToPath(new URL("../core/permission/", import.meta.url))
  const contents = `export { createCall } from "./explain.ts"
export { decide } from "./decide.ts"
export { resolveTargets } from "./path.ts"
export { compileRules } from "./rule.ts"
export const shell = { name: "Bash", targets: ({ command }) => [{ kind: "command", text: command }] }`
  const outfile = join(folder, "decide.mjs")
  try {
    const stdin = { contents, resolveDir: core, loader: "ts" }
    await build({ stdin, outfile, bundle: true, format: "esm", platform: "node", logLevel: "error" })
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const SETTINGS = [
  { allow: ["Bash(npm test *)", "Bash(git log *)"], deny: ["Bash(rm *)"], ask: ["Bash(git push *)"] },
  { allow: ["Bash(git *)", "Read(./src/**)"] },
  { deny: ["Read(./secret/**)", "Bash(curl *)"], allow: ["Bash(*)"] },
  {},
]
const COMMANDS = [
  (i) => `npm test -- --grep x${i}`,
  (i) => `git log -${i}`,
  (i) => `cat src/f${i}.ts | grep -n x`,
  (i) => `rm -rf build/${i}`,
  (i) => `cd pkg${i} && npm run build && ls dist`,
  (i) => `curl https://h${i}.example.com/x`,
]

/** Three commands, a file that is read and one that is edited, in turns; each line once. */
function lineOf(i) {
  const settings = { permissions: SETTINGS[i % SETTINGS.length] }
  if (i % 5 === 3) return { id: i, tool: "Read", input: { file_path: `src/d${i % 300}/f${i}.ts` }, settings }
  if (i % 5 === 4) {
    const input = { file_path: `lib/f${i}.ts`, old_string: "a", new_string: "b" }
    return { id: i, tool: "Edit", input, settings, mode: "acceptEdits" }
  }
  return { id: i, tool: "Bash", input: { command: COMMANDS[i % COMMANDS.length](i) }, settings }
}

/** Wall time of a batch, ms. */
async function explainLines({ workplace }, count) {
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify(lineOf(i)))
  const [file, ...args] = [...peers.sous.version.slice(0, -1), "explain", "--batch"]
  const started = performance.now()
  const child = spawn(file, args, {
    cwd: workplace.project,
    env: environment(workplace, ""),
    stdio: ["pipe", "pipe", 2],
  })
  child.stdin.end(`${lines.join("\n")}\n`)
  let answers = 0
  child.stdout.on("data", (chunk) => {
    for (const byte of chunk) if (byte === 10) answers++
  })
  const [code] = await once(child, "close")
  if (code !== 0 || answers !== count)
    throw new Error(`sous explain --batch: exit ${code}, ${answers} of ${count} answers`)
  return performance.now() - started
}
