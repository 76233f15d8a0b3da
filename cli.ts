#!/usr/bin/env node
/**
 * argv → a command → an exit code. The only place that reads argv, listens to signals and ends the process.
 *
 * Invariant: stdout gets the answer and nothing else; what a command does not need is not loaded for it.
 */
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { RunEvent } from "./core/event.ts"
import type { Kit, Run, RunOptions } from "./core/kit.ts"
import type { LoadOptions } from "./core/recipe/load.ts"
import type { CommandLine } from "./core/settings/command-line.ts"
import type { LoadedSettings } from "./core/settings/load.ts"
import type { RecipeOrigin } from "./core/settings/recipe-file.ts"
import type { Recipe } from "./core/step.ts"
import type { Asker } from "./plugins/render/ask.ts"
import type { Screen } from "./plugins/render/screen.ts"

declare const SOUS_VERSION: string | undefined
const { enableCompileCache: keepCompiled } = module as { enableCompileCache?: (folder: string) => unknown }

const { env, stdin, stdout, stderr } = process
const argv = process.argv.slice(2)
/** Fires on the first Ctrl-C, on SIGTERM, and when nobody reads stdout any more. */
const interruption = new AbortController()
/** Set while a run is at work, which then decides the exit code. */
let isRunning = false
/** Why stdout takes nothing any more. */
let lostOutput: string | undefined

if (argv.length === 1 && /^(--version|-[vV])$/.test(argv[0]!)) stdout.write(`${version()}\n`)
else await main()

async function main(): Promise<void> {
  listen()
  const kept = cacheFolder()
  if (kept !== undefined) keepCompiled?.(join(kept, "node"))
  const code = await dispatch().catch(printFault)
  await new Promise<void>((flushed) => void stdout.write("", () => flushed()))
  if (lostOutput === undefined || lostOutput === "EPIPE") process.exit(code)
  const { SousError } = await import("./core/error.ts")
  await printFault(new SousError("CLI_OUTPUT_LOST", { reason: lostOutput }))
  process.exit(1)
}

async function dispatch(): Promise<number> {
  const { parseCommandLine } = await import("./core/settings/command-line.ts")
  const line = await parseCommandLine(argv)
  const { command, args, values } = line
  if (values.version) return print(`${version()}\n`)
  if (command === "help" || (values.help && !(command === "run" && args.length > 0))) return print(line.help())
  if (command === "check") return await checkCommand(line)
  return command === "run" ? await runCommand(line) : await promptCommand(line)
}

/** What loaded files import by these names is what runs here; compiled files are kept in this user's folder. */
function loadOptions(): LoadOptions {
  const modules = {
    sous: () => import("./core/index.ts"),
    "sous/testing": () => import("./plugins/testing/index.ts"),
    zod: () => import("zod"),
  }
  const kept = cacheFolder()
  return kept === undefined ? { modules } : { modules, cache: join(kept, "modules") }
}

/** What stands before anything runs. */
interface Session {
  line: CommandLine
  loaded: LoadedSettings
  screen: Screen
  /** Left out where nobody can be asked. */
  asker: Asker | undefined
  cwd: string
  home: string | undefined
}

async function runCommand(line: CommandLine): Promise<number> {
  const { values } = line
  const session = await openSession(line)
  const { describeParams, listParams, readParams } = await import("./core/recipe/param.ts")
  const { pairsOfFlags } = await import("./core/settings/command-line.ts")
  if (values.help) {
    const { recipe } = await withKit(session, (kit) => findAndLoad(kit, session))
    return print(`${line.help()}\n${describeParams(recipe)}`)
  }
  return await withKit(session, async (kit) => {
    const found = await findAndLoad(kit, session)
    const { recipe } = found
    const names = listParams(recipe).map(({ name }) => name)
    const pairs = [...(values.param ?? []), ...pairsOfFlags(line.own, names)]
    const params = await readParams(recipe, { pairs, ...given({ file: values.params }) })
    const grant = await isGranted(found, session)
    const options = { ...(await runOptions(session)), params, grant }
    return await follow(session, (onEvent) => kit.run(recipe, { ...options, onEvent }))
  })
}

