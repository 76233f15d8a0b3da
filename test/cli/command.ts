/**
 * The built command line as a child process: freshly bundled, in folders of its own, without a key.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, beforeEach } from "vitest"
import { createStage } from "../package/stage.ts"

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  /** Replaces the environment. */
  env?: Record<string, string>
  /** Added to the environment. */
  more?: Record<string, string>
  stdin?: string
  /** Leaves stdin open. */
  isOpen?: true
  /** Where it is started; absolute. Default: the project. */
  cwd?: string
  /** Arguments of Node itself. */
  node?: string[]
}

/** One place to run commands in: a project, a home, and the command itself. */
export interface Place {
  /** Absolute, real. */
  folder: string
  project: string
  home: string
  /** The built command. */
  file: string
  /** Writes a file below `folder`; returns its path. */
  put(path: string, text: string): string
  run(args: string[], options?: RunOptions): Promise<Ended>
  start(args: string[], options?: RunOptions): ChildProcessWithoutNullStreams
  env: Record<string, string>
}

/** Builds the command before the tests of a file, and hands out a fresh place before each; takes all away at the end. */
export function useCommand(begin: (place: Place) => void, { when = true } = {}): void {
  let command: ReturnType<typeof createCommand> | undefined
  beforeAll(() => {
    if (when) command = createCommand()
  }, 60_000)
  afterAll(() => command?.remove())
  beforeEach(() => {
    if (command !== undefined) begin(command.place())
  })
}

/** Builds the command once; `remove` takes it and every place away. */
function createCommand(): { place(): Place; remove(): void } {
  const stage = createStage()
  const folders: string[] = []
  return {
    place() {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-cli-")))
      folders.push(folder)
      return createPlace(folder, join(stage.folder, "dist/cli.js"))
    },
    remove() {
      stage.remove()
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createPlace(folder: string, file: string): Place {
  const [project, home] = [join(folder, "project"), join(folder, "home")]
  mkdirSync(join(project, ".git"), { recursive: true })
  mkdirSync(home)
  const env = { PATH: process.env["PATH"] ?? "", HOME: home }
  const start = (args: string[], options: RunOptions = {}) => {
    const child = spawn(process.execPath, [...(options.node ?? []), file, ...args], {
      cwd: options.cwd ?? project,
      env: options.env ?? { ...env, ...options.more },
    })
    child.stdin.on("error", () => {})
    if (!options.isOpen) child.stdin.end(options.stdin ?? "")
    return child
  }
  return {
    folder,
    project,
    home,
    file,
    env,
    put(path, text) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
      return join(folder, path)
    },
    start,
    run: (args, options) => finished(start(args, options)),
  }
}

/** Waits for the end of a child, keeping what it wrote. */
export async function finished(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on("data", (chunk) => out.push(chunk))
  child.stderr.on("data", (chunk) => err.push(chunk))
  const [code] = (await once(child, "close")) as [number | null]
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }
}
