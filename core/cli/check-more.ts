/**
 * Packs with their locks, recipes and permission tables of a place → what is wrong with them.
 *
 * Invariant: a recipe that is code is loaded only from a folder of this person or a project that somebody trusts; YAML
 * runs nothing and is always read.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { isSousError } from "../error.ts"
import { dataFolderFor } from "../session/store.ts"
import type { LoadedSettings } from "../settings/load.ts"
import { recipesIn } from "../settings/recipe-file.ts"
import { homeFolder, type ScopeFolders } from "../settings/scopes.ts"
import type { Tool } from "../tool.ts"
import { checkFile } from "./check-file.ts"
import { type CheckReport, type Finding, findingOf } from "./check-finding.ts"
import type { Host } from "./host.ts"
import { isTable } from "./test-find.ts"

/** The locks that are there, and the packs that settings ask for. */
export async function checkLocks(
  folders: ScopeFolders,
  { loaded, env }: { loaded: LoadedSettings | undefined; env: Host["env"] },
): Promise<CheckReport> {
  const { LOCK_FILE, lockFileOf, readLock } = await import("../pack/lock.ts")
  const scopes = ["managed", "project", "user"] as const
  const files = scopes.flatMap((scope) => lockFileOf(scope, folders) ?? []).filter((file) => existsSync(file))
  const report: CheckReport = { files: [], findings: [] }
  for (const file of new Set(files)) {
    report.files.push({ file, as: `lock file of packs (${LOCK_FILE})` })
    await readLock(file).catch((error: unknown) => report.findings.push(findingOf(error, file)))
  }
  if (loaded !== undefined) report.findings.push(...(await packFindings(loaded, env)))
  return report
}

/** One by one, so that a pack which guards something hides no other. */
async function packFindings({ settings, folders, sources }: LoadedSettings, env: Host["env"]): Promise<Finding[]> {
  if (settings.packs.length === 0) return []
  const { openPacks } = await import("../pack/load.ts")
  const data = dataFolderFor(env, homeFolder(env))
  const findings: Finding[] = []
  for (const pack of settings.packs) {
    const { file = "", line = 1, column = 1 } = pack.origin
    const place = { file, line, column, what: `pack "${pack.name}"` }
    try {
      await openPacks([pack], { folders, data, sources, strict: true })
    } catch (error) {
      if (!isSousError(error)) throw error
      findings.push({ ...findingOf(error, file), ...place })
    }
  }
  return findings
}

interface RecipePlace {
  loaded: LoadedSettings | undefined
  host: Host
  tools: readonly Tool[]
}

/** Those of the project, and those of this person where the project is trusted, or there is none. */
export async function checkRecipes(folders: ScopeFolders, { loaded, host, tools }: RecipePlace): Promise<CheckReport> {
  const isTrusted = loaded?.trust.isTrusted === true
  const own = folders.project === undefined ? [] : recipesOf(folders.project, "project")
  const personal =
    folders.user !== undefined && (isTrusted || folders.root === undefined) ? recipesOf(folders.user, "user") : []
  const report: CheckReport = { files: [], findings: [] }
  const waiting: string[] = []
  for (const file of [...own, ...personal]) {
    const isCode = !/\.ya?ml$/.test(file)
    if (isCode && own.includes(file) && !isTrusted) waiting.push(file)
    else await addFile(report, file, { host, tools, from: isCode ? (loaded?.trust.copyOf(file) ?? file) : file })
  }
  return { ...report, findings: [...report.findings, ...waiting.map(notLoaded)] }
}

async function addFile(
  report: CheckReport,
  file: string,
  { host, tools, from }: { host: Host; tools: readonly Tool[]; from: string },
): Promise<void> {
  const { as, findings } = await checkFile(from, { host, tools })
  report.files.push({ file, as })
  report.findings.push(...findings.map((one) => ofOriginal(one, { from, file })))
}

/** What is loaded may be a copy. */
function ofOriginal(one: Finding, { from, file }: { from: string; file: string }): Finding {
  return { ...one, file: one.file === from ? file : one.file, problem: one.problem.replaceAll(from, file) }
}

function notLoaded(file: string): Finding {
  const problem = "it is code, and nobody has trusted this project, so it was not loaded"
  return { level: "note", file, line: 1, column: 1, what: "recipe", problem, mend: "look at it with sous trust" }
}

function recipesOf(folder: string, from: "project" | "user"): string[] {
  return recipesIn(join(folder, "recipes"), from).map(({ file }) => file)
}

/** The tables beside the project's settings and recipes, and those at its root. */
export async function checkTables({ root, project, user }: ScopeFolders): Promise<CheckReport> {
  const folders = [root, project, user].flatMap((folder) =>
    folder === undefined ? [] : [folder, join(folder, "recipes")],
  )
  const report: CheckReport = { files: [], findings: [] }
  for (const file of folders.flatMap(filesIn).filter(isTable)) {
    const { as, findings } = await checkFile(file, NO_CODE)
    report.files.push({ file, as })
    report.findings.push(...findings)
  }
  return report
}

/** A table loads no code. */
const NO_CODE = { host: { loadOptions: () => ({ modules: {} }) }, tools: [] }

function filesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [] : [join(folder, entry.name)])).sort()
  } catch {
    return []
  }
}
