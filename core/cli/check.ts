/**
 * `sous check FILE…`: files → whether each is a recipe, without running any: a line for each, for people or for machines.
 *
 * Invariant: every file is looked at, also after one that is wrong.
 */
import { resolve } from "node:path"
import { isSousError } from "../error.ts"
import { loadRecipe } from "../recipe/load.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"

/** Returns 1 when any of the files is wrong. */
export async function check(line: CommandLine, host: Host): Promise<number> {
  const { args, values } = line
  if (args.length === 0) return await (await import("./check-here.ts")).checkHere(line, host)
  const cwd = await host.cwd()
  let code = 0
  for (const file of args) {
    try {
      const { name, steps } = await loadRecipe(resolve(cwd, file), host.loadOptions())
      const line = values.json
        ? JSON.stringify({ file, ok: true, name })
        : `ok  ${file}: ${name}, ${steps.length} steps`
      host.print(`${line}\n`)
    } catch (error) {
      code = 1
      if (!values.json || !isSousError(error)) await host.printFault(error)
      else {
        const { code: fault, message, mend } = error
        host.print(`${JSON.stringify({ file, ok: false, code: fault, message, mend })}\n`)
      }
    }
  }
  return code
}
