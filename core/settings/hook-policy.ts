/**
 * The hooks of all files and what the settings say about hooks → which may run, and why the others do not.
 *
 * Invariant: nothing is dropped: a hook that does not run stays in the list with its reason; no weaker scope lifts what the
 * organisation has set.
 */
import { type HookSource, placeOf } from "../hook-source.ts"
import type { Origin } from "../permission/decision.ts"
import type { HookDraft } from "./hook-entry.ts"
import { rankSources, type SettingsSource } from "./merge.ts"
import { needsTrust } from "./trust.ts"

/** What the settings of all scopes say about hooks. */
export interface HookPolicy {
  /** Hooks are off, for all scopes or for those below the organisation's. */
  off?: { by: string; all: boolean }
  /** Only the organisation's hooks may run. */
  managedOnly?: string
  /** Each a list of addresses, all of which have to have a fitting entry; none: every address may be reached. */
  urls: readonly (readonly string[])[]
  /** The same for names of environment variables. */
  env: readonly (readonly string[])[]
}

type Rows = readonly SettingsSource[]

/** Reads the policy off the settings; what nobody has trusted is to be left out of them before. */
export function hookPolicy(sources: Rows): HookPolicy {
  const ranked = rankSources(sources)
  const off = ranked.find(({ values }) => values.disableAllHooks !== undefined)
  const managedOnly = ranked.find(({ scope, values }) => scope === "managed" && values.allowManagedHooksOnly)
  return {
    ...(off?.values.disableAllHooks
      ? { off: { by: whereIs("disableAllHooks", off), all: off.scope === "managed" } }
      : {}),
    ...(managedOnly ? { managedOnly: whereIs("allowManagedHooksOnly", managedOnly) } : {}),
    urls: bounds(ranked, "allowedHttpHookUrls"),
    env: bounds(ranked, "httpHookAllowedEnvVars"),
  }
}

/** The hook as it may run, or with the reason why it does not. */
export function settleHook(
  { source, wantedEnv, foreignShell }: HookDraft,
  policy: HookPolicy,
  trust: boolean,
): HookSource {
  const suppressed = suppressionBy(source, policy, trust) ?? shellReason(foreignShell)
  const { form } = source
  const headerEnv = wantedEnv.filter((name) => policy.env.every((names) => names.includes(name)))
  return {
    ...source,
    form: form.type === "http" && headerEnv.length > 0 ? { ...form, headerEnv } : form,
    ...(suppressed === undefined ? {} : { suppressed }),
  }
}

function suppressionBy({ form, origin }: HookSource, policy: HookPolicy, trust: boolean): string | undefined {
  const { off, managedOnly, urls } = policy
  const isManaged = origin.scope === "managed"
  if (managedOnly !== undefined && !isManaged) return `${managedOnly} lets only managed hooks run`
  if (off && (off.all || !isManaged)) return `hooks are off by ${off.by}`
  if (!trust && needsTrust(origin.scope as SettingsSource["scope"])) return "nobody has trusted this project"
  if (form.type === "http" && !urls.every((list) => list.some((pattern) => fitsUrl(form.url, pattern))))
    return "its address is not in allowedHttpHookUrls"
  return undefined
}

function shellReason(shell: string | undefined): string | undefined {
  return shell === undefined ? undefined : `it is written for ${shell}, and hooks run in bash`
}

/** The organisation's list, and that of all the others together: each of them bounds. */
function bounds(ranked: Rows, key: "allowedHttpHookUrls" | "httpHookAllowedEnvVars"): string[][] {
  const lists = (managed: boolean) =>
    ranked.flatMap(({ scope, values }) => ((scope === "managed") === managed && values[key] ? [values[key]] : []))
  return [lists(true), lists(false)].filter((found) => found.length > 0).map((found) => found.flat())
}

/** An address against a pattern in which `*` stands for anything, but in the host for nothing that would end it. */
export function fitsUrl(url: string, pattern: string): boolean {
  if (pattern === "*") return true
  const [, scheme, host, path = "/"] = /^([a-z*]+):\/\/([^/]*)(\/.*)?$/i.exec(pattern) ?? []
  if (scheme === undefined || host === undefined) return false
  const address = new URL(url)
  const rest = address.pathname + address.search
  return (
    fits(scheme, address.protocol.slice(0, -1), /[a-z]/) &&
    fits(host.toLowerCase(), address.host, /[^/?#@:]/) &&
    fits(path, rest, /./s)
  )
}

/** Longer ones fit nothing: what is looked at grows with the product of both lengths. */
const MOST_STEPS = 10_000_000

/** Step by step over the pattern, with all places of the text that it can have reached: a regular expression could try for years. */
function fits(pattern: string, text: string, star: RegExp): boolean {
  if (pattern.length * text.length > MOST_STEPS) return false
  let reached = new Uint8Array(text.length + 1)
  reached[0] = 1
  const isWild = text.split("").map((char) => star.test(char))
  for (const char of pattern.split("")) {
    const next = new Uint8Array(text.length + 1)
    for (let at = 0; at <= text.length; at++) {
      if (char === "*") next[at] = reached[at] || (at > 0 && next[at - 1] && isWild[at - 1]) ? 1 : 0
      else if (at > 0 && reached[at - 1] && text[at - 1] === char) next[at] = 1
    }
    reached = next
  }
  return reached[text.length] === 1
}

function whereIs(key: string, { scope, file, at }: SettingsSource): string {
  const origin: Origin = { scope, ...(file === undefined ? {} : { file }), ...at?.([key]) }
  return `${key} of ${placeOf(origin)}`
}
