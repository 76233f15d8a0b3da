/**
 * One source file → its exports, by the quickest way that this Node has and the file allows.
 *
 * A file that imports only the toolkit and Node is compiled once and kept by its content: by Node where it strips types,
 * else by jiti; whatever needs more (files beside it, packages) goes through jiti as a whole.
 *
 * Invariant: the ways differ in speed, not in what comes out.
 */
import { createHash } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { isSousError, SousError } from "../error.ts"
import { isCommonJs } from "./module-kind.ts"
import { canImportNative, importNative, isUnfit, stripTypes } from "./module-native.ts"

/** Modules by the names under which a loaded file imports them; each is made when it is first wanted. */
export type VirtualModules = Readonly<Record<string, () => Promise<object>>>

export interface ImportOptions {
  source: string
  modules: VirtualModules
  cache?: string
}

/** A file that was made ready to run. `jiti`: nothing could be made ready. */
interface Compiled {
  way: "native" | "single" | "jiti" | "cjs"
  code: string
}

/** Grows when what is kept would be read differently. */
const CACHE_VERSION = 1

/** Runs the module and gives its exports by name. */
export async function importModule(file: string, options: ImportOptions): Promise<Record<string, unknown>> {
  const { source, cache } = options
  const modules = await openModules(source, options.modules)
  const kept = cache === undefined ? undefined : join(cache, `${keyOf(file, source)}.json`)
  try {
    const known = kept === undefined ? undefined : await readCompiled(kept)
    if (known) return await run(file, known, { modules, cache })
    const ways = isCommonJs(file, source) ? [compileCommonJs] : [compileNative, compileSingle]
    for (const compile of ways) {
      const compiled = await compile(file, source, modules)
      const exports = compiled && (await run(file, compiled, { modules, cache }).catch(passUnfit))
      if (exports === undefined) continue
      if (kept !== undefined) await writeCompiled(kept, compiled!)
      return exports
    }
    throw new Error("no way to load a module was left")
  } catch (error) {
    throw explain(file, error)
  }
}

interface RunOptions {
  modules: ReadonlyMap<string, object>
  cache: string | undefined
}

async function run(file: string, { way, code }: Compiled, options: RunOptions): Promise<Record<string, unknown>> {
  if (way === "native") return await importNative(file, code, options.modules)
  if (way === "cjs") return (await import("./module-cjs.ts")).runCommonJs(file, code, options.modules)
  if (way === "single") return await (await import("./module-single.ts")).runSingle(file, code, options.modules)
  return await (await import("./module-jiti.ts")).importWithJiti(file, options)
}

async function compileNative(file: string, source: string): Promise<Compiled | undefined> {
  if (!canImportNative()) return undefined
  const code = /\.m?ts$/.test(file) ? stripTypes(source) : source
  return code === undefined ? undefined : { way: "native", code }
}

async function compileSingle(file: string, source: string, modules: ReadonlyMap<string, object>): Promise<Compiled> {
  const { isSingle, transform } = await import("./module-jiti.ts")
  const code = await transform(file, source)
  return isSingle(code, modules) ? { way: "single", code } : { way: "jiti", code: "" }
}

async function compileCommonJs(file: string, source: string): Promise<Compiled> {
  const { checkSyntax, plainCommonJs } = await import("./module-cjs.ts")
  const { transform } = await import("./module-jiti.ts")
  const plain = plainCommonJs(file, source)
  const isPlain = plain !== undefined && checkSyntax(file, plain)
  return { way: "cjs", code: isPlain ? plain : await transform(file, source) }
}

/** The file needs another way: nothing of it has run yet. */
function passUnfit(error: unknown): undefined {
  if (!isUnfit(error)) throw error
}

/** Those that the file names; all of them when it has files of its own beside it. */
async function openModules(source: string, modules: VirtualModules): Promise<Map<string, object>> {
  const isWhole = /["']\.{1,2}\//.test(source)
  const names = Object.keys(modules).filter((name) => isWhole || source.includes(name))
  return new Map(await Promise.all(names.map(async (name) => [name, await modules[name]!()] as const)))
}

function keyOf(file: string, source: string): string {
  return createHash("sha256")
    .update(JSON.stringify([CACHE_VERSION, process.version, file, source]))
    .digest("hex")
}

async function readCompiled(kept: string): Promise<Compiled | undefined> {
  try {
    return JSON.parse(await readFile(kept, "utf8"))
  } catch {
    return undefined
  }
}

/** A cache that cannot be written only costs time. */
async function writeCompiled(kept: string, compiled: Compiled): Promise<void> {
  const draft = `${kept}.${process.pid}`
  try {
    await mkdir(join(kept, ".."), { recursive: true, mode: 0o700 })
    await writeFile(draft, JSON.stringify(compiled), { mode: 0o600 })
    await rename(draft, kept)
  } catch {}
}

/** The coded error behind whatever was thrown. */
function explain(file: string, error: unknown): unknown {
  if (isSousError(error)) return error
  const { code, message, stack = "" } = (error ?? {}) as NodeJS.ErrnoException
  const missing = /^Cannot find (?:module|package) '([^']+)'/.exec(message ?? "")?.[1]
  if (missing !== undefined && /MODULE_NOT_FOUND/.test(code ?? "")) {
    return new SousError("MODULE_IMPORT_MISSING", { file, specifier: missing }, { cause: error })
  }
  const parse = /^(?:ParseError|SyntaxError): (.*?)\s*\n\s*(.+):(\d+):(\d+)/s.exec(message ?? "")
  if (parse) {
    const [, problem = "", at = file, line, column] = parse
    const place = { line: Number(line), column: Number(column) + 1 }
    return new SousError(
      "MODULE_SYNTAX_INVALID",
      { file: at, problem: problem.replace(/,$/, ""), ...place },
      { cause: error },
    )
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const reason = what + besideOf(file, stack)
  return new SousError("MODULE_THREW", { file, reason, line: lineOf(file, stack) }, { cause: error })
}

/** Where it was thrown, when that is another file near this one. */
function besideOf(file: string, stack: string): string {
  const [, at = "", line] = /^\s*at (?:.*\()?(?:file:\/\/)?(\/.*?)(?:\?[^:]*)?:(\d+):\d+\)?$/m.exec(stack) ?? []
  const isNear = at !== file && at.startsWith(`${dirname(dirname(file))}/`) && !at.includes("/node_modules/")
  return isNear && at !== pathToFileURL(file).pathname ? ` (in ${at}:${line})` : ""
}

/** The line of the file from which the error came. */
function lineOf(file: string, stack: string): number | undefined {
  const at = stack.split(file.replace(/^.*[\\/]/, ""))[1]
  const line = /^(?:\?[^:]*)?:(\d+)/.exec(at ?? "")?.[1]
  return line === undefined ? undefined : Number(line)
}
