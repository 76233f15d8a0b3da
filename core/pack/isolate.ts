/**
 * A plugin file and what it may do → an ordinary plugin, whose code runs in a Node process of its own.
 *
 * Invariant: what comes from that process is data that was checked: nothing in it is called, and it can neither grant
 * nor widen anything. Without the process every call fails, and every gate falls as its event's row says.
 */
import type { Capabilities, Plugin } from "../plugin.ts"

/** What the child process is started from; made by the command line. */
export interface IsolationParts {
  /** Absolute: the file that the child process runs. */
  entry: string
  /** File URLs of what plugins import by these names: `sous`, `sous/testing`. */
  modules: Readonly<Record<string, string>>
  /** Folders and files (absolute) of the toolkit and its packages, which the child has to read. */
  reads: readonly string[]
}

/** What the manifest of a pack lists beside its tools; what a plugin adds beyond it is refused. */
export interface DeclaredParts {
  /** Names of events. */
  hooks: readonly string[]
  rules: Readonly<Partial<Record<"allow" | "ask" | "deny", readonly string[]>>>
  /** Names of agents. */
  agents: readonly string[]
}

export interface IsolateOptions {
  parts: IsolationParts
  /** Left out: those that the plugin declares itself. */
  capabilities?: Capabilities
  /** Left out: any hook and agent, and rules that ask or deny. */
  declares?: DeclaredParts
  /** Absolute: the folder that the plugin may always read. Links in it that lead out of it are refused. */
  folder: string
  /** Absolute: the project. Relative paths of capabilities are relative to it. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  home?: string | undefined
  /** ms for loading the file. Default 10,000. */
  loadMs?: number
  /** Told what the child prints, and that it was started anew. */
  notice?(text: string): void
}

/** A plugin in a process of its own. */
export interface Isolated {
  plugin: Plugin
  /** How often its process died and was started again. */
  readonly restarts: number
  /** Why every call fails from now on; undefined while calls are answered. */
  readonly fault: string | undefined
  /** Ends the process; returns when it is gone. The plugin's `dispose` does the same. */
  close(): Promise<void>
}

/** Loads a plugin file (absolute) in a process of its own. Throws ISOLATION_… and PLUGIN_… errors. */
export type LoadIsolated = (file: string, options: IsolateOptions) => Promise<Isolated>
