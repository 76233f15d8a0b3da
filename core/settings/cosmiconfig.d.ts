/**
 * The part of cosmiconfig that is used, and for which the package itself declares nothing.
 *
 * Invariant: says what dist/Explorer.js of version 9 does; find.test.ts runs it.
 */
declare module "cosmiconfig/dist/Explorer.js" {
  export interface ExplorerOptions {
    moduleName: string
    searchStrategy: "none"
    /** File names, tried in this order. */
    searchPlaces: readonly string[]
    /** By ending. */
    loaders: Readonly<Record<string, (file: string, text: string) => unknown>>
    /** False: a file without text ends the search as any other. */
    ignoreEmptySearchPlaces: boolean
    applyPackagePropertyPathToConfiguration: boolean
    cache: boolean
    transform<T>(result: T): T
  }
  export class Explorer {
    constructor(options: ExplorerOptions)
    /** Null: there is none of these files. */
    search(folder: string): Promise<{ filepath: string; config: unknown; isEmpty?: boolean } | null>
  }
}
