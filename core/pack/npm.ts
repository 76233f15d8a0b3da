/**
 * The library that fetches packages, as a module that can be loaded lazily by name.
 *
 * Invariant: loaded by commands that fetch, and by no run.
 */
import pacote from "pacote"

export type { Manifest } from "pacote"
export { pacote }
