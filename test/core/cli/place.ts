/**
 * A project and a home, and the commands of the command line run in them by this process, as a shell would run them.
 */
import { mkdirSync, readFileSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { parseCommandLine } from "../../../core/cli/command-line.ts"
import type { Host } from "../../../core/cli/host.ts"
import { COMMAND_WORK } from "../../../core/cli/work.ts"
import { formatError } from "../../../core/error.ts"
import { folder } from "../../harness.ts"
import { writeFiles } from "../pack/sources.ts"

export interface CommandPlace {
  project: string
  home: string
  /** Runs a command line; what it throws is told, as cli.ts does. */
  run(args: string[], options?: { env?: Record<string, string>; answer?: boolean }): Promise<CommandEnd>
  /** Writes a file of the project. */
  put(path: string, text: string): void
  /** Reads JSON of the project. */
  read(path: string): any
}

export interface CommandEnd {
  code: number
  stdout: string
  stderr: string
  /** The questions that were put to the person. */
  asked: string[]
}

/** Makes a place; `answer`: what the person at the terminal says, left out: there is none. */
export function commandPlace(): CommandPlace {
  const root = realpathSync(folder())
  const [project, home] = [join(root, "project"), join(root, "home")]
  mkdirSync(join(project, ".git"), { recursive: true })
  mkdirSync(home)
  return {
    project,
    home,
    put: (path, text) => writeFiles(project, { [path]: text }),
    read: (path) => JSON.parse(readFileSync(join(project, path), "utf8")),
    async run(args, { env = {}, answer } = {}) {
      const end: CommandEnd = { code: 0, stdout: "", stderr: "", asked: [] }
      const confirm = async ({ text }: { text: string }) => {
        end.asked.push(text)
        return answer ?? false
      }
      const host = {
        env: { PATH: process.env["PATH"], HOME: home, ...env },
        cwd: async () => project,
        signal: new AbortController().signal,
        print(text: string) {
          end.stdout += text
        },
        tell(line: string) {
          end.stderr += `${line}\n`
        },
        escape: (text: string) => text,
        setRunning: () => {},
        shippedPlugins: async () => (await import("../../../plugins/default.ts")).defaultPlugins,
        openAsker: async () => (answer === undefined ? undefined : { confirm }),
      } as unknown as Host
      try {
        const line = await parseCommandLine(args)
        end.code = await (await COMMAND_WORK[line.command]())(line, host)
      } catch (error) {
        end.stderr += `${formatError(error)}\n`
        end.code = 2
      }
      return end
    },
  }
}
