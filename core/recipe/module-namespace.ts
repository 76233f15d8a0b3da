/**
 * A module that is there already → the same as code expects it that was compiled to CommonJS.
 *
 * Invariant: what it exports is the very same, whoever asks for it.
 */

/** The exports, marked so that the default export is the one that they name. */
export function asModule(namespace: object): object {
  const exports = { ...namespace, default: "default" in namespace ? namespace.default : namespace }
  return Object.defineProperty(exports, "__esModule", { value: true })
}
