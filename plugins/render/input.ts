/**
 * The argument of a prompt and what is piped into it → its text.
 *
 * Invariant: a pipe is read to its end however slow it is; a socket that nobody writes to, as programs leave it to their
 * children, is given up after a moment.
 */
import { fstatSync } from "node:fs"
import { SousError } from "sous"

/** The argument, and behind it what is piped in. `tell` gets a line for people. Throws CLI_ARGUMENT_MISSING. */
export async function readPrompt(
  stdin: typeof process.stdin,
  options: { argument: string | undefined; tell: (line: string) => void },
): Promise<string> {
  const { argument, tell } = options
  const piped = await readPiped(stdin, { hasPrompt: argument !== undefined, tell })
  const prompt = [argument ?? "", piped.trimEnd()].filter((part) => part !== "").join("\n\n")
  if (prompt.trim() !== "") return prompt
  throw new SousError("CLI_ARGUMENT_MISSING", { what: "prompt", example: 'sous -p "explain what this project does"' })
}

interface PipedOptions {
  /** There is a prompt already: an idle socket need not be waited for. */
  hasPrompt: boolean
  tell: (line: string) => void
  /** How long an idle socket is waited for, ms. Default 300. */
  idleMs?: number
}

/** Reads stdin; empty on a terminal, and when there is nothing that can be read. */
async function readPiped(stdin: typeof process.stdin, options: PipedOptions): Promise<string> {
  if (stdin.isTTY) return ""
  const chunks: Buffer[] = []
  const isIdle = options.hasPrompt && isSocket(stdin.fd)
  const onSilence = isIdle
    ? () => stdin.destroy()
    : () => options.tell("Reading stdin to its end (Ctrl-D, or < /dev/null)")
  const timer = setTimeout(onSilence, isIdle ? (options.idleMs ?? 300) : 2000)
  try {
    for await (const chunk of stdin) {
      clearTimeout(timer)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    // Given up above, or a stdin that cannot be read: then there is nothing in it.
    if (chunks.length > 0) throw error
  }
  clearTimeout(timer)
  return Buffer.concat(chunks).toString("utf8")
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket()
  } catch {
    return false
  }
}
