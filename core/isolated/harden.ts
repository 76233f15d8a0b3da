/**
 * Takes out of this process what Node's permission model leaves open: signals to others, debugging others, V8's own files,
 * and, where Node cannot close it, the network.
 *
 * Invariant: what is taken out is not put back: no reference to it is left where a plugin looks. For the network that is
 * a fence and no wall: Node's inner objects still hold the way (core/pack/isolate-grant.ts says so to people).
 */
import module, { createRequire } from "node:module"

const require = createRequire(import.meta.url)

/** Functions that are taken out, by where they stand. */
type Closed = readonly (readonly [owner: () => object | undefined, names: readonly string[] | "all"])[]

const ALWAYS: Closed = [
  // A signal to the host, to its other plugins, to any process of this user; a debugger's door in them.
  [() => process, ["kill", "_kill", "_debugProcess", "_debugEnd"]],
  [() => builtin("os"), ["setPriority"]],
  // Flags of V8 that make it write files by itself (--trace-turbo-path), and a snapshot in the current folder.
  [() => builtin("v8"), ["setFlagsFromString", "setHeapSnapshotNearHeapLimit"]],
  // Writes its log into the current folder (Node 20).
  [() => builtin("trace_events"), ["createTracing"]],
  // Opens files by itself; where this Node has a flag against it, the whole module is gone.
  [() => builtin("sqlite"), ["DatabaseSync", "backup"]],
]

/** All that connects, listens or looks names up goes through these; fetch, http, tls and WebSocket too. */
const NETWORK: Closed = [
  [() => prototypeIn("net", "Socket"), ["connect"]],
  [() => prototypeIn("net", "Server"), ["listen", "_listen2"]],
  [() => builtin("net"), ["_createServerHandle"]],
  [() => builtin("dgram"), ["createSocket", "Socket", "_createSocketHandle"]],
  [() => builtin("dns"), "all"],
  [() => builtin("dns/promises"), "all"],
]

/** Once, before any code of a plugin runs. */
export function harden(): void {
  takeOut(ALWAYS)
}

/** The same for the network. */
export function closeNetwork(): void {
  takeOut(NETWORK)
}

function takeOut(closed: Closed): void {
  for (const [owner, names] of closed) {
    const object = owner()
    if (object === undefined) continue
    const known = names === "all" ? functionsIn(object) : names.filter((name) => name in object)
    for (const name of known) close(object, name)
  }
  module.syncBuiltinESMExports()
}

function builtin(name: string): object | undefined {
  return module.isBuiltin(`node:${name}`) ? require(`node:${name}`) : undefined
}

function prototypeIn(name: string, type: string): object | undefined {
  return (builtin(name) as Record<string, { prototype: object }> | undefined)?.[type]?.prototype
}

function functionsIn(object: object): string[] {
  return Object.entries(object).flatMap(([name, value]) => (typeof value === "function" ? [name] : []))
}

function close(owner: object, name: string): void {
  const value = function closed(): never {
    throw Object.assign(new Error(`An isolated plugin may not use ${name}`), { code: "ERR_ACCESS_DENIED" })
  }
  Object.defineProperty(owner, name, { value, writable: false, configurable: false, enumerable: true })
}
