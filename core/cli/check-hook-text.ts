/**
 * The command of a configured hook → what is odd about its text, by a table of shapes.
 *
 * Invariant: each row says why the hook does not do what it seems to, and what to write instead; nothing is started.
 */
import { HOOKS, type HookSpec } from "../hook.ts"
import { filesOf } from "../hook-launch.ts"
import type { HookForm, HookSource } from "../hook-source.ts"
import type { Finding } from "./check-finding.ts"
import { secretIn } from "./check-secret.ts"

/** What is said about a hook. */
export type HookSaid = Pick<Finding, "problem" | "mend"> & Partial<Pick<Finding, "level">>

type CommandForm = Extract<HookForm, { type: "command" }>

/** What a row looks at. */
interface HookText {
  source: HookSource
  form: CommandForm
  /** The command with its arguments. */
  text: string
  /** Names of variables that settings or the start set. */
  variables: ReadonlySet<string>
  /** It stands in a file of a plugin. */
  ofPlugin: boolean
}

type Row = (hook: HookText) => HookSaid | undefined

/** All that the rows say; `level` where a row names none: warning. */
export function oddCommand(
  source: HookSource,
  { variables, ofPlugin }: Pick<HookText, "variables" | "ofPlugin">,
): Required<HookSaid>[] {
  const { form } = source
  const slow = slowTimeout(source)
  const rows: (HookSaid | undefined)[] = [slow]
  if (form.type === "command") {
    const text = [form.command, ...(form.args ?? [])].join(" ")
    rows.push(...ROWS.map((row) => row({ source, form, text, variables, ofPlugin })))
  }
  return rows.flatMap((said) => (said === undefined ? [] : [{ level: "warning" as const, ...said }]))
}

/** A number of seconds from which on it was probably meant as milliseconds. */
const LOOKS_LIKE_MS = 1000

function slowTimeout({ timeoutMs }: HookSource): HookSaid | undefined {
  const seconds = (timeoutMs ?? 0) / 1000
  if (seconds < LOOKS_LIKE_MS || seconds % 500 !== 0) return undefined
  const long = seconds >= 7200 ? `${Math.round(seconds / 3600)} hours` : `${Math.round(seconds / 60)} minutes`
  const problem = `its timeout ${seconds} is in seconds: ${long}`
  return { problem, mend: `write ${seconds / 1000} for ${seconds} milliseconds` }
}

/** Variables that every hook has; each also begins with SOUS_. */
const GIVEN = new Set(`TOOL_NAME TOOL_INPUT TOOL_INPUT_FILE ENV_FILE SESSION_ID PROJECT_DIR`.split(" "))

/** Names that look as if a program handed them to its hooks. */
const HANDED =
  /\$(?:\{(?<braced>[A-Z][A-Z0-9_]*)(?<rest>[^}]{0,200})\}|(?<bare>(?:CLAUDE|SOUS|TOOL|HOOK|CURSOR|CODEX|GEMINI|COPILOT|WINDSURF|OPENCODE)_[A-Z0-9_]+|STDIN_JSON|STDIN|FILE_PATH|FILE_PATHS|ARGUMENTS))/g

const OURS =
  /^(?:CLAUDE|SOUS|TOOL|HOOK|CURSOR|CODEX|GEMINI|COPILOT|WINDSURF|OPENCODE)_|^(?:STDIN_JSON|STDIN|FILE_PATHS?)$/

