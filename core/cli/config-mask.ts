/**
 * Explained settings → the same without anything secret.
 *
 * Invariant: what stands under a name that looks like a secret's, and whatever a header says, is not shown, also where it
 * was beaten or ignored; nor is a value of the environment that is secret, wherever it stands.
 */
import { isSecretName, maskValue, type Secrets, secretValues } from "../env.ts"
import type { ExplainedSetting } from "../settings/explained.ts"
import type { LoadedSettings } from "../settings/load.ts"
import { maskText } from "./check-secret.ts"

/** Masks all of them. `env`: that of the process, whose secrets may stand in files. */
export function maskSettings(
  explained: readonly ExplainedSetting[],
  { sources }: Pick<LoadedSettings, "sources">,
  env: Readonly<Record<string, string | undefined>>,
): ExplainedSetting[] {
  const secrets = secretValues(Object.assign({ ...env }, ...sources.map(({ values }) => values.env ?? {})))
  return explained.map((setting) => maskSetting(setting, secrets))
}

function maskSetting(setting: ExplainedSetting, secrets: Secrets): ExplainedSetting {
  const mask = <T extends { value?: unknown; name?: string; path?: string }>(one: T): T =>
    "value" in one ? { ...one, value: maskAt(one.value, [one.path ?? setting.key, one.name ?? ""], secrets) } : one
  return {
    ...mask(setting),
    ...(setting.entries ? { entries: setting.entries.map(mask) } : {}),
    beaten: setting.beaten.map(mask),
    ignored: setting.ignored.map(mask),
  }
}

/** A value that stands under these names. */
function maskAt(value: unknown, names: readonly string[], secrets: Secrets): unknown {
  const words = names.flatMap((name) => name.split("."))
  return maskDeep(value, words.find(isSecret) ?? "", secrets)
}

/** What stands in an object of this name is secret, whatever its own names are. */
const SECRET_OBJECT = /headers?$/i

function isSecret(name: string): boolean {
  return SECRET_OBJECT.test(name) || isSecretName(name)
}

function maskDeep(value: unknown, name: string, secrets: Secrets): unknown {
  if (typeof value === "object" && value !== null) {
    if (Array.isArray(value)) return value.map((entry: unknown) => maskDeep(entry, name, secrets))
    const fields = Object.entries(value).map(([key, field]: [string, unknown]) => {
      return [key, maskDeep(field, isSecret(name) ? name : key, secrets)]
    })
    return Object.fromEntries(fields)
  }
  if (value === undefined || value === null || typeof value === "boolean") return value
  if (isSecret(name)) return `[masked ${name}]`
  return typeof value === "string" ? maskText(maskValue(value, secrets)) : value
}
