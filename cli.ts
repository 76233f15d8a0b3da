#!/usr/bin/env node
/**
 * argv → a command → an exit code. The only place that reads argv, listens to signals and ends the process.
 *
 * Invariant: stdout gets the answer and nothing else; what a command does not need is not loaded for it.
 */
import { existsSync, lstatSync, readFileSync } from "node:fs"
import module from "node:module"
import { dirname, isAbsolute, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Host } from "./core/cli/host.ts"
import type { LoadOptions } from "./core/recipe/load.ts"

declare const SOUS_VERSION: string | undefined
const { enableCompileCache: keepCompiled } = module as { enableCompileCache?: (folder: string) => unknown }

const { env, stdin, stdout, stderr } = process
const argv = process.argv.slice(2)
/** Fires on the first Ctrl-C, on SIGTERM, and when nobody reads stdout any more. */
const interruption = new AbortController()
/** Ends the process, also while plugins that load may not. */
const exit: (code?: number) => never = process.exit.bind(process)
/** Takes an error that nobody caught; false: nobody is there for it. */
let takeStray: Parameters<Host["onStray"]>[0] = () => false
/** Set while a run is at work, which then decides the exit code. */
let isRunning = false
/** Why stdout takes nothing any more. */
let lostOutput: string | undefined
/** Tells people of a signal; by way of the screen, once there is one. */
let tellOfSignal = (text: string): void => void stderr.write(`\n${text}\n`)

if (argv.length === 1 && /^(--version|-[vV])$/.test(argv[0]!)) stdout.write(`${version()}\n`)
else await main()

async function main(): Promise<void> {
  listen()
  // What a recipe or a plugin prints is for people: stdout is the answer's.
  globalThis.console = new console.Console(stderr, stderr)
  const kept = cacheFolder()
  if (kept !== undefined && keepCompiled !== undefined) {
    // The folders that it makes are this user's alone.
    const mask = process.umask(0o077)
    keepCompiled(join(kept, "node"))
    process.umask(mask)
  }
  const code = await dispatch().catch(printFault)
  await new Promise<void>((flushed) => void stdout.write("", () => flushed()))
  // As a shell counts a program that its reader left: 128 and SIGPIPE.
  if (lostOutput === "EPIPE") exit(141)
  if (lostOutput === undefined) return exit(code)
  const { SousError } = await import("./core/error.ts")
  await printFault(new SousError("CLI_OUTPUT_LOST", { reason: lostOutput }))
  exit(1)
}

async function dispatch(): Promise<number> {
  const { parseCommandLine } = await import("./core/cli/command-line.ts")
  const line = await parseCommandLine(argv)
  const { command, args, values } = line
  const host = await createHost()
  if (values.version) host.print(`${version()}\n`)
  // What a recipe takes is known once it is loaded.
  else if (values.help && !(command === "run" && args.length > 0)) host.print(line.help())
  else {
    const { COMMAND_WORK } = await import("./core/cli/work.ts")
    return await (await COMMAND_WORK[command]())(line, host)
  }
  return 0
}

/** The process, as commands see it; what draws on a terminal is loaded when it is asked for. */
async function createHost(): Promise<Host> {
  const { createScreen } = await import("./plugins/render/screen.ts")
  const { escapeControls } = await import("./plugins/render/display.ts")
  const screen = createScreen(stderr, { env })
  // The terminal has echoed ^C where the cursor stood.
  tellOfSignal = (text) => screen.print(screen.live ? `\r\x1b[K${text}` : `\n${text}`)
  const write = (text: string) => void stdout.write(text)
  const host: Host = {
    env,
    cwd: currentFolder,
    isRoot: process.getuid?.() === 0,
    stdin,
    signal: interruption.signal,
    print: write,
    pour,
    escape: escapeControls,
    tell: (line) => screen.print(escapeControls(line)),
    printFault,
    isRead: () => lostOutput === undefined,
    setRunning(value) {
      isRunning = value
    },
    withoutExit,
    onStray(listener) {
      takeStray = listener
      return () => {
        takeStray = () => false
      }
    },
    loadOptions,
    shippedPlugins: async () => (await import("./plugins/default.ts")).defaultPlugins,
    optionalPlugins: async () => (await import("./plugins/default.ts")).optionalPlugins,
    moduleFiles,
    isolation,
    packageFile,
    readPrompt: async (options) =>
      (await import("./plugins/render/input.ts")).readPrompt(stdin, { ...options, tell: screen.print }),
    async openAsker() {
      if (!stdin.isTTY || !stderr.isTTY) return undefined
      const { createAsker } = await import("./plugins/render/ask.ts")
      return createAsker(stdin, screen, { interrupt: () => void process.emit("SIGINT") })
    },
    async openShow(options) {
      const { openShow } = await import("./plugins/render/show.ts")
      return await openShow(screen, { ...options, write, isTerminal: stdout.isTTY })
    },
  }
  return host
}

