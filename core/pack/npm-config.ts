/**
 * The environment and the user's .npmrc → the options of the library that fetches packages.
 *
 * Invariant: nothing of a project is read: its .npmrc could send what is fetched, and the user's token, elsewhere.
 * Source: https://docs.npmjs.com/cli/configuring-npm/npmrc
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

type Env = Readonly<Record<string, string | undefined>>

/** Single keys that are handed on, beside those of a scope (`@team:registry`) or of a host (`//host/:_authToken`). */
const KEYS = ["registry", "proxy", "https-proxy", "noproxy", "ca", "cafile", "strict-ssl", "fetch-retries"]

/** Reads the configuration; `home` is absolute. */
export function npmOptions(env: Env, home: string | undefined): Record<string, unknown> {
  const file = env.npm_config_userconfig ?? env.NPM_CONFIG_USERCONFIG ?? (home && join(home, ".npmrc"))
  const set = new Map([...pairsOf(file, env), ...environmentPairs(env)])
  const options: Record<string, unknown> = {}
  for (const [key, value] of set) {
    if (/^(?:@[^:]+:registry|\/\/.+:\w+)$/.test(key)) options[key] = value
    else if (KEYS.includes(key))
      options[key.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] = plain(value)
  }
  if (typeof options.cafile === "string") options.ca = readText(options.cafile)
  return options
}

function pairsOf(file: string | undefined, env: Env): [string, string][] {
  const lines = file === undefined ? [] : readText(file).split(/\r?\n/)
  return lines.flatMap((line): [string, string][] => {
    const [, key, value] = /^\s*([^;#=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (key === undefined || value === undefined) return []
    const bare = value.replace(/^"(.*)"$|^'(.*)'$/, "$1$2")
    return [
      [key, bare.replace(/(\\*)\$\{([^}]+)\}/g, (whole, slashes, name) => (slashes ? whole : (env[name] ?? whole)))],
    ]
  })
}

function environmentPairs(env: Env): [string, string][] {
  return Object.entries(env).flatMap(([name, value]): [string, string][] => {
    const key = /^npm_config_(.+)$/i.exec(name)?.[1]
    if (key === undefined || value === undefined || value === "") return []
    return [[key.startsWith("//") || key.startsWith("@") ? key : key.toLowerCase().replaceAll("_", "-"), value]]
  })
}

function plain(value: string): unknown {
  return value === "true" ? true : value === "false" ? false : value
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}
