/**
 * The settings of all scopes and the `.hooks.json` files beside them → every configured hook, in the order of its scope.
 *
 * Invariant: loaded only where hooks are configured; a file that is broken stops the start, and never makes a smaller guard.
 */

import { suggest } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import { checkPart } from "./check.ts"
import { parseDocument } from "./document.ts"
import { type HookFile, type NotRaised, readHooks } from "./hook-entry.ts"
import { hookPolicy, settleHook } from "./hook-policy.ts"
import { hookFileSchema } from "./hook-schema.ts"
import { SETTINGS_SCOPES, type SettingsScope, type SettingsSource } from "./merge.ts"
import { readSettingsText } from "./text-file.ts"

/** What is configured. */
export interface ConfiguredHooks {
  /** Strongest scope first, then in the order in which they stand; also those that will not run, with the reason. */
  sources: HookSource[]
  /** Hooks for events of the claude-code protocol that are not raised here. */
  notRaised: NotRaised[]
}

/** A `.hooks.json` that is there. */
export interface HookFilePlace {
  scope: SettingsScope
  /** Absolute. */
  file: string
}

/** Reads the hooks of the settings and of the `.hooks.json` files. Throws SETTINGS_… errors. */
export async function findHooks(
  settings: readonly SettingsSource[],
  places: readonly HookFilePlace[],
): Promise<HookFile[]> {
  const files: HookFile[] = settings.flatMap(({ scope, file, values: { hooks }, at }) =>
    hooks === undefined ? [] : [{ scope, hooks, at: at ?? (() => undefined), ...(file === undefined ? {} : { file }) }],
  )
  for (const place of places) files.push(await loadHookFile(place))
  return sortHooks(files)
}

/** Strongest scope first; those of one scope stay as they are. */
export function sortHooks(files: readonly HookFile[]): HookFile[] {
  return [...files].sort((a, b) => SETTINGS_SCOPES.indexOf(a.scope) - SETTINGS_SCOPES.indexOf(b.scope))
}

/** Reads one `.hooks.json`; what stands in its entries is looked at later. Throws SETTINGS_… errors. */
export async function loadHookFile({ scope, file }: HookFilePlace): Promise<HookFile> {
  const text = readSettingsText(file)
  const document = await parseDocument(file, text)
  const { hooks } = checkPart(hookFileSchema, document.value, {
    file,
    at: document.at,
    path: [],
    meant: (_, key) => meantInFile(key),
  })
  return { scope, file, text, hooks, at: document.at }
}

function meantInFile(key: string): string {
  if (/^[A-Z]/.test(key)) return `write "${key}" into "hooks"`
  return /hook/i.test(key) && key.length > "hooks".length + 1
    ? `write "${key}" into settings.json`
    : suggest(key, Object.keys(hookFileSchema.shape))
}

/** Says of every hook whether it may run. `settings`: without what nobody has trusted. Throws SETTINGS_… errors. */
export function settleHooks(
  files: readonly HookFile[],
  settings: readonly SettingsSource[],
  { trust }: { trust: boolean },
): ConfiguredHooks {
  const policy = hookPolicy(settings)
  const read = files.map(readHooks)
  return {
    sources: read.flatMap(({ drafts }) => drafts.map((draft) => settleHook(draft, policy, trust))),
    notRaised: read.flatMap(({ notRaised }) => notRaised),
  }
}
