/**
 * One permission rule → what is odd about its text, by a table of shapes.
 *
 * Invariant: each row says when it speaks, why that is odd here, and what to write instead; a shape that only may be
 * meant otherwise is a note.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { isPathVoid, nearTool, type RuleFinding, type RuleGround, type RuleView } from "./check-rule-view.ts"
import { secretIn } from "./check-secret.ts"

type Said = Omit<RuleFinding, "view" | "level"> & Partial<Pick<RuleFinding, "level">>
type Row = (view: RuleView, ground: RuleGround) => Said | undefined

/** All that the rows say of a rule; `level` where a row names none: warning. */
export function oddText(view: RuleView, ground: RuleGround): RuleFinding[] {
  return ROWS.flatMap((row) => {
    const said = row(view, ground)
    return said === undefined ? [] : [{ level: "warning" as const, ...said, view }]
  })
}

/** Words by which a shell takes commands together; none of them is a command. */
const KEYWORDS = new Set(`for while until if then else elif fi do done case esac select function { } [[`.split(" "))

/** Folders that lie at the root of a system. */
const SYSTEM_FOLDERS = new Set(
  `Applications Library System Users Volumes bin boot dev etc home lib lib64 media mnt opt private proc root run sbin srv
  sys tmp usr var`.split(/\s+/),
)