async function promptCommand(line: CommandLine): Promise<number> {
  const { readPrompt } = await import("./plugins/render/input.ts")
  const text = await readPrompt(stdin, { argument: line.args[0], isPiped: line.values.print === true })
  const session = await openSession(line)
  const { system, appendSystemPrompt: appendSystem, tools, outputSchema } = line.values
  const { readObject } = await import("./core/settings/flag.ts")
  const output = outputSchema === undefined ? undefined : await readObject("--output-schema", outputSchema, session)
  const options = { ...(await runOptions(session)), ...given({ system, appendSystem, tools, output }) }
  return await withKit(session, (kit) => follow(session, (onEvent) => kit.prompt(text, { ...options, onEvent })))
}

async function checkCommand({ args, values }: CommandLine): Promise<number> {
  const { loadRecipe } = await import("./core/recipe/load.ts")
  const { checkFiles } = await import("./plugins/render/check.ts")
  const load = (file: string) => loadRecipe(resolve(file), loadOptions())
  return await checkFiles(args, { load, print, printFault, json: values.json })
}

async function openSession(line: CommandLine): Promise<Session> {
  const { values } = line
  const cwd = process.cwd()
  const { homeFolder } = await import("./core/settings/scopes.ts")
  const home = homeFolder(env)
  const { loadSettings } = await import("./core/settings/load.ts")
  const { checkBypass, settingsOfFlags } = await import("./core/settings/flag.ts")
  const { createScreen } = await import("./plugins/render/screen.ts")
  const flags = settingsOfFlags(values)
  const { settings, trust } = values
  const loaded = await loadSettings({ cwd, env, flags, home, settings, trust })
  const user = { isRoot: process.getuid?.() === 0, isSandbox: env.IS_SANDBOX === "1" }
  checkBypass(loaded.settings.permissions.defaultMode, values, user)
  const screen = createScreen(stderr, { env })
  const asker = stdin.isTTY && stderr.isTTY ? await openAsker(screen) : undefined
  return { line, loaded, screen, asker, cwd, home }
}

async function openAsker(screen: Screen): Promise<Asker> {
  const { createAsker } = await import("./plugins/render/ask.ts")
  return createAsker(stdin, screen, { interrupt: () => void process.emit("SIGINT") })
}

/** Opens a kit with the shipped plugins and those of the scopes, and closes it whatever comes of the work. */
async function withKit<T>(session: Session, work: (kit: Kit) => Promise<T>): Promise<T> {
  const { line, loaded, cwd, home } = session
  const { trust, strict = !["", "0", "false"].includes(env.CI ?? "") } = line.values
  const { loadScopePlugins } = await import("./core/settings/plugin-file.ts")
  const load = async (file: string) => (await import("./core/recipe/load.ts")).loadModule(file, loadOptions())
  const [{ createKit }, { defaultPlugins }, own] = await Promise.all([
    import("./core/kit.ts"),
    import("./plugins/default.ts"),
    loadScopePlugins(loaded, load, { home, trust, strict }),
  ])
  const kit = await createKit({
    plugins: [...defaultPlugins, ...own.plugins],
    reports: own.reports,
    settings: loaded.settings,
    warnings: loaded.warnings,
    cwd,
    env,
    strict,
    ...given({ home }),
  })
  try {
    return await work(kit)
  } finally {
    await kit.close()
  }
}

type Found = { recipe: Recipe; from: RecipeOrigin }

async function findAndLoad(kit: Kit, { line, loaded, cwd }: Session): Promise<Found> {
  const { findRecipe, unknownRecipe } = await import("./core/settings/recipe-file.ts")
  const [word = ""] = line.args
  const { trust } = line.values
  const options = { cwd, folders: loaded.folders, shipped: packageFile("recipes"), trust }
  const found = findRecipe(word, options)
  if (found) {
    const { loadRecipe } = await import("./core/recipe/load.ts")
    return { recipe: await loadRecipe(found.file, loadOptions()), from: found.from }
  }
  const recipe = kit.recipe(word)
  if (!recipe) throw unknownRecipe(word, options, kit.describe().recipes)
  return { recipe, from: "plugin" }
}

