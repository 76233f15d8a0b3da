/**
 * One file as Node itself runs it: types stripped, its few imports answered by hooks (Node 22.15 and newer).
 *
 * Invariant: the hooks answer for files that were loaded here and leave every other module of the process alone.
 * Source: https://nodejs.org/api/module.html#customization-hooks
 */
import module from "node:module"
import { pathToFileURL } from "node:url"

interface Hooks {
  resolve(specifier: string, context: { parentURL?: string }, next: (specifier: string) => object): object
  load(url: string, context: object, next: (url: string) => object): object
}
/** What newer Nodes have; the types are those of the oldest. */
const node = module as unknown as {
  registerHooks?(hooks: Hooks): void
  stripTypeScriptTypes?(source: string): string
}

/** True when this Node can do it. */
export function canImportNative(): boolean {
  return node.registerHooks !== undefined && node.stripTypeScriptTypes !== undefined
}

/** JavaScript on the same lines and columns; undefined for syntax that is more than types. */
export function stripTypes(source: string): string | undefined {
  const { emitWarning } = process
  try {
    // Some releases warn that it is experimental, once a process, on stderr.
    process.emitWarning = () => {}
    return node.stripTypeScriptTypes?.(source)
  } catch {
    return undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

interface Loaded {
  code: string
  modules: ReadonlyMap<string, object>
  /** Node asked for the code. */
  served?: true
}

const PREFIX = "sous:"
const loaded = new Map<string, Loaded>()
let loads = 0

/** Runs the code as the module of that file. Rejects with an error that `isUnfit` when the file needs another way. */
export async function importNative(
  file: string,
  code: string,
  modules: ReadonlyMap<string, object>,
): Promise<Record<string, unknown>> {
  if (loads++ === 0) node.registerHooks?.({ resolve, load })
  const url = `${pathToFileURL(file).href}?sous=${loads}`
  const entry: Loaded = { code, modules }
  loaded.set(url, entry)
  try {
    return { ...(await import(url)) }
  } catch (error) {
    // A host with a loader of its own (a test runner) did not come here for the code.
    throw entry.served ? error : unfit("Node did not load it", error)
  }
}

function unfit(reason: string, cause?: unknown): Error {
  return Object.assign(new Error(reason, { cause }), { code: "SOUS_UNFIT" })
}

/** True for an error from before anything of the file has run: it cannot be linked, or imports more than it may here. */
export function isUnfit(error: unknown): boolean {
  const { code, stack } = (error ?? {}) as NodeJS.ErrnoException
  return code === "SOUS_UNFIT" || (error instanceof SyntaxError && /^file:[^\n]*\?sous=\d+:\d+/.test(stack ?? ""))
}

function resolve(
  specifier: string,
  { parentURL }: { parentURL?: string },
  next: (specifier: string) => object,
): object {
  const parent = loaded.get(parentURL ?? "")
  if (loaded.has(specifier)) return { url: specifier, format: "module", shortCircuit: true }
  if (parent === undefined) return next(specifier)
  if (parent.modules.has(specifier)) {
    return { url: `${PREFIX}${specifier}#${parentURL}`, format: "module", shortCircuit: true }
  }
  if (module.isBuiltin(specifier)) return next(specifier)
  throw unfit(`"${specifier}" is not among the modules of the toolkit`)
}

function load(url: string, _context: object, next: (url: string) => object): object {
  const own = loaded.get(url)
  if (own) {
    own.served = true
    return { format: "module", source: own.code, shortCircuit: true }
  }
  if (!url.startsWith(PREFIX)) return next(url)
  const [name = "", parent = ""] = url.slice(PREFIX.length).split("#")
  const source = reexport(loaded.get(parent)!.modules.get(name)!)
  return { format: "module", source, shortCircuit: true }
}

/** Where the source of a re-exporting module finds what it exports. */
const SHARED = "sous.modules"
const shared: object[] = []
Object.defineProperty(globalThis, Symbol.for(SHARED), { value: shared, configurable: true })

/** The source of a module that has the same exports as one that is there already. */
function reexport(namespace: object): string {
  const index = shared.includes(namespace) ? shared.indexOf(namespace) : shared.push(namespace) - 1
  const names = Object.keys(namespace).filter((name) => name !== "default")
  const lines = names.map(
    (name, at) => `const e${at} = m[${JSON.stringify(name)}]; export { e${at} as ${JSON.stringify(name)} }`,
  )
  return [
    `const m = globalThis[Symbol.for("${SHARED}")][${index}]`,
    ...lines,
    `export default "default" in m ? m.default : m`,
  ].join("\n")
}
