/**
 * An exit code → whether it means that the command failed.
 *
 * Invariant: the code itself is always told; this only decides whether it counts as an error.
 */

/** Programs whose exit code 1 is an answer: no match, differs, false. */
const ANSWERS = /^(?:e|f|z|rip)?grep$|^rg$|^find$|^diff$|^cmp$|^test$|^\[\[?$/

/** True for exit 0, and for exit 1 of a last program that says no with it, unless it also complained. */
export function isSuccess(command: string, code: number | null, complained: boolean): boolean {
  if (code !== 1 || complained) return code === 0
  const words = lastCommand(command).split(/\s+/)
  const [program = "", subcommand = ""] = words.filter((word) => !/^\w+=/.test(word))
  if (program === "git") return subcommand === "diff" || subcommand === "grep"
  return ANSWERS.test(program.split("/").at(-1)!)
}

/** A rough cut, without regard to quotes: a wrong one only makes an answer look like a failure. */
function lastCommand(command: string): string {
  return command
    .trim()
    .split(/[|;&\n]+/)
    .at(-1)!
    .trim()
}
