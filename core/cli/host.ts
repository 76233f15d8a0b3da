/**
 * What a command of the command line is handed by the process: folders, streams, signals, and what draws on a terminal.
 *
 * Invariant: a command reads nothing of the process by itself, so that it runs in a test as it runs in a shell.
 */
import type { RunEvent } from "../event.ts"
import type { RunOptions } from "../kit.ts"
import type { IsolationParts } from "../pack/isolate.ts"
import type { Plugin } from "../plugin.ts"
import type { LoadOptions } from "../recipe/load.ts"
import type { RunResult } from "../step.ts"
import type { CommandLine } from "./command-line.ts"

/** The process, as a command sees it. */
export interface Host {
  env: Readonly<Record<string, string | undefined>>
  /** Absolute. Throws CLI_FOLDER_GONE when the folder was deleted. */
  cwd(): Promise<string>
  isRoot: boolean
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  /** Fires on the first interruption. */
  signal: AbortSignal
  /** Writes to stdout: the answer, and nothing else. */
  print(text: string): void
  /** The same for much of it: resolves once stdout takes more. */
  pour(text: string): Promise<void>
  /** The text with everything that could move a cursor or turn the direction made visible. */
  escape(text: string): string
  /** A line for people, on stderr. */
  tell(line: string): void
  /** Tells people of a fault, with its mend; returns the exit code that it means. */
  printFault(error: unknown): Promise<number>
  /** False once nobody reads stdout any more. */
  isRead(): boolean
  /** While a run is at work it decides the exit code. */
  setRunning(isRunning: boolean): void
  /** Does the work; a call of process.exit meanwhile throws instead. */
  withoutExit<T>(work: () => Promise<T>): Promise<T>
  /** Hands on what nobody caught; what the listener does not take (false) ends the process. Returns how to stop. */
  onStray(listener: (error: unknown, isException: boolean) => boolean): () => void
  /** How files of code are loaded. */
  loadOptions(): LoadOptions
  shippedPlugins(): Promise<readonly Plugin[]>
  /** Shipped plugins that a start has when it asks for them: a module loader for each, by name. */
  optionalPlugins(): Promise<Readonly<Record<string, () => Promise<unknown>>>>
  /** Where files that run in a process of their own find what they import: file URLs by name, and that of jiti. */
  moduleFiles(): { modules: Readonly<Record<string, string>>; loader: string }
  /** What plugins in a process of their own are started from. */
  isolation(): IsolationParts
  /** Absolute: a file of this package. */
  packageFile(name: string): string
  /** Reads the prompt: the argument, and behind it what is piped into stdin. */
  readPrompt(options: { argument: string | undefined }): Promise<string>
  /** Undefined where nobody can be asked. */
  openAsker(): Promise<Asker | undefined>
  openShow(options: CommandLine["values"] & { kind: "run" | "prompt" }): Promise<Show>
}

/** A person at a terminal. */
export interface Asker {
  ask: NonNullable<RunOptions["ask"]>
  /** Asks once for all rules that a recipe wants. */
  grant(recipe: { name: string; allow: readonly string[] }, signal: AbortSignal): Promise<boolean>
  /** A question that takes a yes or a no; Enter is a no, and so is a person who is gone. */
  confirm(question: ConfirmQuestion, signal: AbortSignal): Promise<boolean>
  /** One of up to nine choices, by its index; undefined: none. */
  choose(question: { text: string; choices: readonly string[] }, signal: AbortSignal): Promise<number | undefined>
  /** Asks whether to go on in plan mode, after several denials. */
  offerPlanMode: NonNullable<RunOptions["offerPlanMode"]>
}

/** What a person is asked to say yes or no to. */
export interface ConfirmQuestion {
  /** One line. */
  text: string
  /** What a yes means, one line. */
  hint?: string
  /** What is said after a yes, and after a no. */
  yes: string
  no: string
}

/** A run as it is shown. */
export interface Show {
  handle(event: RunEvent): void
  close(): void
  /** Prints the answer, what failed, and the summary. */
  conclude(result: RunResult<unknown>): void
}

/** A command: does its work and returns the exit code. Throws SousError before anything ran. */
export type CommandFunction = (line: CommandLine, host: Host) => Promise<number>
