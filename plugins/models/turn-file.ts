/**
 * Reads and checks scripts: a YAML or JSON file, a text, or plain data become turns with everything filled in.
 *
 * Invariant: what is refused is named with its place, its line where there is one, and the nearest right name.
 */
import { readFile } from "node:fs/promises"
import { SousError, suggest, type z } from "sous"
import { type Script, type ScriptInput, type Turn, type TurnInput, turnSchemas } from "./turn.ts"

/** Reads a script. `file` is absolute. Throws MODEL_SCRIPT_UNREADABLE or MODEL_SCRIPT_INVALID. */
export async function loadScript(file: string): Promise<Script> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new SousError("MODEL_SCRIPT_UNREADABLE", { file, reason: cause.code ?? cause.message }, { cause })
  })
  return parseScript(text, file)
}

/** Checks a script's text; `name` is what errors call it. Throws MODEL_SCRIPT_INVALID. */
export async function parseScript(text: string, name: string): Promise<Script> {
  const { LineCounter, parseDocument } = await import("yaml")
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [broken] = document.errors
  if (broken) {
    const problem = broken.message.split(/ at line |\n/)[0] ?? "it is no YAML"
    throw invalid(`${name}:${lines.linePos(broken.pos[0]).line}`, { problem, mend: "correct its YAML" })
  }
  const parsed = turnSchemas.script.safeParse(document.toJS())
  if (parsed.success) return remember(parsed.data)
  const problem = describe(parsed.error)
  throw invalid(`${name}${lineOf(problem.path)}`, problem)

  function lineOf(path: readonly PropertyKey[]): string {
    const node = path.length === 0 ? undefined : (document.getIn(path, true) as { range?: number[] | null } | undefined)
    return node?.range?.[0] === undefined ? "" : `:${lines.linePos(node.range[0]).line}`
  }
}

/** Scripts that came out of `loadScript`: they are whole already. */
const loaded = new WeakSet<object>()

function remember(script: Script): Script {
  loaded.add(script)
  return script
}

/** Checks a script given as data; one that was loaded passes as it is. Throws MODEL_SCRIPT_INVALID. */
export function checkScript(input: ScriptInput | Script, name = "the script"): Script {
  if (loaded.has(input)) return input as Script
  const parsed = turnSchemas.script.safeParse(input)
  if (!parsed.success) throw invalid(name, describe(parsed.error))
  return parsed.data
}

/** Checks one turn given as data. Throws MODEL_SCRIPT_INVALID. */
export function checkTurn(input: TurnInput, name = "the turn"): Turn {
  const parsed = turnSchemas.turn.safeParse(input)
  if (!parsed.success) throw invalid(name, describe(parsed.error))
  return parsed.data
}

interface Problem {
  problem: string
  mend: string
}

function invalid(where: string, { problem, mend }: Problem): SousError {
  return new SousError("MODEL_SCRIPT_INVALID", { where, problem, mend })
}

/** The first fault of a script, in words. */
function describe(error: z.ZodError): Problem & { path: readonly PropertyKey[] } {
  const issues = error.issues.map(deepest)
  // A name that is misspelt is also one that is missing; the misspelling is what to tell.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!
  const place = placeOf(issue.path)
  if (issue.code !== "unrecognized_keys") {
    const colon = issue.code === "custom" ? "" : ":"
    return { path: issue.path, problem: `${place}${colon} ${lowerFirst(issue.message)}`, mend: `correct ${place}` }
  }
  const wrong = issue.keys[0] ?? ""
  return {
    path: [...issue.path, wrong],
    problem: `${place} has the unknown key "${wrong}"`,
    mend: suggest(wrong, namesAt(issue.path)),
  }
}

/** Of a union, the member that came furthest is the one that was meant. */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue
  const [meant] = issue.errors
    .flat()
    .sort(
      (a, b) =>
        Number(b.code === "unrecognized_keys") - Number(a.code === "unrecognized_keys") ||
        b.path.length - a.path.length,
    )
  return meant === undefined ? issue : deepest({ ...meant, path: [...issue.path, ...meant.path] })
}

function namesAt(path: readonly PropertyKey[]): readonly string[] {
  const room = path.filter((part) => typeof part === "string").at(-1)
  return turnSchemas.names[room ?? "script"] ?? turnSchemas.names["turns"] ?? []
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `turns[2].expect`, or `the script` for its top. */
function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the script"
  return path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  )
}
