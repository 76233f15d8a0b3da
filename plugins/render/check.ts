/**
 * Files → whether each is a recipe, without running any: a line for each, for people or for machines.
 *
 * Invariant: every file is looked at, also after one that is wrong.
 */
import { isSousError, type Recipe } from "sous"

export interface CheckOptions {
  load: (file: string) => Promise<Recipe>
  /** Writes to stdout. */
  print: (text: string) => void
  /** Tells people of a fault. */
  printFault: (error: unknown) => Promise<unknown>
  json?: boolean | undefined
}

/** Returns the exit code: 1 when any of them is wrong. */
export async function checkFiles(files: readonly string[], options: CheckOptions): Promise<number> {
  const { load, print, printFault, json } = options
  let code = 0
  for (const file of files) {
    try {
      const { name, steps } = await load(file)
      print(json ? `${JSON.stringify({ file, ok: true, name })}\n` : `ok  ${file}: ${name}, ${steps.length} steps\n`)
    } catch (error) {
      code = 1
      if (!json || !isSousError(error)) await printFault(error)
      else print(`${JSON.stringify({ file, ok: false, code: error.code, message: error.message, mend: error.mend })}\n`)
    }
  }
  return code
}
