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
  allow: FlagSet & { all?: boolean }
  deny: FlagSet
}

/** One flag with one value, ready to be matched. `value` undefined: everything of the kind. */
export interface FlagRule {
  kind: "read" | "write" | "run" | "net" | "all"
  value: string | undefined
  source: RuleSource
}

/** Spells the flags out as rules of the CLI scope; paths become absolute. */
export function compileFlags(flags: FlagGrants, cwd: string): FlagRule[] {
  const all: FlagRule[] = flags.allow.all ? [flagRule("all", "allow", undefined, "-A")] : []
  return [...all, ...spellOut(flags.allow, "allow", cwd), ...spellOut(flags.deny, "deny", cwd)]
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
