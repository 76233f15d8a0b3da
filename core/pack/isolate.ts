/**
 * A plugin file and what it may do → an ordinary plugin, whose code runs in a Node process of its own.
 *
 * Invariant: what comes from that process is data that was checked: nothing in it is called, and it can neither grant
 * nor widen anything. Without the process every call fails, and every gate falls as its event's row says. What a plugin
 * says its calls touch is held against the rules, and may be a lie: what it can do is bounded by its process alone.
 */
import { existsSync } from "node:fs"
import type { z } from "zod"
import { isSousError, SousError } from "../error.ts"
import type { Capabilities, Plugin } from "../plugin.ts"
import { stateFolderFor } from "../session/store.ts"
import { inputSchema } from "../tool-input.ts"
import { checkParts } from "./isolate-check.ts"
import { checkPluginFolder } from "./isolate-folder.ts"
import { grantOf } from "./isolate-grant.ts"
import { createLink, type Link } from "./isolate-link.ts"
import { type Ask, type Described, described, type Parts, parts } from "./isolate-message.ts"
import { type Making, makeParts, makePlugin } from "./isolate-plugin.ts"
import { type IsolatedProcess, startIsolatedProcess } from "./isolate-process.ts"

export { openEnds } from "./isolate-grant.ts"

/** What the child process is started from; made by the command line. */
export interface IsolationParts {
  /** Absolute: the file that the child process runs. */
  entry: string
  /** File URLs of what plugins import by these names: `sous`, `sous/testing`. */
  modules: Readonly<Record<string, string>>
  /** Folders and files (absolute) of the toolkit and its packages, which the child has to read. */
  reads: readonly string[]
}

export interface IsolateOptions {
  parts: IsolationParts
  /** Left out: those that the plugin declares itself. */
  capabilities?: Capabilities
  /**
   * Who calls holds what the plugin adds to a manifest (core/pack/bound.ts). Left out: it may add tools that its
   * capabilities list, hooks, agents, and rules that ask or deny.
   */
  isHeld?: true
  /** Absolute: the folder that the plugin may always read. Links in it that lead out of it are refused. */
  folder: string
  /** Absolute: the project. Relative paths of capabilities are relative to it. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  home?: string | undefined
  /** ms for loading the file, also when it is started twice for that. Default 10,000. */
  loadMs?: number
  /** ms that a tool may think about what a call touches, before its process is killed. Default 10,000. */
  factsMs?: number
  /** Looks whether the folder is still what it was, before the plugin is started once more; throws when it is not. */
  verify?(): Promise<void>
  /** Told what the child prints, and that it was started again. */
  notice?(text: string): void
}

/** A plugin in a process of its own. */
export interface Isolated {
  plugin: Plugin
  /** How often its process died and was started again. */
  readonly restarts: number
  /** Why every call fails from now on; undefined while calls are answered. */
  readonly fault: string | undefined
  /** Ends the process for good; returns when it is gone. The plugin's `dispose` ends it until something is asked again. */
  close(): Promise<void>
}

export type LoadIsolated = typeof loadIsolated

const LOAD_MS = 10_000
const SETUP_MS = 10_000
const FACTS_MS = 10_000

/** How long a plugin may take to give back what it holds, ms. */
const DISPOSE_MS = 3000

/**
 * Loads a plugin file (absolute) in a process of its own. Throws ISOLATION_…, and for a file that is no plugin PLUGIN_… and
 * MODULE_… errors; then the process is gone.
 */
export async function loadIsolated(file: string, options: IsolateOptions): Promise<Isolated> {
  const { folder, home, env } = options
  if (!existsSync(options.parts.entry)) throw new SousError("ISOLATION_UNAVAILABLE", { entry: options.parts.entry })
  checkPluginFolder(folder, file, [stateFolderFor(env, home), ...(home === undefined ? [] : [home])])
  const { process, said, capabilities } = await begin(file, options)
  try {
    checkParts(said.name, said.parts, { capabilities, isHeld: options.isHeld })
    return connect(process, { file, said, capabilities, options })
  } catch (error) {
    await process.close()
    throw error
  }
}

interface Begun {
  process: IsolatedProcess
  said: Described
  capabilities: Capabilities
}

/** Without a manifest the plugin is started with nothing, and once more with what it then says that it needs. */
async function begin(file: string, options: IsolateOptions): Promise<Begun> {
  const { capabilities = {} } = options
  const until = performance.now() + (options.loadMs ?? LOAD_MS)
  const first = await startAndLoad(file, capabilities, options)
  if (options.capabilities !== undefined) return { ...first, capabilities }
  const { tools: _, ...needs } = first.said.capabilities ?? {}
  const own = (first.said.capabilities ?? {}) as Capabilities
  if (Object.values(needs).every((list) => list === undefined || list.length === 0))
    return { ...first, capabilities: own }
  await first.process.close()
  const loadMs = Math.max(1, until - performance.now())
  return { ...(await startAndLoad(file, own, { ...options, loadMs })), capabilities: own }
}

