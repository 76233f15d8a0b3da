/**
 * Runs a recipe offline: a scripted model, and everything else real, in a folder of its own.
 *
 * Invariant: no key is read and nothing leaves the machine; what a recipe asks to be allowed is granted, and nothing more
 * unless the test says so.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import {
  createKit,
  type ModelProvider,
  type ModelRequest,
  type Plugin,
  type Recipe,
  type RunEvent,
  type RunOptions,
  type RunResult,
} from "sous"
import { defaultPlugins } from "../default.ts"
import type { TurnSource } from "./server.ts"
import { scriptModel } from "./stand-in.ts"

export interface RunRecipeOptions<I> extends Omit<RunOptions, "params" | "model" | "onEvent"> {
  /** What the model says: turns, a script, or a function of the request. */
  model: TurnSource
  params?: I
  /** Files that are there when it starts: path → text. */
  files?: Record<string, string>
  /** Works here instead of in a new folder. Absolute. */
  cwd?: string
  /** Beside the shipped plugins. */
  plugins?: Plugin[]
}

export interface RecipeRun<O> extends RunResult<O> {
  /** Where it ran, absolute; a folder that was made for it goes when the process ends. */
  cwd: string
  /** The text of a file there. */
  read(path: string): string
  events: RunEvent[]
  /** What the model was asked, in order. */
  requests: readonly ModelRequest[]
}

/** Runs a recipe against a scripted model. A run that fails is a result, not a rejection. */
export async function runRecipe<P, O, I>(recipe: Recipe<P, O, I>, options: RunRecipeOptions<I>): Promise<RecipeRun<O>> {
  const { model, params, files = {}, plugins = [], cwd: given, ...rest } = options
  const place = makeFolder("sous-recipe-")
  const cwd = given ?? join(place, "project")
  for (const [path, text] of Object.entries({ ...files })) writeInto(join(cwd, path), text)
  mkdirSync(cwd, { recursive: true })
  const requests: ModelRequest[] = []
  const scripted = overheard(scriptModel(model), requests)
  const events: RunEvent[] = []
  const kit = await createKit({
    plugins: [{ name: "scripted-model", models: [scripted] }, ...defaultPlugins, ...plugins],
    cwd,
    env: { PATH: process.env["PATH"], HOME: place },
    home: place,
    strict: true,
  })
  try {
    const run = kit.run(recipe as Recipe<any, O, any>, {
      grant: true,
      ...rest,
      model: "scripted",
      params: (params ?? {}) as Record<string, unknown>,
      onEvent: (event) => events.push(event),
    })
    const result = (await run.result) as RunResult<O>
    return { ...result, cwd, read: (path) => readFileSync(join(cwd, path), "utf8"), events, requests }
  } finally {
    await kit.close()
  }
}

/** The same models, with a note of what each was asked. */
function overheard(provider: ModelProvider, requests: ModelRequest[]): ModelProvider {
  return {
    ...provider,
    async open(id, options) {
      const model = await provider.open(id, options)
      return {
        ...model,
        stream: (request, streaming) => {
          requests.push({ ...request, messages: [...request.messages] })
          return model.stream(request, streaming)
        },
      }
    },
  }
}

function makeFolder(prefix: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function writeInto(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
