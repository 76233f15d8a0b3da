/**
 * Takes out of this process what Node's permission model leaves open: signals to others, debugging others, V8's own files.
 *
 * Invariant: nothing that is taken out can be put back: no reference to it is left. Each entry says what it would allow.
 */
import module, { createRequire } from "node:module"

const require = createRequire(import.meta.url)

/** Functions that are taken out, by where they stand. */
const CLOSED: readonly [owner: () => object | undefined, names: readonly string[]][] = [
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

/** Does it once, before any code of a plugin runs. */
export function harden(): void {
  for (const [owner, names] of CLOSED) {
    const object = owner()
    for (const name of names) if (object !== undefined && name in object) close(object, name)
  }
  module.syncBuiltinESMExports()
}

function builtin(name: string): object | undefined {
  return module.isBuiltin(`node:${name}`) ? require(`node:${name}`) : undefined
}

function close(owner: object, name: string): void {
  const value = function closed(): never {
    throw Object.assign(new Error(`An isolated plugin may not use ${name}`), { code: "ERR_ACCESS_DENIED" })
  }
  Object.defineProperty(owner, name, { value, writable: false, configurable: false, enumerable: true })
}
