/**
 * A settings file that is code → what its default export says.
 *
 * Invariant: called for files of the organisation and of the person, and for those of a project that somebody trusted;
 * a file that throws, hangs or exports something else stops the start, for it may have been a guard.
 */
import { isSousError, SousError } from "../error.ts"
import { checkSettings } from "./check.ts"
import { nameOriginal } from "./copy-name.ts"
import type { Settings } from "./schema.ts"

/** How long loading may take, ms. */
const LOAD_MS = 10_000

export interface LoadCodeOptions {
  /** Brings what the module exports. Left out: nothing here loads code. */
  load: ((file: string) => Promise<unknown>) | undefined
  /** Where the code is read from, absolute: a copy of what was trusted. Default: the file itself. */
  copy?: string | undefined
  /** In ms. Default 10 s. */
  budgetMs?: number | undefined
}

/** Loads it. Throws SETTINGS_CODE_FAILED, SETTINGS_CODE_TIMEOUT, SETTINGS_KEY_UNKNOWN or SETTINGS_VALUE_INVALID. */
export async function loadCode(
  file: string,
  { load, copy = file, budgetMs = LOAD_MS }: LoadCodeOptions,
): Promise<Settings> {
  if (load === undefined) throw failed(file, "nothing here loads settings that are code")
  const module = await withinBudget(file, budgetMs, load(copy)).catch((error: unknown) => {
    if (isSousError(error) && error.code === "SETTINGS_CODE_TIMEOUT") throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw failed(file, nameOriginal(reason, file, copy), error)
  })
  const value = (module as { default?: unknown } | undefined)?.default
  if (typeof value !== "object" || value === null)
    throw failed(file, `its default export is ${value === null ? "null" : typeof value}, not an object with settings`)
  return checkSettings(file, { value, at: () => undefined })
}

async function withinBudget<T>(file: string, budgetMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const seconds = budgetMs / 1000
    timer = setTimeout(() => reject(new SousError("SETTINGS_CODE_TIMEOUT", { file, seconds })), budgetMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function failed(file: string, reason: string, cause?: unknown): SousError {
  return new SousError("SETTINGS_CODE_FAILED", { file, reason }, cause === undefined ? {} : { cause })
}
