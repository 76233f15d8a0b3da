/**
 * `sous config set|unset|add|remove KEY [VALUE]`: one key of one settings file, and what became of it.
 *
 * Invariant: no agent changes settings: it refuses to run inside of a run. What was written and does not count is said.
 */
import { nearestName, SousError } from "../error.ts"
import { parseRule } from "../permission/rule.ts"
import { entrySchema, findKeyPath, type KeyPath, parseValue } from "../settings/key-path.ts"
import { homeFolder, scopeFolders } from "../settings/scopes.ts"
import { keepTrust } from "../settings/trust-keep.ts"
import {
  WRITABLE_SCOPES,
  type WritableScope,
  type WritePlace,
  type WrittenSettings,
  writePlace,
  writeSetting,
} from "../settings/write.ts"
import type { CommandLine } from "./command-line.ts"
import { type WantedChange, whatCounts } from "./config-counts.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"

/** The words that change settings. */
export const CHANGES = ["set", "unset", "add", "remove"] as const
type How = (typeof CHANGES)[number]

/** Returns 0. Throws CLI_INSIDE_RUN, CLI_…, SETTINGS_… errors. */
export async function setConfig({ args, values }: CommandLine, host: Host): Promise<number> {
  const [how, name, ...rest] = args as [How, string | undefined, ...string[]]
  refuseInside(host, `config ${how}`)
  const other = Object.keys(values).find((flag) => !["json", "scope"].includes(flag))
  if (other !== undefined) throw needlessFlag(other, how)
  const wanted = readWords(how, name, rest)
  const place = await findPlace(values.scope, host)
  if (wanted.key.mark?.managedOnly && how !== "unset") {
    throw new SousError("SETTINGS_KEY_MANAGED", { name: wanted.name, scope: place.scope })
  }
  const start = { cwd: await host.cwd(), env: host.env, files: [place.file] }
  const around = (write: () => Promise<WrittenSettings>) => keepTrust(start, write)
  const written = await writeSetting(place, wanted.change, place.scope === "user" ? {} : { around })
  const counts = await whatCounts(wanted, place, host)
  const { name: key } = wanted
  const { file, isChanged } = written
  if (values.json) {
    host.print(`${JSON.stringify({ key, how, scope: place.scope, file, changed: isChanged, ...counts })}\n`)
    return 0
  }
  host.print(host.escape(`${isChanged ? DONE[how] : SAME[how]} ${key} in ${file}\n`))
  for (const remark of counts.remarks) host.tell(`! ${remark}`)
  return 0
}

const DONE = { set: "Set", unset: "Took out", add: "Added to", remove: "Removed from" } as const satisfies Record<
  How,
  string
>
const SAME = {
  set: "Nothing to do: it is so already,",
  unset: "Nothing to do: there is no",
  add: "Nothing to do: it is there already,",
  remove: "Nothing to do: it is not there,",
} as const satisfies Record<How, string>

function needlessFlag(name: string, how: How): SousError {
  const argument = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  return new SousError("CLI_ARGUMENT_UNEXPECTED", {
    argument,
    mend: `leave it out: "sous config ${how}" writes one file`,
  })
}

function readWords(how: How, name: string | undefined, rest: readonly string[]): WantedChange {
  const example = how === "unset" ? "sous config unset model" : `sous config ${EXAMPLES[how]}`
  if (name === undefined) throw new SousError("CLI_ARGUMENT_MISSING", { what: "key", example })
  const place = findKeyPath(name)
  const [text, surplus] = rest
  if (how === "unset") {
    if (text !== undefined)
      throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: text, mend: `write "${example}"` })
    return { ...place, change: { how, path: place.path } }
  }
  if (text === undefined) throw new SousError("CLI_ARGUMENT_MISSING", { what: `value for ${name}`, example })
  if (surplus !== undefined) {
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: surplus, mend: "put the whole value into quotes" })
  }
  const schema = how === "set" ? place.schema : entryOf(place, how)
  const value = parseValue(text, { name, schema })
  if (how !== "remove") checkRules(place, value)
  return { ...place, change: { how, path: place.path, value } }
}

const EXAMPLES = {
  set: "set model sonnet",
  add: "add permissions.deny 'Read(.env)'",
  remove: "remove permissions.deny 'Read(.env)'",
} as const

function entryOf({ name, schema }: KeyPath, how: How) {
  const entry = entrySchema(schema)
  if (entry !== undefined) return entry
  const mend = how === "add" ? `write "sous config set ${name} VALUE"` : `write "sous config unset ${name}"`
  throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: how, mend: `${mend}: it is no list` })
}

/** A rule that does not parse would guard nothing. */
function checkRules({ key }: KeyPath, value: unknown): void {
  if (!/^permissions\.(?:allow|ask|deny|rules)$/.test(key.path)) return
  for (const rule of [value].flat() as string[]) {
    parseRule(key.path === "permissions.rules" ? rule.replace(/^\w+\s+/, "") : rule)
  }
}

async function findPlace(given: string | undefined, host: Host): Promise<WritePlace> {
  const scope = WRITABLE_SCOPES.find((one) => one === (given ?? "user"))
  if (scope === undefined) throw wrongScope(given ?? "")
  const home = homeFolder(host.env)
  const place = writePlace(scope, scopeFolders({ cwd: await host.cwd(), env: host.env, home }), { home })
  if (place === undefined) throw new SousError("SETTINGS_SCOPE_MISSING", { scope, mend: MISSING[scope] })
  return place
}

const MISSING = {
  user: "set HOME, or XDG_CONFIG_HOME",
  project: 'run "sous init" in the folder of the project',
  local: 'run "sous init" in the folder of the project',
} as const satisfies Record<WritableScope, string>

function wrongScope(value: string): SousError {
  const near = nearestName(value, WRITABLE_SCOPES)
  const wanted = `one of ${WRITABLE_SCOPES.join(", ")}`
  const mend = near === undefined ? `write --scope with ${wanted}` : `write --scope ${near}`
  return new SousError("CLI_VALUE_INVALID", { flag: "--scope", value, wanted, mend })
}
