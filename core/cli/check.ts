/**
 * `sous check [FILE…]`: files, or all that counts in this place → what is wrong with them, for people or for machines.
 *
 * Invariant: every file is looked at, and everything that is wrong with one is told; nothing of a project that nobody
 * trusts is run.
 */
import { dirname, resolve } from "node:path"
import { given } from "../settings/given.ts"
import { loadSettings } from "../settings/load.ts"
import { fixedFolders, homeFolder } from "../settings/scopes.ts"
import type { Tool } from "../tool.ts"
import { checkFile, type FileCheck } from "./check-file.ts"
import { type CheckReport, type Finding, formatReport, isFine, jsonReport, settleFindings } from "./check-finding.ts"
import { checkHooks } from "./check-hook.ts"
import { checkRules } from "./check-rule.ts"
import { ruleGround } from "./check-rule-view.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"

/** Returns 1 when something is an error; warnings alone are none. */
export async function check(line: CommandLine, host: Host): Promise<number> {
  const cwd = await host.cwd()
  const found =
    line.args.length > 0
      ? await checkFiles(line, host)
      : await (await import("./check-place.ts")).checkPlace(line, host)
  const report = settleFindings(found)
  const text = line.values.json ? `${JSON.stringify(jsonReport(report))}\n` : formatReport(report, cwd)
  host.print(line.values.json ? text : host.escape(text))
  return isFine(report) ? 0 : 1
}

async function checkFiles({ args, values }: CommandLine, host: Host): Promise<CheckReport> {
  const cwd = await host.cwd()
  const shipped = await host.shippedPlugins()
  const tools = shipped.flatMap(({ tools: list = [] }) => list)
  const agents = shipped.flatMap(({ agents: list = [] }) => list.map(({ name }) => name))
  const { user } = fixedFolders({ env: host.env, home: homeFolder(host.env) })
  const whyNotLoaded = values.trust ? undefined : untrustedCode(host)
  const report: CheckReport = { files: [], findings: [] }
  for (const file of new Set(args.map((arg) => resolve(cwd, arg)))) {
    const one = await checkFile(file, { host, tools, user, ...given({ whyNotLoaded }) })
    report.files.push({ file, as: one.as })
    report.findings.push(...one.findings, ...(await together(one, { cwd, host, tools, agents })))
  }
  return report
}

/** Code of a project that brings something nobody trusts is not loaded, whoever names it. */
function untrustedCode({ env }: Host): (file: string) => Promise<Finding | undefined> {
  return async (file) => {
    const look = { cwd: dirname(file), env, home: homeFolder(env), load: async () => ({ default: {} }) }
    // Where settings are broken, nobody can have trusted them as they are.
    const trust = await loadSettings(look).then(
      (loaded) => loaded.trust,
      () => undefined,
    )
    if (trust?.isTrusted || trust?.state === "nothing") return undefined
    const problem = "its code was not loaded, since nobody has trusted this project as it is"
    const mend = 'look at it and say yes with "sous trust", or add --trust'
    return { level: "warning", file, line: 1, column: 1, what: "", problem, mend }
  }
}

interface Around {
  cwd: string
  host: Host
  tools: readonly Tool[]
  agents: readonly string[]
}

/** Rules and hooks of one file, where it lies or, of one that lies nowhere, where the command was started. */
async function together(one: FileCheck, { cwd, host, tools, agents }: Around): Promise<Finding[]> {
  const { rules, hooks, project, ofPlugin, variables } = one
  const { env } = host
  const ground = ruleGround(tools, { cwd: project ?? cwd, env, isPartial: true })
  return [
    ...(await checkRules(rules, ground)),
    ...checkHooks(hooks, {
      tools: tools.map(({ name }) => name),
      agents,
      variables: new Set([...variables, ...Object.keys(env)]),
      ofPlugin,
      ...(project === undefined ? {} : { surroundings: { cwd: project, projectDir: project, env } }),
    }),
  ]
}
