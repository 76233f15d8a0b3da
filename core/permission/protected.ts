/**
 * A path → whether writing it could run code later, or change what sous itself may do.
 *
 * Invariant: names are compared without case and in every spelling of the path; allow rules cannot answer for these.
 */
import type { PermissionFacts } from "./decision.ts"
import { cutPath, type PathParts } from "./path-pattern.ts"
import { isBelow, type Place } from "./place.ts"

/** `configures`: sous reads its own settings, hooks, plugins, agents, skills or recipes there; bypass mode asks as well. */
export type Protection = "configures" | "protected"

const CONFIGURES_FOLDERS = new Set([".claude", ".sous"])
const CONFIGURES_FILES = new Set([".mcp.json", ".hooks.json", ".claude.json", "sous.lock"])
const FOLDERS = new Set([".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".cursor"])
const FILES = new Set([
  ".gitconfig",
  ".gitmodules",
  ".npmrc",
  ".pnpmfile.cjs",
  "bunfig.toml",
  ".bunfig.toml",
  ".bazelrc",
  ".bazelversion",
  ".bazeliskrc",
  ".pre-commit-config.yaml",
  ".envrc",
  ".ripgreprc",
  "pyrightconfig.json",
  "gradle-wrapper.properties",
  "maven-wrapper.properties",
  ".devcontainer.json",
])
const FILE_PATTERNS = [
  /^\.yarnrc/,
  /^\.pnp\./,
  /^\.?lefthook(?:-local)?\.ya?ml$/,
  // Start-up files of shells.
  /^\.(?:bash|zsh|z|k|c|tc|mk)(?:rc|env|profile|login|logout|_profile|_login|_logout|_aliases|shrc)$/,
  /^\.(?:profile|login|logout|inputrc|xprofile|xinitrc|xsessionrc)$/,
  /^config\.fish$/,
]

/** What protects the place, if anything does. Parts of the path that lead to a working folder do not count. */
export function protectionOf(place: Place, facts: PermissionFacts): Protection | undefined {
  const listed = (facts.configures ?? []).map(cutPath)
  if (
    place.spellings.some((path) => listed.some((one) => isBelow(path, one, "refuse") || isBelow(one, path, "refuse")))
  ) {
    return "configures"
  }
  const roots = facts.roots.map(cutPath)
  const found = place.spellings.map((path) => protectionOfParts(ownParts(path, roots)))
  return found.find((one) => one === "configures") ?? found.find((one) => one !== undefined)
}

function ownParts(path: PathParts, roots: readonly PathParts[]): readonly string[] {
  const around = roots.filter((root) => isBelow(path, root, "refuse")).map((root) => root.refuse.length)
  return path.refuse.slice(Math.max(0, ...around))
}

function protectionOfParts(parts: readonly string[]): Protection | undefined {
  const name = parts.at(-1) ?? ""
  if (parts.some((part) => CONFIGURES_FOLDERS.has(part)) || CONFIGURES_FILES.has(name)) return "configures"
  const inside = parts.some((part, i) => FOLDERS.has(part) || (part === "git" && parts[i - 1] === ".config"))
  const named = FILES.has(name) || FILE_PATTERNS.some((pattern) => pattern.test(name))
  return inside || named ? "protected" : undefined
}
