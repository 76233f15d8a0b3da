/**
 * What most tests of the loop stand on: a kit over the shipped plugins, the real SDK against a server on loopback, real
 * folders that go away.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import {
  createKit,
  type Kit,
  type KitOptions,
  type Plugin,
  type PromptOptions,
  type RunEvent,
  type RunResult,
} from "sous"
import {
  checkAppendOnly,
  checkConversation,
  createModelServer,
  type ModelServer,
  type ModelServerOptions,
  type TurnSource,
} from "sous/testing"
import { afterEach } from "vitest"
import { defaultPlugins } from "../plugins/default.ts"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Registers what is given back at the end of this test. */
export function after(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** A folder with these files (path → text), gone after the test. Absolute, real. */
export function folder(files: Record<string, string> = {}): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "sous-test-")))
  after(() => rmSync(made, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(made, name)), { recursive: true })
    writeFileSync(join(made, name), text)
  }
  return made
}

/** A server with a script, closed after the test; turns that nobody asked for fail it. */
export async function serve(turns: TurnSource, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await createModelServer(turns, options)
  after(() => server.close())
  return server
}

export interface TestRun {
  result: RunResult
  events: RunEvent[]
  server: ModelServer
  /** Bodies of the requests to the model, in order. */
  bodies: any[]
  cwd: string
}

export interface TestOptions extends PromptOptions {
  /** Beside the shipped ones. */
  plugins?: Plugin[]
  files?: Record<string, string>
  cwd?: string
  kit?: Partial<KitOptions>
  /** Added to the environment. */
  env?: Record<string, string>
  prompt?: string
  server?: ModelServerOptions
  /** Called with the run once it has begun. */
  during?: (run: ReturnType<Kit["prompt"]>) => unknown
  /** The conversation was shortened on purpose, or the model changed: the append-only law has its exception. */
  rewrites?: boolean
}

/** Opens a kit whose models lead to the server; closed after the test. */
export async function testKit(server: ModelServer, options: TestOptions & { cwd: string }): Promise<Kit> {
  const home = folder()
  const kit = await createKit({
    plugins: [...defaultPlugins, ...(options.plugins ?? [])],
    cwd: options.cwd,
    env: { PATH: process.env["PATH"], HOME: home, ...server.env, ...options.env },
    home,
    strict: true,
    ...options.kit,
  })
  after(() => kit.close())
  return kit
}

/** Runs one prompt against scripted turns; every request is checked: a valid conversation that only grows. */
export async function runPrompt(turns: TurnSource, options: TestOptions = {}): Promise<TestRun> {
  const {
    plugins: _,
    files,
    cwd: given,
    kit: __,
    env: ___,
    prompt = "Go",
    server: serverOptions,
    during,
    rewrites,
    ...run
  } = options
  const server = await serve(turns, serverOptions)
  const cwd = given ?? folder(files)
  const kit = await testKit(server, { ...options, cwd })
  const events: RunEvent[] = []
  const started = kit.prompt(prompt, { model: "claude-opus-5-5", ...run, onEvent: (event) => events.push(event) })
  await during?.(started)
  const result = await started.result
  const bodies = server.asked().map(({ body }) => body)
  for (const body of bodies) checkConversation(body.messages)
  if (!rewrites) checkAppendOnly(bodies)
  return { result, events, server, bodies, cwd }
}

/** The text of the tool results in the last user message of a request. */
export function lastResults(body: any): { text: string; isError: boolean }[] {
  return body.messages
    .at(-1)
    .content.filter((block: any) => block.type === "tool_result")
    .map((block: any) => ({
      text: typeof block.content === "string" ? block.content : block.content.map((part: any) => part.text).join("\n"),
      isError: block.is_error === true,
    }))
}
