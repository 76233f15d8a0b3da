/**
 * Rules about commands, held against the very command that they name → which of them would not let it run, or refuse it.
 *
 * Invariant: the answer is that of the engine which decides in a run, with no other rule beside; nothing is run.
 */
import { analyseCommand, prepareCommands } from "../permission/command.ts"
import type { Decision } from "../permission/decision.ts"
import { createDiskLook } from "../permission/disk.ts"
import { createCall, type ExplainOptions, explain } from "../permission/explain.ts"
import { compileRules } from "../permission/rule.ts"
import type { Segment } from "../permission/segment.ts"
import type { Tool } from "../tool.ts"
import { clip, type RuleFinding, type RuleGround, type RuleView } from "./check-rule-view.ts"

type Said = Pick<RuleFinding, "problem" | "mend">

/** What the engine says of them. */
export async function commandFindings(views: readonly RuleView[], ground: RuleGround): Promise<RuleFinding[]> {
  const commands = views.filter(({ kind, specifier }) => kind === "command" && specifier !== undefined)
  const shell = [...ground.tools.values()].find(({ role }) => role === "shell")
  if (commands.length === 0 || shell === undefined) return []
  await prepareCommands()
  const held = { ground, disk: createDiskLook() }
  const found: RuleFinding[] = []
  for (const view of commands.slice(0, MOST_RULES)) {
    const said = isSyntax(view) ? undefined : await judge(view, shell, held)
    if (said !== undefined) found.push({ view, level: "warning", ...said })
  }
  const beyond = commands[MOST_RULES]
  if (beyond !== undefined) {
    const problem = `it and the rules after it were not held against commands: ${commands.length} are too many`
    found.push({ view: beyond, level: "note", problem, mend: "" })
  }
  return found
}

/** Nobody writes more rules, and each takes a part of a millisecond. */
const MOST_RULES = 4_000

/** A test whether an allow rule lets a command run by which another one is met. */
export async function createCoverTest(
  ground: RuleGround,
): Promise<(broad: RuleView, narrow: RuleView) => Promise<boolean>> {
  await prepareCommands()
  const shell = [...ground.tools.values()].find(({ role }) => role === "shell")
  const disk = createDiskLook()
  return async (broad, narrow) => {
    if (shell === undefined || narrow.source.behavior !== "allow") return true
    const command = narrow.exact ? commandOf(narrow) : sampleOf(narrow.specifier ?? "")
    return (await decide(broad, command, { shell, ground, disk })).rule !== undefined
  }
}

/** Words of the syntax are told of by their text. */
function isSyntax({ specifier = "" }: RuleView): boolean {
  return /^\s*(?:for|while|until|if|then|else|elif|fi|do|done|case|esac|select|function|[{}]|\[\[)(?=[\s;:*]|$)/.test(
    specifier,
  )
}

interface Held {
  ground: RuleGround
  disk: NonNullable<ExplainOptions["disk"]>
}

async function judge(view: RuleView, shell: Tool, held: Held): Promise<Said | undefined> {
  const { exact, specifier = "", source } = view
  if (exact) return await judgeExact(view, shell, held)
  return source.behavior === "allow" ? judgePattern(specifier, held.ground) : undefined
}

async function judgeExact(view: RuleView, shell: Tool, { ground, disk }: Held): Promise<Said | undefined> {
  const { source } = view
  const command = commandOf(view)
  const { cwd, home } = ground
  const { behavior, mend = "", rule } = await decide(view, command, { shell, ground, disk })
  const isMet = source.behavior === "allow" ? behavior === "allow" : rule !== undefined || behavior === "deny"
  if (isMet) return undefined
  if (source.behavior !== "allow")
    return {
      problem: "it does not fit the command that it names",
      mend: "explain what it should refuse with sous explain",
    }
  const { segments, trouble } = analyseCommand(command, { cwd, home })
  if (trouble !== undefined) return { problem: `no rule can allow a command when ${trouble}`, mend: "remove it" }
  const rest = /(?:^|, or )add the rules? (.*)$/s.exec(mend)?.[1]
  const instead = rest === undefined ? "remove it: no rule can name this command" : `write instead ${rest}`
  const parts = outerParts(command, ground).map(({ tails }) => `"${clip(tails[0] ?? "")}"`)
  if (parts.length > 1) {
    const list = parts.length > 4 ? `${parts.slice(0, 4).join(", ")} and ${parts.length - 4} more` : parts.join(", ")
    return {
      problem: `a compound command is held against rules part by part (${list}), so the whole fits nothing`,
      mend: instead,
    }
  }
  if (segments.length > parts.length && rest !== undefined)
    return { problem: "it does not allow what runs inside of it", mend: `also write ${rest}` }
  const quoted = /^["']/.test(command)
  const problem = quoted
    ? "a program is matched without the quotes around it, so it fits nothing"
    : "it does not allow even the command that it names"
  return { problem, mend: instead }
}

/** With no other rule beside, in an empty project. */
async function decide(
  { source }: RuleView,
  command: string,
  { shell, ground, disk }: Held & { shell: Tool },
): Promise<Decision> {
  const { cwd, home } = ground
  const rules = compileRules([{ ...source, scope: "project" }], { cwd, home, lenient: true })
  const facts = { aborted: false, mode: "default", cwd, home, roots: [cwd], readRoots: [], canAsk: true } as const
  return await explain(await createCall(shell, { command }, cwd), { rules, facts, disk })
}

function commandOf({ specifier = "" }: RuleView): string {
  return specifier.replace(/\\([\\*])/g, "$1").trim()
}

function sampleOf(specifier: string): string {
  return specifier.replace(/:\*$/, " x").replace(/(?<!\\)\*/g, "x")
}

/** The simple commands of the outer list, with a word for what is substituted. */
function outerParts(text: string, { cwd, home }: Pick<RuleGround, "cwd" | "home">): Segment[] {
  const without = text.replace(/\$\([^()]*\)|`[^`]*`/g, "x")
  if (without !== text) return outerParts(without, { cwd, home })
  return analyseCommand(text, { cwd, home }).segments.filter(({ nested }) => !nested)
}

/** What a pattern shows by a sample: operators that no simple command has, a star where the program has to be named. */
function judgePattern(specifier: string, ground: RuleGround): Said | undefined {
  const sample = sampleOf(specifier)
  const { segments, trouble } = analyseCommand(sample, ground)
  if (trouble !== undefined) return undefined
  const plain = outerParts(sample, ground)
  const [first] = plain.length === 0 ? segments : plain
  if (plain.length > 1) {
    const problem = "a list or pipeline is held against rules part by part, so a pattern over the whole fits nothing"
    return { problem, mend: "write a rule for each part" }
  }
  if (first === undefined) return undefined
  if (plain.length === 0 && !/^\s*\(/.test(sample)) {
    const problem = "what runs in the background or inside of something else is no simple command, so it fits nothing"
    return { problem, mend: "write the command alone" }
  }
  if (first.redirects.length > 0) {
    const problem = "a redirect is no part of the command that rules are held against, so it fits nothing"
    return { problem, mend: "write the command without it, and a path rule for the file" }
  }
  const [program] = first.words
  const star = specifier.search(/(?<!\\)\*/)
  if (first.assignments.length > 0 && program !== undefined && star >= 0 && star < specifier.indexOf(program.raw)) {
    const problem =
      "with a variable in front a rule has to name the program before its first star, so it allows nothing"
    return { problem, mend: "write the value of the variable out, or set it in env" }
  }
  return undefined
}