async function withoutExit<T>(work: () => Promise<T>): Promise<T> {
  process.exit = (code) => {
    throw new Error(`it called process.exit(${code ?? ""}), and a plugin may not end the process`)
  }
  try {
    return await work()
  } finally {
    process.exit = exit
  }
}

async function pour(text: string): Promise<void> {
  if (stdout.write(text) || lostOutput !== undefined) return
  await new Promise<void>((resolve) => {
    const go = () => {
      stdout.off("drain", go).off("error", go)
      resolve()
    }
    stdout.on("drain", go).on("error", go)
  })
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

function moduleFiles(): ReturnType<Host["moduleFiles"]> {
  const isSource = import.meta.url.endsWith("/cli.ts")
  const [sous, testing] = isSource
    ? ["core/index.ts", "plugins/testing/index.ts"]
    : ["dist/index.js", "dist/testing.js"]
  const urlOf = (name: string) => pathToFileURL(packageFile(name)).href
  const modules = { sous: urlOf(sous!), "sous/testing": urlOf(testing!), zod: import.meta.resolve("zod") }
  return { modules, loader: import.meta.resolve("jiti") }
}

/** Also from the source they run what was built: a Node that may do little does not compile on its way. */
function isolation(): ReturnType<Host["isolation"]> {
  const entry = packageFile("dist/isolate.js")
  const urlOf = (name: string) => pathToFileURL(join(dirname(entry), name)).href
  const places = module.createRequire(entry).resolve.paths("jiti") ?? []
  const packages = places.filter((folder) => existsSync(join(folder, "jiti"))).slice(0, 1)
  return {
    entry,
    modules: { sous: urlOf("index.js"), "sous/testing": urlOf("testing.js") },
    // A folder of packages that is a link itself has to be looked at as well.
    reads: [
      dirname(entry),
      packageFile("package.json"),
      ...packages.flatMap((folder) => (lstatSync(folder).isSymbolicLink() ? [folder] : [join(folder, "jiti")])),
    ],
  }
}

async function currentFolder(): Promise<string> {
  try {
    return process.cwd()
  } catch {
    const { SousError } = await import("./core/error.ts")
    throw new SousError("CLI_FOLDER_GONE", {})
  }
}

/** The first signal stops the run cleanly, a second Ctrl-C within two seconds ends the process at once. */
function listen(): void {
  let last = 0
  process.on("SIGINT", () => {
    const now = performance.now()
    if (!isRunning || (last > 0 && now - last < 2000)) exit(130)
    last = now
    interruption.abort()
    if (stderr.isTTY) tellOfSignal("Stopping. Ctrl-C again ends it at once")
  })
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (!isRunning || interruption.signal.aborted) exit(143)
      interruption.abort("SIGTERM")
    })
  }
  // Code of a recipe that ends the process must not pass for a run that went well.
  process.on("exit", (code) => {
    if (!isRunning || code !== 0) return
    stderr.write("The run was ended by code that called process.exit: it is not finished\n")
    process.exitCode = 1
  })
  // Nothing is left to do, and the command has not come to its end: what it waits for can never happen any more.
  process.on("beforeExit", () => {
    process.exitCode = 1
    const stalled = async () => new (await import("./core/error.ts")).SousError("CLI_STALLED", {})
    void stalled()
      .then(printFault)
      .finally(() => exit(1))
  })
  const fail = (error: unknown) => void printFault(error).finally(() => exit(1))
  process.on("uncaughtException", (error) => takeStray(error, true) || fail(error))
  process.on("unhandledRejection", (error) => takeStray(error, false) || fail(error))
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

/** Whoever can write to a cache of code can run code here: it lies in the state folder, which no agent may write. */
function cacheFolder(): string | undefined {
  const set = env.XDG_STATE_HOME
  const folder = set !== undefined && isAbsolute(set) ? set : env.HOME && join(env.HOME, ".local", "state")
  return folder && isAbsolute(folder) ? join(folder, "sous", "cache") : undefined
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
