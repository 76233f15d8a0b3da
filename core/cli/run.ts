/**
 * `sous run RECIPE` and `sous "PROMPT"`: finds what is to run, runs it, shows it, and gives its exit code.
 *
 * Invariant: a recipe gets what it asks for only where somebody granted it.
 */
import { existsSync } from "node:fs"
import { stat, writeFile } from "node:fs/promises"
import { resolve } from "node:path"
import type { RunEvent } from "../event.ts"
import type { Kit, Run } from "../kit.ts"
import { loadRecipe } from "../recipe/load.ts"
import { describeParams, listParams, readParams } from "../recipe/param.ts"
import { cleaningFile } from "../session/cleaning-file.ts"
import type { SessionRequest } from "../session/session-place.ts"
import { FILE_MODE, stateFolderFor } from "../session/store.ts"
import { readObject } from "../settings/flag.ts"
import { given } from "../settings/given.ts"
import { findRecipe, type RecipeOrigin, rulesToGrant, unknownRecipe } from "../settings/recipe-file.ts"
import type { Recipe } from "../step.ts"
import { type CommandLine, pairsOfFlags } from "./command-line.ts"
import type { Host } from "./host.ts"
import { isMarkedInside, refuseInside } from "./inside.ts"
import { openSession, runOptions, type Session, withKit } from "./session.ts"

/** `sous run RECIPE`. */
export async function run(line: CommandLine, host: Host): Promise<number> {
  const { values } = line
  if (!values.help) refuseInside(host, "run")
  const session = await openSession(line, host)
  if (values.help) {
    const { recipe } = await withKit(session, (kit) => findAndLoad(kit, session))
    host.print(`${line.help()}\n${describeParams(recipe)}`)
    return 0
  }
  await checkHooks(session)
  return await withKit(session, async (kit) => {
    const found = await findAndLoad(kit, session)
    const { recipe } = found
    const names = listParams(recipe).map(({ name }) => name)
    const pairs = [...(values.param ?? []), ...pairsOfFlags(line.own, names)]
    const params = await readParams(recipe, { pairs, ...given({ file: values.params }) })
    const grant = await isGranted(found, session)
    const options = { ...runOptions(session), params, grant }
    return await follow(session, (onEvent) => kit.run(recipe, { ...options, onEvent }))
  })
}

/** `sous "PROMPT"`: a run of one step. */
export async function prompt(line: CommandLine, host: Host): Promise<number> {
  const text = await host.readPrompt({ argument: line.args[0] })
  const session = await openSession(line, host)
  await checkHooks(session)
  const { system, appendSystemPrompt: appendSystem, tools, outputSchema } = line.values
  const output = outputSchema === undefined ? undefined : await readObject("--output-schema", outputSchema, session)
  const options = { ...runOptions(session), ...given({ system, appendSystem, tools, output }) }
  const goesOn = await sessionOf(session)
  const more = goesOn === undefined ? {} : { session: goesOn }
  const code = await withKit(session, (kit) =>
    follow(session, (onEvent) => kit.prompt(text, { ...options, ...more, onEvent })),
  )
  await cleanDaily(session)
  return code
}

const DAY_MS = 86_400_000

/** The look for old sessions, unless it was taken today, by this program or by one that started this one. */
async function cleanDaily(session: Session): Promise<void> {
  const { host, home } = session
  if (host.signal.aborted || isMarkedInside(host)) return
  const file = cleaningFile(stateFolderFor(host.env, home))
  const looked = await stat(file).catch(() => undefined)
  // Where nothing was ever kept, nothing is old: the first look is tomorrow's.
  if (looked === undefined) return await writeFile(file, "", { flag: "wx", mode: FILE_MODE }).catch(() => {})
  if (Date.now() - looked.mtimeMs < DAY_MS) return
  await (await import("./sessions-clean.ts")).cleanSessions(session)
}

/** The session to go on with; undefined: a new one. */
async function sessionOf(session: Session): Promise<SessionRequest | undefined> {
  const { continue: newest, resume, fork } = session.line.values
  if (newest === undefined && resume === undefined && fork === undefined) return undefined
  refuseInside(session.host, newest ? "--continue" : "--resume")
  const id = resume === true ? await (await import("./choose-session.ts")).chooseSession(session) : resume
  return given({ continue: newest, resume: id, fork })
}

/** Adds what is wrong with the hooks to the warnings. Throws HOOK_SCRIPT_MISSING. */
async function checkHooks(session: Session): Promise<void> {
  const { hooks, warnings } = session.loaded
  if (hooks.sources.length === 0) return
  warnings.push(...(await import("./hooks-finding.ts")).checkScripts(session))
}

type Found = { recipe: Recipe; from: RecipeOrigin }

async function findAndLoad(kit: Kit, { line, host, loaded, cwd, packs }: Session): Promise<Found> {
  const [word = ""] = line.args
  const packed = packs && (await import("./pack-start.ts")).packRecipe(packs, word)
  if (packed) return { recipe: await loadRecipe(packed, host.loadOptions()), from: "pack" }
  const options = { cwd, folders: loaded.folders, shipped: host.packageFile("recipes"), trust: loaded.trust.isTrusted }
  if (!options.trust && word.includes("/") && !existsSync(resolve(cwd, word))) await refuseUntrusted(word, loaded, host)
  const found = findRecipe(word, options)
  if (found) {
    const { file, from } = found
    // Of a trusted project the bytes that were hashed; a file that was named by its path is what lies there.
    const loadFrom = from === "project" ? loaded.trust.copyOf(file) : file
    return { recipe: { ...(await loadRecipe(loadFrom, host.loadOptions())), file }, from }
  }
  const recipe = kit.recipe(word)
  if (!recipe) {
    // Why it may be unknown: a project that is not trusted any more.
    for (const warning of loaded.warnings) host.tell(`! ${warning}`)
    throw unknownRecipe(word, options, kit.describe().recipes)
  }
  return { recipe, from: "plugin" }
}

/** Throws RECIPE_UNKNOWN for a recipe of a pack that only a project names which nobody trusts. */
async function refuseUntrusted(word: string, { folders, warnings }: Session["loaded"], host: Host): Promise<void> {
  const fault = await (await import("./pack-start.ts")).untrustedRecipe(word, folders)
  if (fault === undefined) return
  for (const warning of warnings) host.tell(`! ${warning}`)
  throw fault
}

/** Without anybody to ask, a recipe is told what it does not get. */
async function isGranted({ recipe, from }: Found, { asker, line, host }: Session): Promise<boolean> {
  const allow = rulesToGrant(recipe, from, line.values)
  if (allow.length === 0) return true
  if (asker) return await asker.grant({ name: recipe.name, allow }, host.signal)
  host.tell(`! Not granted to recipe "${recipe.name}": ${allow.join(", ")} (--grant grants it)`)
  return false
}

/** Follows a run to its end: shows it, prints its answer, says how it went. Returns the exit code. */
export async function follow(
  session: Session,
  start: (onEvent: (event: RunEvent) => void) => Run<unknown>,
): Promise<number> {
  const { line, host, loaded } = session
  const show = await host.openShow({ ...line.values, kind: line.command === "run" ? "run" : "prompt" })
  let isStarted = false
  host.setRunning(true)
  try {
    const running = start((event) => {
      isStarted = true
      if (host.isRead()) show.handle(event)
    })
    const result = await running.result
    show.close()
    if (host.isRead()) show.conclude(result)
    return result.exit
  } finally {
    host.setRunning(false)
    show.close()
    if (!isStarted) for (const warning of loaded.warnings) host.tell(`! ${warning}`)
  }
}
