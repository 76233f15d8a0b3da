/**
 * A path → whether writing it could run code later, or change what sous itself may do.
 *
 * Invariant: names are compared without case and in every spelling of the path, a glob by what it could stand for;
 * allow rules cannot answer for these.
 */
import type { PermissionFacts } from "./decision.ts"
import { cutPath, fitsName, isShortName, type PathParts } from "./path-pattern.ts"
import { isBelow, type Place } from "./place.ts"
import type { PathUnit } from "./unit.ts"

/** `configures`: sous reads its own settings, hooks, plugins, agents, skills or recipes there; bypass mode asks as well. */
export type Protection = "configures" | "protected"

const list = (text: string) => text.trim().split(/\s+/)

/** Names that hold what configures agents, wherever they stand. */
const CONFIGURES_FOLDERS = new Set([".claude", ".sous"])
const CONFIGURES_FILES = new Set([".mcp.json", ".hooks.json", ".claude.json", "sous.lock"])
const FOLDERS = new Set(list(".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .cursor"))
/** Folders by their last two names: settings of git and of shells, programs that a project runs by their names. */
const PAIRS = new Set(
  list(`.config/git .config/fish .config/nushell .config/elvish .config/powershell .config/environment.d
    .venv/bin .venv/scripts venv/bin venv/scripts node_modules/.bin .oh-my-zsh/custom`),
)
const SHELLS = list("bash zsh ksh csh tcsh mksh yash ash dash")
const START_UP = list(`.profile .login .logout .inputrc .xprofile .xinitrc .xsession .xsessionrc .xonshrc .shrc .shinit
  .kshenv .zlogin .zlogout .zprofile .zshenv .pam_environment config.fish profile.ps1
  microsoft.powershell_profile.ps1`).concat(
  ...SHELLS.map((shell) =>
    list("rc env profile login logout _profile _login _logout _aliases").map((end) => `.${shell}${end}`),
  ),
)
const FILES = new Set([
  ...START_UP,
  ...list(`.gitconfig .gitmodules .npmrc .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc .bazelversion .bazeliskrc
    .pre-commit-config.yaml .pre-commit-config.yml .envrc .ripgreprc pyrightconfig.json gradle-wrapper.properties
    maven-wrapper.properties .devcontainer.json .yarnrc .yarnrc.yml .pnp.cjs .pnp.js .pnp.loader.mjs .pnp.data.json
    lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml lefthook-local.yml lefthook-local.yaml`),
])
const FILE_PATTERNS = [/^\.yarnrc/, /^\.pnp\./, /^\.?lefthook[^/]*\.y[^/]*ml$/, /^\.(?:bash|zsh)rc\./]

/**
 * Why a person has to answer for the write, whatever rules allow; undefined when nobody has to. A link as the last part
 * is a way out of its working folder that the path does not show, so that it is asked about in every mode.
 */
export function whyProtected(path: PathUnit, facts: PermissionFacts): string | undefined {
  if (path.access !== "write" || path.loose) return undefined
  const kinds = path.places.map((place) => protectionOf(place, facts, { globs: !path.exact }))
  if (kinds.includes("configures")) return "it configures agents"
  if (kinds.includes("protected") && facts.mode !== "bypassPermissions") return "what it holds may run later"
  const leadsOut = path.from !== "operand" && path.places.some((place) => isWayOut(place, facts))
  return leadsOut ? "it is a link that leads out of its working folder" : undefined
}

function isWayOut({ link, lexical }: Place, { roots }: PermissionFacts): boolean {
  // What stands there are devices and open files, which the floor looks at.
  if (lexical.startsWith("/dev/")) return false
  const here = cutPath(lexical)
  return link !== undefined && !roots.map(cutPath).some((root) => isBelow(link, root) && isBelow(here, root))
}

/** What protects the place, if anything does. Parts of the path that lead to a working folder do not count. */
export function protectionOf(
  place: Place,
  facts: PermissionFacts,
  options: { globs?: boolean } = {},
): Protection | undefined {
  const listed = (facts.configures ?? []).map(cutPath)
  if (
    place.spellings.some((path) => listed.some((one) => isBelow(path, one, "refuse") || isBelow(one, path, "refuse")))
  ) {
    return "configures"
  }
  const scripts = (facts.hookFiles ?? []).map(cutPath)
  if (place.spellings.some((path) => scripts.some((one) => isBelow(path, one, "refuse")))) return "configures"
  const roots = facts.roots.map(cutPath)
  const found = place.spellings.map((path) => protectionOfParts(ownParts(path, roots), options.globs ?? false))
  return found.find((one) => one === "configures") ?? found.find((one) => one !== undefined)
}

function ownParts(path: PathParts, roots: readonly PathParts[]): readonly string[] {
  const around = roots.filter((root) => isBelow(path, root, "refuse")).map((root) => root.refuse.length)
  return path.refuse.slice(Math.max(0, ...around))
}

function protectionOfParts(parts: readonly string[], globs: boolean): Protection | undefined {
  const tree = parts.findIndex((part, i) => part === ".claude" && parts[i + 1] === "worktrees")
  // A checkout that stands there is a project like any other.
  if (tree >= 0 && parts.length > tree + 2) return protectionOfParts(parts.slice(tree + 3), globs)
  const isOne = (names: ReadonlySet<string>, part: string) => isAmong(names, part, globs)
  const name = parts.at(-1) ?? ""
  if (parts.some((part) => isOne(CONFIGURES_FOLDERS, part)) || isOne(CONFIGURES_FILES, name)) return "configures"
  const inside = parts.some((part, i) => isOne(FOLDERS, part) || (i > 0 && isPair(parts[i - 1]!, part, globs)))
  return inside || isOne(FILES, name) || FILE_PATTERNS.some((pattern) => pattern.test(name)) ? "protected" : undefined
}

function isPair(folder: string, name: string, globs: boolean): boolean {
  if (PAIRS.has(`${folder}/${name}`)) return true
  if (!globs || !isGlob(`${folder}${name}`)) return false
  return [...PAIRS].some((pair) => {
    const [first, second] = pair.split("/") as [string, string]
    return mayBe(folder, first) && mayBe(name, second)
  })
}

function isAmong(names: ReadonlySet<string>, part: string, globs: boolean): boolean {
  if (names.has(part)) return true
  if (part.includes("~")) return [...names].some((name) => isShortName(part, name))
  return globs && isGlob(part) && [...names].some((name) => mayBe(part, name))
}

function isGlob(part: string): boolean {
  return /[*?[(]/.test(part)
}

/**
 * What a shell makes of a glob: `*` stands for no name that begins with a dot. Where it stands for any other name it is
 * taken for what the project is made of, not for the one file that is protected.
 */
function mayBe(part: string, name: string): boolean {
  if (part === name) return true
  const group = /^([^(]*)[@+?*!]\(([^()]*)\)(.*)$/s.exec(part)
  if (group) return group[2]!.split("|").some((choice) => mayBe(group[1] + choice + group[3], name))
  if (name.startsWith(".") ? !part.startsWith(".") : /^[*?]*$/.test(part)) return false
  return fitsName(part, name)
}
