/**
 * Linting: a file that an agent has just changed → what the project's linter finds in it, for the agent to mend.
 *
 * Invariant: a linter that finds nothing says nothing; a path is handed to it as an argument and never through a shell.
 */
import { extname, resolve } from "node:path"
import { definePlugin, type HookAnswer, type HookPayload, inject, runProcess, z } from "sous"

const settings = z.strictObject({
  /** By ending, such as ".ts": a program with its arguments, in which {file} is the file; without it, the file comes last. */
  linters: z.record(z.string().regex(/^\.\w+$/, 'expected an ending such as ".ts"'), z.array(z.string()).min(1)),
  timeoutSeconds: z.number().positive().default(60),
  /** How much of what it finds the agent is shown, in characters. */
  mostChars: z.int().positive().default(4000),
  /** Environment variables that the linter gets, beside those that every program needs. */
  env: z.array(z.string()).default([]),
})
type Settings = z.output<typeof settings>

/** Variables that every program may need. */
const PLAIN_ENV = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER"]

/** Fields of an input that hold the path of what was changed. */
const PATH_FIELDS = ["file_path", "notebook_path"]

export default definePlugin({
  name: "lint-after-edit",
  settings,
  capabilities: { exec: ["*"] },
  setup({ settings: given, env }) {
    const chosen = given as Settings
    const names = [...PLAIN_ENV, ...chosen.env]
    const own = Object.fromEntries(
      names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    ) as Record<string, string>
    return {
      hooks: {
        PostToolUse: {
          matcher: "Edit|Write|MultiEdit|NotebookEdit",
          description: "lint after edit",
          // The linter has its own time, which ends it with all that it started.
          timeoutMs: chosen.timeoutSeconds * 1000 + 5000,
          handler: (event, { signal }) => lint(event, { ...chosen, own, signal }),
        },
      },
    }
  },
})

type Work = Settings & { own: Record<string, string>; signal: AbortSignal }

async function lint(event: HookPayload<"PostToolUse">, work: Work): Promise<HookAnswer | undefined> {
  const written = changedPath(event.tool_input)
  const linter = written === undefined ? undefined : work.linters[extname(written)]
  if (written === undefined || linter === undefined) return undefined
  const path = resolve(event.cwd, written)
  const { own: env, signal, timeoutSeconds, mostChars } = work
  const options = { cwd: event.cwd, env, signal, timeoutMs: timeoutSeconds * 1000 }
  const { code, stdout, stderr, timedOut, error } = await runProcess(commandFor(linter, path), options)
  if (error !== undefined) throw new Error(`cannot start ${linter[0]}: ${error}`)
  if (timedOut) throw new Error(`${linter[0]} took longer than ${timeoutSeconds} s`)
  if (code === 0) return undefined
  const found = [stdout, stderr].map((part) => part.toString("utf8").trim()).filter((part) => part !== "")
  if (code === null || found.length === 0)
    throw new Error(`${linter[0]} ended with ${code ?? "a signal"} and said nothing`)
  return inject(`${linter[0]} found this in ${written}; mend it:\n${clip(found.join("\n"), mostChars)}`)
}

function changedPath(input: unknown): string | undefined {
  const fields = (input ?? {}) as Record<string, unknown>
  const path = PATH_FIELDS.map((name) => fields[name]).find((value) => typeof value === "string")
  return path as string | undefined
}

function commandFor([file = "", ...args]: string[], path: string): { file: string; args: string[] } {
  const filled = args.map((arg) => arg.replaceAll("{file}", () => path))
  return { file, args: args.some((arg) => arg.includes("{file}")) ? filled : [...filled, path] }
}

function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}\n(${text.length - most} more characters)`
}