async function startAndLoad(
  file: string,
  capabilities: Capabilities,
  options: IsolateOptions,
): Promise<Omit<Begun, "capabilities">> {
  const { cwd, env, home, folder, loadMs = LOAD_MS, notice = () => {} } = options
  const { entry, modules, reads } = options.parts
  const grant = grantOf(capabilities, { plugin: file, cwd, env, home, reads: [entry, folder, file, ...reads] })
  const printed = (line: string) => notice(`the plugin ${file} prints: ${line}`)
  const started = performance.now()
  const command = { file: globalThis.process.execPath, args: [...grant.args, entry] }
  const process = await startIsolatedProcess({ ...command, cwd, env: grant.env, printed })
  try {
    const net = (capabilities.net ?? []).length > 0
    const said = await process.ask({ type: "load", file, modules, net }, { timeoutMs: loadMs })
    return { process, said: read(described, said, file) }
  } catch (error) {
    await process.close()
    if (isSousError(error)) throw error
    if (performance.now() - started >= loadMs)
      throw new SousError("PLUGIN_LOAD_TIMEOUT", { file, seconds: Math.round(loadMs / 1000) })
    throw new SousError("PLUGIN_LOAD_FAILED", { file, reason: (error as Error).message }, { cause: error })
  }
}

/** Throws PLUGIN_LOAD_FAILED. */
function read<S extends z.ZodType>(schema: S, said: unknown, file: string): z.output<S> {
  const checked = schema.safeParse(said)
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  const reason = `what it says of itself cannot be read: ${issue?.path.join(".")}: ${issue?.message}`
  throw new SousError("PLUGIN_LOAD_FAILED", { file, reason })
}

interface Connecting extends Omit<Begun, "process"> {
  file: string
  options: IsolateOptions
}

/** What the host's kit gives to a setup. */
type SetupGiven = Pick<Ask & { type: "setup" }, "settings" | "cwd">

function connect(first: IsolatedProcess, { file, said, capabilities, options }: Connecting): Isolated {
  const { notice = () => {}, isHeld } = options
  /** What its setup was given, and said; a process that is started again is brought as far. */
  let setUp: { given: SetupGiven; said: Parts } | undefined
  const link: Link = createLink(first, {
    plugin: said.name,
    notice,
    async start() {
      await options.verify?.()
      const next = await startAndLoad(file, capabilities, options)
      const more = setUp && (await askSetup(next.process, setUp.given))
      if (isSame(next.said, said) && isSame(more, setUp?.said)) return next.process
      await next.process.close()
      throw new Error(`the plugin "${said.name}" says something else of itself than before`)
    },
  })
  async function askSetup(process: Pick<IsolatedProcess, "ask">, given: SetupGiven): Promise<Parts> {
    return read(parts, await process.ask({ type: "setup", ...given }, { timeoutMs: SETUP_MS }), file)
  }
  const making: Making = { plugin: said.name, link, capabilities, factsMs: options.factsMs ?? FACTS_MS }
  const giveBack = async () => {
    if (!link.current.isGone) await link.current.ask({ type: "dispose" }, { timeoutMs: DISPOSE_MS }).catch(() => {})
  }
  // Another generation of the kit may have been set up with the same plugin by then, and asks on.
  const dispose = async () => {
    await giveBack()
    await link.rest()
  }
  const close = async () => {
    await giveBack()
    await link.close()
  }
  const plugin: Plugin = { ...makePlugin(said, making), dispose }
  for (const tool of plugin.tools ?? []) checkSchema(tool, file)
  if (said.hasSetup) {
    plugin.setup = async ({ settings, cwd }) => {
      const more = await askSetup(link, { settings, cwd })
      checkParts(said.name, more, { capabilities, isHeld })
      setUp = { given: { settings, cwd }, said: more }
      const added = makeParts(more, making, { firstHook: said.parts.hooks.length })
      for (const tool of added.tools ?? []) checkSchema(tool, file)
      return added
    }
  }
  return {
    plugin,
    close,
    get restarts() {
      return link.restarts
    },
    get fault() {
      return link.fault
    },
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Throws PLUGIN_LOAD_FAILED for a schema that no input can be held against. */
function checkSchema(tool: NonNullable<Plugin["tools"]>[number], file: string): void {
  try {
    inputSchema(tool)
  } catch (error) {
    const reason = `the schema of its tool "${tool.name}" cannot be used: ${(error as Error).message}`
    throw new SousError("PLUGIN_LOAD_FAILED", { file, reason }, { cause: error })
  }
}
