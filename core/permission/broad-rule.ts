/**
 * A rule → whether it allows just any command: all of them, or whatever an interpreter or a runner is handed.
 *
 * Invariant: only rules that allow are looked at, and only to leave them out; a rule that names what runs is not broad.
 */
import type { PermissionCall } from "./decision.ts"
import type { FlagRule } from "./flag.ts"
import type { RuleSet } from "./rule.ts"
import type { CompiledRule } from "./specifier.ts"
import { isExact, type Wildcard } from "./wildcard.ts"

/** Programs that run what they are handed: code, another command, a package that is fetched for it. */
const RUNNERS = new Set(
  `sh bash dash zsh ksh mksh ash fish rbash pwsh powershell cmd
  python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit Rscript osascript tclsh java jshell
  npx bunx pnpx uvx tsx ts-node pipx eval source . exec
  sudo doas su env xargs parallel watch find fd ssh setsid flock script strace chroot nsenter unshare
  awk gawk mawk`.split(/\s+/),
)

/** Programs of which one word runs what comes behind it. */
const RUNNING_WORDS: Readonly<Record<string, readonly string[]>> = {
  npm: ["exec", "x", "run", "run-script"],
  pnpm: ["exec", "dlx", "run"],
  yarn: ["exec", "dlx", "run"],
  bun: ["run", "x"],
  deno: ["run", "eval", "task"],
  go: ["run", "generate"],
  cargo: ["run"],
  uv: ["run"],
  pipx: ["run"],
  poetry: ["run"],
  pipenv: ["run"],
  bundle: ["exec"],
  docker: ["run", "exec"],
  podman: ["run", "exec"],
  kubectl: ["exec", "run"],
  direnv: ["exec"],
  mise: ["exec", "x"],
}

/** Wrappers in front of a pattern that change nothing of what it allows. */
const WRAPPER = /^(?:timeout(?:\s+-\S+)*\s+\S+|time|nice(?:\s+-n\s+\S+)?|nohup|stdbuf(?:\s+-\S+)*|command|builtin)\s+/
const ASSIGNMENT = /^[A-Za-z_]\w*=\S*\s+/

const known = new WeakMap<CompiledRule, boolean>()

/** Says of the rules about a call whether they are broad; rules about anything but commands never are. */
export function broadnessOf({ targets }: PermissionCall): (rule: CompiledRule) => boolean {
  return targets.some(({ kind }) => kind === "command") ? isBroadRule : () => false
}

/** The rules without those that are too broad for a call; flags such as `-A` and `--allow-run` are as broad as a rule. */
export function withoutBroadRules(rules: RuleSet, call: PermissionCall): RuleSet {
  const isBroad = broadnessOf(call)
  return {
    ...rules,
    allow: { ...rules.allow, flags: rules.allow.flags.filter((flag) => !isBroadFlag(flag)) },
    ordered: rules.ordered.map((list) => ({
      ...list,
      rules: list.rules.filter((rule) => rule.source.behavior !== "allow" || !isBroad(rule)),
    })),
  }
}

/** True for `Bash`, `Bash(*)`, `Bash(python *)`, `Bash(npx *)`; not for `Bash(python tests/run.py *)`. */
export function isBroadRule(rule: CompiledRule): boolean {
  let broad = known.get(rule)
  if (broad === undefined) {
    broad = rule.bare || rule.commands().some(isBroadPattern)
    known.set(rule, broad)
  }
  return broad
}

function isBroadFlag({ kind, value }: FlagRule): boolean {
  return kind === "all" || (kind === "run" && (value === undefined || RUNNERS.has(nameOf(value))))
}

function isBroadPattern(pattern: Wildcard): boolean {
  if (isExact(pattern)) return false
  const { chunks, bounded } = pattern
  const head = bareHead(chunks[0] ?? "")
  // A word that the wildcard may go on with could become the name of a runner.
  const open = !(bounded && chunks.length === 1) && !/\s$/.test(head)
  const words = head.trim().split(/\s+/)
  const [program = "", ...rest] = words
  if (program === "" || (open && rest.length === 0 && mayBecomeRunner(nameOf(program)))) return true
  const operands = rest.filter((word) => !word.startsWith("-"))
  // A word that is not finished names nothing yet.
  const named = open ? operands.slice(0, -1) : operands
  const name = nameOf(program)
  if (namesRunningWord(RUNNING_WORDS[name], named, open ? operands.at(-1) : undefined)) return true
  return isRunner(name) && named.length === 0
}

/** The pattern leaves open what a word such as `exec` runs, or whether it is that word. */
function namesRunningWord(
  running: readonly string[] | undefined,
  named: readonly string[],
  unfinished: string | undefined,
): boolean {
  if (running === undefined || named.length > 1) return false
  const [first] = named
  return first === undefined ? running.some((word) => word.startsWith(unfinished ?? "")) : running.includes(first)
}

function bareHead(text: string): string {
  const stripped = text.replace(ASSIGNMENT, "").replace(WRAPPER, "")
  return stripped === text ? text.trimStart() : bareHead(stripped)
}

function isRunner(name: string): boolean {
  return RUNNERS.has(name) || RUNNERS.has(name.replace(/[\d.]+$/, ""))
}

function mayBecomeRunner(start: string): boolean {
  return isRunner(start) || [...RUNNERS, ...Object.keys(RUNNING_WORDS)].some((name) => name.startsWith(start))
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1)
}
