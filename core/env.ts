/**
 * What of the environment a child process may see, and which of its values must never be shown.
 *
 * Invariant: a name that looks like a secret reaches a child only when it was named; in masked text no whole secret
 * value is left, whatever the values are.
 */

/** Additions to what a child inherits. */
export interface ChildEnvironmentOptions {
  /** Names that are handed on although they look secret; `true`: everything is. */
  pass?: true | readonly string[]
  /** Set last, over what was inherited. */
  set?: Readonly<Record<string, string>>
}

/** Secret values, made ready for `maskSecrets`. */
export interface Secrets {
  /** Matches any of the values; absent when there are none. */
  readonly pattern?: RegExp
  /** What stands in for each value. */
  readonly masks: ReadonlyMap<string, string>
}

/** Names that configure a model provider; no child needs them. */
const PROVIDER = /^(ANTHROPIC|OPENAI|AZURE_OPENAI)_/i

/** Secret-looking words, after the name was cut into words joined by `_`. */
const SECRET =
  /(^|_)(TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|APIKEYS?|JWT|PGPASSWORD|MYSQL_PWD|(API|ACCESS|PRIVATE|SIGNING|ENCRYPTION|MASTER|ACCOUNT|AUTH)_KEYS?)(?=_|$)/

/** Shorter values are words that any text may hold. In characters. */
const SHORTEST_SECRET = 8

/** Shorter lines of a value of many lines are not masked on their own. In characters. */
const SHORTEST_LINE = 16

/** The environment for a child process: all but provider settings and secret-looking names. */
export function childEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  extra: ChildEnvironmentOptions = {},
): Record<string, string> {
  const { pass = [], set = {} } = extra
  const inherited = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (pass === true || pass.includes(entry[0]) || !isWithheld(entry[0])),
  )
  return { ...Object.fromEntries(inherited), ...set }
}

/** The values of secret-looking names that have at least 8 characters, and the lines of those that have many. */
export function secretValues(env: Readonly<Record<string, string | undefined>>): Secrets {
  const names = new Map<string, string>()
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !isSecretName(name)) continue
    for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name)
  }
  if (names.size === 0) return { masks: new Map() }
  // Of two values that start at one place the longer one must win.
  const values = [...names.keys()].sort((a, b) => b.length - a.length)
  return { pattern: new RegExp(values.map(escapePattern).join("|"), "g"), masks: masksFor(names) }
}

/** The text with `[masked NAME]` in the place of each secret value. */
export function maskSecrets(text: string, secrets: Secrets): string {
  const { pattern, masks } = secrets
  return pattern === undefined ? text : text.replace(pattern, (value) => masks.get(value)!)
}

/** A JSON value with every text in it masked. */
export function maskValue<T>(value: T, secrets: Secrets): T {
  if (secrets.pattern === undefined) return value
  if (typeof value === "string") return maskSecrets(value, secrets) as T
  if (Array.isArray(value)) return value.map((item) => maskValue(item, secrets)) as T
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, maskValue(field, secrets)])) as T
}

function isWithheld(name: string): boolean {
  return PROVIDER.test(name) || isSecretName(name)
}

/** True for the name of a variable or a field whose value nobody should see. */
export function isSecretName(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[^A-Za-z0-9]+/g, "_")
  return SECRET.test(words.toUpperCase())
}

function formsOf(value: string): string[] {
  const whole = value.trim()
  const lines = whole.split(/\r?\n/).map((line) => line.trim())
  // The frame of a PEM key ("-----BEGIN …") is no secret.
  const long = lines.length === 1 ? [] : lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith("--"))
  return whole.length < SHORTEST_SECRET ? [] : [whole, ...long]
}

function masksFor(names: ReadonlyMap<string, string>): Map<string, string> {
  const values = [...names.keys()]
  const masks = [...names].map(([value, name]): [string, string] => [value, `[masked ${name}]`])
  const collides = values.some((value) => /[[\]]/.test(value) || masks.some(([, mask]) => mask.includes(value)))
  if (!collides) return new Map(masks)
  // A value could be made of a mask and its surroundings; a character that no value holds cannot be part of one.
  let code = 0x2588
  while (values.some((value) => value.includes(String.fromCharCode(code)))) code++
  return new Map(values.map((value) => [value, String.fromCharCode(code).repeat(3)]))
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
}