const ROWS: readonly Row[] = [
  function unknownVariable({ text, variables, ofPlugin }) {
    const read = [...text.matchAll(HANDED)].flatMap(({ groups = {} }) => {
      const isDefaulted = /^:?[-=]/.test(groups.rest ?? "")
      return isDefaulted ? [] : [groups.braced ?? groups.bare ?? ""]
    })
    const missing = [...new Set(read)].slice(0, 50).filter((one) => !isSet(one, { text, variables, ofPlugin }))
    const [name] = missing
    if (name === undefined) return undefined
    if (name === "CLAUDE_PLUGIN_ROOT")
      return {
        problem: "$CLAUDE_PLUGIN_ROOT is set for hooks of a plugin alone",
        mend: "write $CLAUDE_PROJECT_DIR, or a path",
      }
    const names = missing.slice(0, 5).map((one) => `$${one}`)
    const mend = "read the event from stdin: jq -r .tool_input.file_path, or the JSON in $CLAUDE_TOOL_INPUT"
    const are = names.length === 1 ? "is set by nobody, so it is empty" : "are set by nobody, so they are empty"
    return { problem: `${names.join(", ")} ${are}`, mend }
  },
  function alwaysWell({ source, text }) {
    const spec: HookSpec = HOOKS[source.event]
    const blocks = (spec.answers as readonly string[]).includes("block")
    if (!blocks || !/(?:\|\||;)\s{0,9}(?:true|:|exit 0)(?![\w-])/.test(text)) return undefined
    const decides = /\bexit\s+[12]\b|"?(?:decision|permissionDecision|continue)"?\s*\\?:/.test(text)
    const isAtEnd = /(?:\|\||;)\s{0,9}(?:true|:|exit 0)[\s;"']{0,20}$/.test(text.trimEnd().slice(-80))
    if (decides || !isAtEnd) {
      const problem = 'a part of it ends well whatever it finds ("|| true")'
      return { level: "note", problem, mend: "" }
    }
    const problem = "it ends well whatever it finds, so it can never block"
    return {
      level: spec.kind === "gate" ? "warning" : "note",
      problem,
      mend: 'end it with the check itself, without "|| true"',
    }
  },
  function relativeScript({ source, form }) {
    if (source.dialect !== "claude-code") return undefined
    const base = "/\u0001"
    const [file] = filesOf(form, { cwd: base, env: { HOME: "/home" } }).filter((one) => one.startsWith(`${base}/`))
    if (file === undefined) return undefined
    const path = file.slice(base.length + 1)
    const problem = `"${path}" is looked for where the agent stands, which moves with every cd`
    return { problem, mend: `write "$CLAUDE_PROJECT_DIR"/${path}` }
  },
  function oneMachine({ source, text }) {
    const [found] =
      /(?<=^|[\s"'=])\/(?:mnt\/[a-z]|Users\/[^/\s"']+|home\/[^/\s"']+|Volumes\/[^/\s"']+)\/[^\s"']*/.exec(text) ?? []
    if (found === undefined || source.origin.scope === "user" || source.origin.scope === "managed") return undefined
    return {
      level: "note",
      problem: `it names a path of one machine, ${found}`,
      mend: "write it from $CLAUDE_PROJECT_DIR",
    }
  },
  function unquoted({ form }) {
    const bare = form.args === undefined ? outsideQuotes(form.command) : ""
    const [found] = /\$\{?(?:CLAUDE|SOUS)_(?:PROJECT_DIR|PLUGIN_ROOT)\b\}?/.exec(bare) ?? []
    if (found === undefined) return undefined
    return {
      problem: `${found} stands without quotes, so a folder with a blank in its name breaks it`,
      mend: `write "${found}"`,
    }
  },
  function unpinned({ text }) {
    const runner =
      /\b(npx|bunx|pnpm dlx|yarn dlx|uvx|pipx run)\s+((?:-\S+\s+)*)((?:@[\w.-]+\/)?[A-Za-z][\w.-]*)(@[\w.^~*-]+)?(?=[\s;&|"')]|$)/
    const [, program, flags = "", name, version] = runner.exec(text) ?? []
    if (program === undefined || name === undefined) return undefined
    const asks = /^(?:npx)$/.test(program) && !/(?:^|\s)(?:-y|--yes)(?=\s|$)/.test(flags)
    if (version !== undefined ? !/^@(?:latest|next|\*)$/.test(version) : asks) return undefined
    const problem = `${program} runs whatever version of "${name}" is the newest, anew each time`
    return { problem, mend: `name the version: ${name}@1.2.3` }
  },
  function secret({ text }) {
    const found = secretIn(text)
    if (found === undefined) return undefined
    const problem = `it holds what looks like ${found}, for everybody who can read the file`
    return { problem, mend: "withdraw the secret, and read it from the environment" }
  },
  function remote({ text }) {
    if (!/\b(?:curl|wget)\b[^|;&]{0,500}\|\s{0,9}(?:sudo\s{1,9})?(?:ba|z|da)?sh\b/.test(text)) return undefined
    return { problem: "it runs what it has just loaded from the network", mend: "keep the script in the project" }
  },
]

/** The parts of a command that stand in no quotes. */
function outsideQuotes(command: string): string {
  let quote = ""
  let outside = ""
  for (let at = 0; at < command.length; at++) {
    const char = command[at]!
    if (char === "\\" && quote !== "'") at++
    else if (quote !== "") quote = char === quote ? "" : quote
    else if (char === '"' || char === "'") quote = char
    else outside += char
  }
  return outside
}

function isSet(name: string, { text, variables, ofPlugin }: Omit<HookText, "source" | "form">): boolean {
  if (!OURS.test(name) || variables.has(name)) return true
  const [, own] = /^(?:CLAUDE|SOUS)_(.*)$/.exec(name) ?? []
  if (own !== undefined && GIVEN.has(own)) return true
  if (/^CLAUDE_(?:CODE_|CONFIG_DIR$)/.test(name)) return true
  if (ofPlugin && /^CLAUDE_PLUGIN_/.test(name)) return true
  return new RegExp(
    `(?:^|[\\s;(&|])(?:export\\s+|read\\s+(?:-\\w+\\s+)*|local\\s+)?${name}(?:=|\\s*[;<\\n)]|$)|\\bfor\\s+${name}\\b`,
  ).test(text.replaceAll(`$${name}`, "").replaceAll(`\${${name}`, ""))
}
