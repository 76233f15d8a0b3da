/**
 * A folder and file names → the first of them that is there, by the library that looks for configuration.
 *
 * Invariant: runs no code. The library's public functions look for a file about themselves in the current directory, and
 * run it; this takes the class behind them, gives it one folder and our loaders, and nothing of what it finds is a
 * configuration to it: it sees a path, and no key of ours.
 */
import { extname } from "node:path"
import { Explorer } from "cosmiconfig/dist/Explorer.js"

/** The first file (absolute) of these names in a folder (absolute). */
export async function firstFile(folder: string, names: readonly string[]): Promise<string | undefined> {
  // What a loader returns is searched for "$import"; a wrapper has none.
  const found = (file: string) => ({ file })
  const explorer = new Explorer({
    moduleName: "sous",
    searchStrategy: "none",
    searchPlaces: names,
    loaders: Object.fromEntries(names.map((name) => [extname(name), found])),
    ignoreEmptySearchPlaces: false,
    applyPackagePropertyPathToConfiguration: false,
    cache: false,
    transform: (result) => result,
  })
  return (await explorer.search(folder))?.filepath
}