const ROWS: readonly Row[] = [
  function unknownTool({ tool, kind, source }, { tools }) {
    if (kind !== "unknown" || tool === "Task" || tool === "Agent" || tool.includes("_")) return undefined
    const near = nearTool(tool, tools)
    if (near === undefined) return undefined
    const lost = source.behavior === "allow" ? "it allows nothing" : "it guards nothing"
    const mend = `write "${source.text.replace(tool, near)}"`
    return { problem: `there is no tool "${tool}", so ${lost}`, mend }
  },
  function keyword({ kind, specifier = "" }) {
    if (kind !== "command") return undefined
    const word = /^\s*(\S+?)(?=[\s;:*]|$)/.exec(specifier)?.[1] ?? ""
    if (!KEYWORDS.has(word)) return undefined
    const problem = `"${word}" is a word of the shell's syntax, and no command begins with it: a loop or condition is judged by the commands in it`
    return { problem, mend: "write a rule for each command inside, or remove it" }
  },
  function colonInside({ kind, specifier = "", tool }) {
    if (kind !== "command" || !/:\*(?!$)/.test(specifier)) return undefined
    const problem = '":*" stands for "and whatever follows" at the end alone; elsewhere the colon is a colon'
    if (!/(?<=\s):\*(?!$)/.test(specifier)) return { level: "note", problem, mend: "" }
    return { problem, mend: `write "${tool}(${specifier.replace(/\s:\*(?=.)/gs, " *")})"` }
  },
  function escapedParenthesis({ kind, specifier = "", text }) {
    if (kind === "path" || !/\\[()]/.test(specifier)) return undefined
    const problem =
      "its parentheses are escaped, and a backslash stands for itself: it fits only a command with the backslash"
    return { level: "note", problem, mend: `where the command has none, write "${text.replace(/\\([()])/g, "$1")}"` }
  },
  function unbalanced({ kind, specifier = "" }) {
    const plain = specifier.replace(/\\./g, "").replace(/'[^']*'|"[^"]*"/g, "")
    if (kind !== "command" || count(plain, "(") === count(plain, ")")) return undefined
    return { level: "note", problem: 'its parentheses do not pair: it is read up to its last ")"', mend: "" }
  },
  function lineBreak({ kind, specifier = "" }) {
    if (kind === "path" || !/[\r\n]/.test(specifier)) return undefined
    const problem =
      "it holds a line break: it fits that very text, and outside of quotes each line is a command of its own"
    return { level: "note", problem, mend: "write a rule for each command" }
  },
  function substitution({ kind, specifier = "", source }) {
    if (kind !== "command" || source.behavior !== "allow") return undefined
    if (!/\$\(|`/.test(specifier.replace(/'[^']*'/g, ""))) return undefined
    const problem = "it holds a command substitution: what stands in it runs too, and is judged by itself"
    return { level: "note", problem, mend: "allow the inner command as well, and no more than that" }
  },
  function variableInFront({ kind, specifier = "", exact, source }) {
    if (kind !== "command" || source.behavior !== "allow" || !exact) return undefined
    const [, name] = /^\s*([A-Za-z_]\w*)=\S/.exec(specifier) ?? []
    if (name === undefined) return undefined
    return { level: "note", problem: `it fits only with this very value of ${name} in front`, mend: "" }
  },
  function singleSlash({ kind, specifier = "", text, source }, { cwd }) {
    const [, first] = /^\/([^/*?[]+)(?:\/|$)/.exec(specifier) ?? []
    if (kind !== "path" || first === undefined || !SYSTEM_FOLDERS.has(first) || existsSync(join(cwd, first)))
      return undefined
    const from = source.scope === "user" || source.scope === "managed" ? "the folder of this file" : "the project"
    const does = source.behavior === "allow" ? "allows" : "guards"
    const problem = `a path with one slash starts at ${from}, so it ${does} nothing in the system's /${first}`
    return { problem, mend: `write "${text.replace("(/", "(//")}" for the system's` }
  },
  function windowsPath({ kind, specifier = "" }) {
    if (process.platform === "win32" || kind === "url" || !/(?<![A-Za-z0-9])[A-Za-z]:[\\/](?!\/)/.test(specifier))
      return undefined
    const problem = "it names a path of Windows, which no command on this system does"
    return {
      level: kind === "path" ? "note" : "warning",
      problem,
      mend: "remove it, or keep it in the settings of that machine",
    }
  },
  function backslashes({ kind, exact, specifier = "" }) {
    if (process.platform === "win32" || kind !== "command" || exact) return undefined
    const [, program] = /^([\w.]+(?:\\[\w.-]+)+)(?=[\s:]|$)/.exec(specifier) ?? []
    if (program === undefined || /^[A-Za-z]:/.test(specifier)) return undefined
    const problem = `a shell reads "${program}" without its backslashes, so no command has that name`
    return { problem, mend: `write "${program.replaceAll("\\", "/")}"` }
  },
  function placeholder({ text }) {
    const [found] = /__(?:TRACKED_VAR|CMDSUB_OUTPUT|[A-Z]+_(?:VAR|OUTPUT|PLACEHOLDER))__/.exec(text) ?? []
    if (found === undefined) return undefined
    const problem = `"${found}" is a placeholder that a program left behind: no command holds it`
    return { problem, mend: "remove it, or put a star in its place" }
  },
  function secret({ text }) {
    const found = secretIn(text)
    if (found === undefined) return undefined
    const problem = `it holds what looks like ${found}, for everybody who can read the file`
    return { problem, mend: "withdraw the secret, and write the rule with a star in its place" }
  },
  function everything({ kind, source, compiled, tool }) {
    if (source.behavior !== "allow" || kind !== "command" || !compiled.bare) return undefined
    const problem =
      "it lets any command run without a question, with all that you may do yourself; deny rules and the floor still hold"
    return { problem, mend: `name the commands that are meant, such as "${tool}(git status *)"` }
  },
  function deletes({ kind, source, specifier = "" }) {
    if (source.behavior !== "allow" || kind !== "command" || !/^(?:sudo\s+)?rm\s+-\w*[rf]/.test(specifier))
      return undefined
    return {
      level: "note",
      problem: "it lets files be deleted without a question, from now on",
      mend: "remove it when it was meant for once",
    }
  },
  function host({ kind, source, specifier, tool }) {
    if (kind !== "url" || source.behavior !== "allow" || specifier === undefined || specifier === "*") return undefined
    if (/^domain\s*:/.test(specifier)) return undefined
    const name = /^(?:https?:\/\/)?([^/:]+)/.exec(specifier)?.[1] ?? specifier
    return { problem: "it names no domain, so it allows nothing", mend: `write "${tool}(domain:${name})"` }
  },
  function voidPath(view, ground) {
    if (view.kind !== "path" || view.specifier === undefined || !isPathVoid(view, ground)) return undefined
    const negated = view.specifier.startsWith("!")
    const problem = negated
      ? "a path that begins with ! fits nothing"
      : "its path fits nothing: it climbs or needs a home folder"
    return {
      problem,
      mend: negated ? "write the rule for what it should fit" : "write where it leads, starting with // or ~/",
    }
  },
  function blanks({ specifier, tool, kind }) {
    if (specifier === undefined || specifier === specifier.trim() || kind === "unknown") return undefined
    return { problem: "it has blanks inside its parentheses", mend: `write "${tool}(${specifier.trim()})"` }
  },
]

function count(text: string, mark: string): number {
  return text.split(mark).length - 1
}