async function isGranted({ recipe, from }: Found, { screen, asker, line }: Session): Promise<boolean> {
  const { rulesToGrant } = await import("./core/settings/recipe-file.ts")
  const allow = rulesToGrant(recipe, from, line.values)
  if (allow.length === 0) return true
  const { askToGrant } = await import("./plugins/render/ask.ts")
  return await askToGrant({ name: recipe.name, allow }, { screen, asker, signal: interruption.signal })
}

async function runOptions({ line, loaded, asker, cwd, home }: Session): Promise<RunOptions> {
  const { optionsOfFlags } = await import("./core/settings/flag.ts")
  const options = optionsOfFlags(line.values, loaded.settings, { cwd, home })
  return { ...options, signal: interruption.signal, ...given({ ask: asker?.ask }) }
}

/** Follows a run to its end: shows it, prints its answer, says how it went. Returns the exit code. */
async function follow(session: Session, start: (onEvent: (event: RunEvent) => void) => Run<unknown>): Promise<number> {
  const { line, loaded, screen } = session
  const { openShow } = await import("./plugins/render/show.ts")
  const kind = line.command === "run" ? "run" : "prompt"
  const show = await openShow(screen, {
    ...line.values,
    kind,
    write: (text) => void stdout.write(text),
    isTerminal: stdout.isTTY,
  })
  let isStarted = false
  isRunning = true
  try {
    const run = start((event) => {
      isStarted = true
      if (lostOutput === undefined) show.handle(event)
    })
    const result = await run.result
    show.close()
    if (lostOutput === undefined) show.conclude(result)
    return result.exit
  } finally {
    isRunning = false
    show.close()
    if (!isStarted) for (const warning of loaded.warnings) screen.print(`! ${warning}`)
  }
}

/** The first signal stops the run cleanly, a second Ctrl-C within two seconds ends the process at once. */
function listen(): void {
  let last = 0
  process.on("SIGINT", () => {
    const now = performance.now()
    if (!isRunning || (last > 0 && now - last < 2000)) process.exit(130)
    last = now
    interruption.abort()
    if (stderr.isTTY) stderr.write("\nStopping. Ctrl-C again ends it at once\n")
  })
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (!isRunning) process.exit(143)
      interruption.abort("SIGTERM")
    })
  }
  // Code of a recipe that ends the process must not pass for a run that went well.
  process.on("exit", (code) => {
    if (!isRunning || code !== 0) return
    stderr.write("The run was ended by code that called process.exit: it is not finished\n")
    process.exitCode = 1
  })
  process.on("uncaughtException", (error) => void printFault(error).finally(() => process.exit(1)))
  // A reader that went away ends the command quietly; people who do not read stderr change nothing.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    lostOutput = error.code ?? error.message
    interruption.abort()
  })
  stderr.on("error", () => {})
}

async function printFault(error: unknown): Promise<number> {
  const { formatError, isSousError } = await import("./core/error.ts")
  const { escapeControls } = await import("./plugins/render/display.ts")
  const text = isSousError(error) || !(error instanceof Error) ? formatError(error) : (error.stack ?? error.message)
  stderr.write(`${escapeControls(text)}\n`)
  return isSousError(error) ? 2 : 1
}

function print(text: string): 0 {
  stdout.write(text)
  return 0
}

/** Whoever can write to a cache of code can run code here: it lies in the user's own folder or nowhere. */
function cacheFolder(): string | undefined {
  const folder = env.XDG_CACHE_HOME ?? (env.HOME && join(env.HOME, ".cache"))
  return folder !== undefined && isAbsolute(folder) ? join(folder, "sous") : undefined
}

/** A file of this package, in the source as in the bundle. */
function packageFile(name: string): string {
  const beside = fileURLToPath(new URL(name, import.meta.url))
  return existsSync(beside) ? beside : fileURLToPath(new URL(`../${name}`, import.meta.url))
}

function version(): string {
  if (typeof SOUS_VERSION === "string") return SOUS_VERSION
  return (JSON.parse(readFileSync(packageFile("package.json"), "utf8")) as { version: string }).version
}

function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
