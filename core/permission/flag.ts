/**
 * `--allow-run=git --deny-net …` → CLI-scope grants and refusals over what a call touches, whatever the tool is called.
 *
 * Invariant: `--allow-run=git` means the program, never a prefix of text, and grants no file that a redirect writes.
 */
import { resolve } from "node:path"
import type { Behavior, RuleSource } from "./decision.ts"

/** What a flag speaks about. `env` is kept for child processes; no call is matched against it. */
export type FlagKind = "read" | "write" | "run" | "net" | "env"

/** `true`: everything of the kind. Paths are absolute or relative to the start's folder; hosts may begin with `*.`. */
export type FlagSet = { [K in FlagKind]?: true | string[] }

/** The `--allow-…` and `--deny-…` flags of one start; `all` is `-A`. */
export interface FlagGrants {
  allow?: FlagSet & { all?: boolean }
  deny?: FlagSet
}

/** One flag with one value, ready to be matched. `value` undefined: everything of the kind. */
export interface FlagRule {
  kind: "read" | "write" | "run" | "net" | "all"
  value: string | undefined
  /** Where a path leads when that is another place: whoever names a link means what is behind it too. */
  real?: string
  source: RuleSource
}

/** Where an absolute path leads when links are followed. */
export type Follow = (path: string) => string | undefined

/** Spells the flags out as rules of the CLI scope; paths become absolute. */
export function compileFlags(flags: FlagGrants, cwd: string, options: { follow?: Follow } = {}): FlagRule[] {
  const { allow = {}, deny = {} } = flags
  const all: FlagRule[] = allow.all ? [flagRule("all", "allow", undefined, "-A")] : []
  const rules = [...all, ...spellOut(allow, "allow", cwd), ...spellOut(deny, "deny", cwd)]
  return rules.map((rule) => {
    const isPath = rule.kind === "read" || rule.kind === "write"
    const real = isPath && rule.value !== undefined ? options.follow?.(rule.value) : undefined
    return real === undefined || real === rule.value ? rule : { ...rule, real }
  })
}

function spellOut(set: FlagSet, behavior: Behavior, cwd: string): FlagRule[] {
  const kinds = ["read", "write", "run", "net"] as const
  return kinds.flatMap((kind) => {
    const given = set[kind]
    if (given === undefined) return []
    const name = `--${behavior}-${kind}`
    if (given === true) return [flagRule(kind, behavior, undefined, name)]
    return given.map((value) => {
      const isPath = kind === "read" || kind === "write"
      return flagRule(kind, behavior, isPath ? resolve(cwd, value) : value, `${name}=${value}`)
    })
  })
}

function flagRule(kind: FlagRule["kind"], behavior: Behavior, value: string | undefined, text: string): FlagRule {
  return { kind, value, source: { text, behavior, scope: "cli" } }
}
