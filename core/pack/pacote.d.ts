/**
 * The part of the library that fetches packages which is used here; it brings no types of its own.
 *
 * Source: https://github.com/npm/pacote#readme
 */

declare module "pacote" {
  type Options = Record<string, unknown>
  interface Fetched {
    from: string
    resolved: string
    integrity: string | null
  }
  interface Manifest {
    name: string
    version: string
    dependencies?: Record<string, string>
    _resolved: string
    _integrity: string | null
  }
  const pacote: {
    resolve(spec: string, options?: Options): Promise<string>
    manifest(spec: string, options?: Options): Promise<Manifest>
    tarball: {
      stream<T>(spec: string, take: (stream: NodeJS.ReadableStream) => Promise<T>, options?: Options): Promise<T>
    }
    extract(spec: string, target: string, options?: Options): Promise<Fetched>
  }
  export default pacote
  export type { Manifest }
}
