/**
 * Where a pack is to come from, as a person writes it → a registry, a repository, an archive or a folder.
 *
 * Invariant: what nobody could check on its way (plain http, git://) is no source, and no source holds a password.
 */
import { statSync } from "node:fs"
import { isAbsolute, relative, resolve } from "node:path"
import { SousError } from "../error.ts"
import { resolveWritten } from "../settings/scopes.ts"

/** Where a pack comes from; `written`: as settings say it. */
export type PackSource = { written: string } & (
  | { kind: "npm"; name: string; range?: string }
  /** `urls`: the first that answers; `path`: the folder of the pack in the repository. */
  | { kind: "git"; urls: string[]; ref?: string; path?: string }
  | { kind: "remote"; url: string }
  /** Absolute. */
  | { kind: "archive" | "folder"; place: string }
)

export interface SourceOptions {
  /** What relative paths start from, absolute. */
  base: string
  home: string | undefined
  /** What written paths are to be relative to, absolute; undefined: they are written as absolute ones. */
  writtenFrom?: string | undefined
}

const HOSTS: Readonly<Record<string, string>> = {
  github: "github.com",
  gitlab: "gitlab.com",
  bitbucket: "bitbucket.org",
}

const ARCHIVE = /\.(?:tgz|tar\.gz)$/

/** Reads a source. Throws PACK_SOURCE_INVALID or PACK_SOURCE_UNSAFE. */
export function parseSource(text: string, options: SourceOptions): PackSource {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(text)?.[1]
  if (scheme === "npm") return npmSource(text.slice("npm:".length))
  if (scheme !== undefined && Object.hasOwn(HOSTS, scheme)) return hostedSource(text, HOSTS[scheme]!)
  if (scheme === "git" || scheme?.startsWith("git+")) return gitSource(text, scheme)
  if (scheme === "https") return remoteSource(text)
  if (scheme === "http") throw unsafe(text, "plain http can be changed on its way", "use https")
  const path = scheme === "file" ? text.slice("file:".length) : text
  if (scheme === "file" || /^(?:\.{0,2}|~)\//.test(path) || path === "." || path === ".." || isAbsolute(path))
    return placeSource(path, options)
  if (ARCHIVE.test(path)) return placeSource(path, options)
  if (scheme !== undefined) throw invalid(text, `use one of npm:, github:, git+https:, https: or a path`)
  if (/^[^@/][^/]*\/[^/]+$/.test(text)) throw invalid(text, `write "github:${text}", or "./${text}" for a folder`)
  return npmSource(text)
}

function npmSource(spec: string): PackSource {
  const [, name, range] = /^(@[\w.~-]+\/[\w.~-]+|[\w.~-]+)(?:@(.+))?$/.exec(spec) ?? []
  if (name === undefined || (range !== undefined && /[/:]/.test(range)))
    throw invalid(spec, "write the name of a package, with @RANGE behind it or without")
  return { written: `npm:${spec}`, kind: "npm", name, ...(range === undefined ? {} : { range }) }
}

function hostedSource(text: string, host: string): PackSource {
  const [, project, rest = ""] = /^[a-z]+:([\w.-]+(?:\/[\w.-]+)+?)(?:\.git)?(#.*)?$/.exec(text) ?? []
  if (project === undefined || project.split("/").includes(".."))
    throw invalid(text, `write it as "${text.split(":")[0]}:owner/repo#ref"`)
  const urls = [`https://${host}/${project}.git`, `ssh://git@${host}/${project}.git`]
  return { written: text, kind: "git", urls, ...refOf(rest, text) }
}

function gitSource(text: string, scheme: string): PackSource {
  if (scheme === "git" || scheme === "git+http")
    throw unsafe(text, "nobody can tell who answers there", "use git+https: or git+ssh:")
  if (!/^git\+(?:https|ssh|file)$/.test(scheme)) throw invalid(text, "use git+https:, git+ssh: or git+file:")
  const [url = "", rest] = text.slice("git+".length).split(/(?=#)/)
  checkUrl(url, text)
  return { written: text, kind: "git", urls: [url], ...refOf(rest ?? "", text) }
}

/** `#REF`, `#semver:RANGE`, `#REF::path:FOLDER`. Source: https://docs.npmjs.com/cli/configuring-npm/package-json#git-urls-as-dependencies */
function refOf(hash: string, text: string): { ref?: string; path?: string } {
  const parts = hash.replace(/^#/, "").split("::")
  const path = parts
    .find((part) => part.startsWith("path:"))
    ?.slice("path:".length)
    .replace(/^\/+|\/+$/g, "")
  const ref = parts.find((part) => part !== "" && !part.startsWith("path:"))
  if (path?.split("/").includes("..") || ref?.startsWith("-")) throw invalid(text, "correct what stands behind #")
  return { ...(ref ? { ref } : {}), ...(path ? { path } : {}) }
}

function remoteSource(text: string): PackSource {
  checkUrl(text, text)
  if (!ARCHIVE.test(new URL(text).pathname))
    throw invalid(text, "name an archive (.tgz), or write git+ before it for a repository")
  return { written: text, kind: "remote", url: text }
}

function checkUrl(url: string, text: string): void {
  if (!URL.canParse(url)) throw invalid(text, "correct the address")
  const { username, password, protocol } = new URL(url)
  if (password !== "" || (username !== "" && protocol !== "ssh:"))
    throw unsafe(
      url.replace(/\/\/[^/@]*@/, "//***@"),
      "it holds a password",
      "leave it to git or .npmrc, which keep it",
    )
}

function placeSource(path: string, { base, home, writtenFrom }: SourceOptions): PackSource {
  const place = resolveWritten(path, base, home)
  const found = statSync(place, { throwIfNoEntry: false })
  const kind = found ? (found.isDirectory() ? "folder" : "archive") : ARCHIVE.test(path) ? "archive" : "folder"
  if (found?.isFile() && !ARCHIVE.test(path)) throw invalid(path, "name a folder, or an archive that ends in .tgz")
  return { written: writtenPath(place, writtenFrom), kind, place }
}

function writtenPath(place: string, from: string | undefined): string {
  if (from === undefined) return place
  const way = relative(from, resolve(place)).replaceAll("\\", "/")
  if (way === "") return "."
  return way.startsWith("../") ? way : `./${way}`
}

function invalid(source: string, mend: string): SousError {
  return new SousError("PACK_SOURCE_INVALID", { source, mend })
}

function unsafe(source: string, why: string, mend: string): SousError {
  return new SousError("PACK_SOURCE_UNSAFE", { source, why, mend })
}
