/**
 * A command or a path → why no agent may do this at all, whatever rules, hooks and modes say.
 *
 * Invariant: small and not configurable; guesses count, so that a variable, a wrapper or a symlink changes nothing.
 */
import { dirname, resolve } from "node:path"
import type { PermissionFacts } from "./decision.ts"
import { absolutePaths, type Operand, operandsOf, withoutGlob } from "./operand.ts"
import { cutPath, matchesPath, type PathParts, parsePathPattern } from "./path-pattern.ts"
import { createPlace, isBelow, type Place } from "./place.ts"
import type { Analysis, Segment } from "./segment.ts"
import { type ShellWord, splitWords } from "./shell-word.ts"
import { programName } from "./wrapper.ts"

/** Why the command crosses the floor, and the part that does. */
export interface FloorHit {
  reason: string
  segment?: Segment
}

/** Looks at every command in it, inner ones too. */
export function floorOfCommand(analysis: Analysis, facts: PermissionFacts): FloorHit | undefined {
  if (analysis.forkBomb) return { reason: "it is a fork bomb" }
  for (const segment of analysis.all) {
    const reason = floorOfSegment(segment, facts)
    if (reason !== undefined) return { reason, segment }
  }
  return undefined
}

/** Looks at a path that would be written. `change`: it would be removed, moved or get other rights. */
export function floorOfWrite(place: Place, change: boolean, facts: PermissionFacts): string | undefined {
  if (touchesState(place, change, facts)) return "the state of sous, its trust store and managed settings are its own"
  const folder = systemFolder(place, facts)
  return folder === undefined ? undefined : `${folder} belongs to the system`
}

function floorOfSegment(segment: Segment, facts: PermissionFacts): string | undefined {
  const words = splitWords(segment.words)
  const name = programName(words)
  return (
    floorOfProgram(name, words) ??
    floorOfDelete(name, words, segment, facts) ??
    floorOfRights(name, words, segment, facts) ??
    floorOfFiles(segment, facts)
  )
}

const OWN_COMMANDS = new Set(["trust", "answer", "permissions", "add", "update", "run", "watch", "resume"])
const PACKAGE_RUNNERS = /^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun)$/
const SCRIPT_RUNNERS = /^(?:node|nodejs|tsx|deno|bun)$/

function floorOfProgram(name: string, words: readonly ShellWord[]): string | undefined {
  if (/^mkfs(?:\.|$)|^(?:mke2fs|mkswap|wipefs|blkdiscard)$/.test(name)) return "it formats a device"
  if (/^(?:shutdown|reboot|halt|poweroff)$/.test(name)) return "it switches the machine off"
  const args = words.slice(1).map((word) => word.guesses[0]!)
  if (/^(?:init|telinit)$/.test(name) && /^[06]$/.test(args[0] ?? "")) return "it switches the machine off"
  if (name === "systemctl" && args.some((arg) => /^(?:poweroff|reboot|halt|kexec|soft-reboot)$/.test(arg))) {
    return "it switches the machine off"
  }
  const own = ownCommand(name, args)
  return own === undefined ? undefined : `"sous ${own}" is a person's command, not an agent's`
}

/** The command of sous that would be run from inside a run. */
function ownCommand(name: string, args: readonly string[]): string | undefined {
  const isSous = (arg: string) =>
    (PACKAGE_RUNNERS.test(name) && /^sous(?:@.*)?$/.test(arg)) ||
    (SCRIPT_RUNNERS.test(name) && /(?:^|\/)sous(?:\/.*cli\.[jt]s)?$/.test(arg))
  const at = args.findIndex(isSous)
  if (name !== "sous" && at < 0) return undefined
  let value = false
  for (const arg of args.slice(at + 1)) {
    if (arg.startsWith("-")) {
      value = !arg.includes("=")
      continue
    }
    if (OWN_COMMANDS.has(arg)) return arg
    if (!value) return undefined
    value = false
  }
  return undefined
}

function floorOfDelete(name: string, words: readonly ShellWord[], segment: Segment, facts: PermissionFacts) {
  const args = words.slice(1)
  const texts = args.map((word) => word.guesses[0]!)
  const forced = texts.some((text) => /^-[A-Za-z]*[rRf]|^--(?:r|f)/.test(text))
  const deletes = (/^(?:rm|srm)$/.test(name) && forced) || name === "rmdir" || (name === "mv" && args.length > 1)
  const finds =
    name === "find" &&
    texts.some(
      (text, i) =>
        text === "-delete" || (/^-(?:exec|ok)/.test(text) && /(?:^|\/)(?:rm|shred|unlink)$/.test(texts[i + 1] ?? "")),
    )
  if (!deletes && !finds) return undefined
  const stop = finds
    ? texts.findIndex((text) => /^-(?![HLPDO])/.test(text))
    : name === "mv"
      ? args.length - 1
      : args.length
  const targets = args.slice(0, stop).filter((word) => !word.guesses[0]!.startsWith("-"))
  const hit = targets.find((word) => isVital(word, segment, facts))
  if (hit) return `it deletes "${hit.raw}", on which the machine, its user or this run stands`
  return finds && targets.length === 0 && segment.bases?.some((base) => isVitalPath(base, facts))
    ? "it deletes what is below the current folder"
    : undefined
}

function floorOfRights(name: string, words: readonly ShellWord[], segment: Segment, facts: PermissionFacts) {
  if (!/^(?:chmod|chown|chgrp)$/.test(name)) return undefined
  if (!words.some((word) => /^-[A-Za-z]*R|^--recursive/.test(word.guesses[0]!))) return undefined
  const hit = words.slice(1).find((word) => {
    return pathsOf(word, segment).some((path) => path === "/" || (facts.home !== "" && path === resolve(facts.home)))
  })
  return hit ? `it changes the rights of everything below "${hit.raw}"` : undefined
}

function floorOfFiles(segment: Segment, facts: PermissionFacts): string | undefined {
  for (const operand of operandsOf(segment)) {
    if (operand.access !== "write" || operand.emptied) continue
    for (const place of placesOf(operand, segment, facts)) {
      const reason = floorOfWrite(place, operand.change, facts)
      if (reason !== undefined) return `it writes "${operand.written}": ${reason}`
    }
  }
  return undefined
}

function placesOf(operand: Operand, segment: Segment, facts: PermissionFacts): Place[] {
  return absolutePaths(segment.bases, operand.guesses).map((path) => {
    return createPlace(operand.written, withoutGlob(path), facts.paths.get(path))
  })
}

/** A target that may not go: `/`, a child of it, the home folder, a folder above the working directory. */
function isVital(word: ShellWord, segment: Segment, facts: PermissionFacts): boolean {
  return pathsOf(word, segment).some((path) => {
    const real = facts.paths.get(path)?.real
    return [path, real].some((one) => one !== undefined && isVitalPath(one, facts, word.emptied))
  })
}

/** What stands in `/` on any system; what an empty variable would leave in front of another name is no such folder. */
const STANDARD =
  /^\/(?:bin|boot|dev|etc|home|lib\d*|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|System|Library|Applications|private)$/

function isVitalPath(path: string, facts: PermissionFacts, emptied = false): boolean {
  if (path === "/") return true
  if (dirname(path) === "/") return !emptied || STANDARD.test(path)
  const cut = cutPath(path)
  const kept = [facts.home, dirname(facts.cwd), ...facts.roots.slice(0, 1).map((root) => dirname(root))]
    .filter((one) => one !== "")
    .map(cutPath)
  const pattern = /[*?[]/.test(path) ? parsePathPattern(`/${path}`, ROOT, "refuse") : undefined
  return kept.some((one) => isBelow(one, cut, "refuse") || (pattern !== undefined && matchesPath(pattern, one, one)))
}
const ROOT = { cwd: "/", home: "/", settings: "/" }

function pathsOf(word: ShellWord, segment: Segment): string[] {
  return absolutePaths(segment.bases, word.guesses.map(withoutGlob))
}

function touchesState(place: Place, change: boolean, facts: PermissionFacts): boolean {
  const folders = (facts.stateFolders ?? []).map(cutPath)
  return place.spellings.some((path) => {
    return folders.some((folder) => isBelow(path, folder, "refuse") || (change && isBelow(folder, path, "refuse")))
  })
}

const SYSTEM = [
  "/etc",
  "/boot",
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/sys",
  "/proc",
  "/dev",
  "/private/etc",
  "/System",
].map(cutPath)
const HARMLESS = /^\/dev\/(?:null|stdout|stderr|tty|fd(?:\/\d+)?)$/

function systemFolder(place: Place, facts: PermissionFacts): string | undefined {
  if (HARMLESS.test(place.lexical)) return undefined
  const named = [facts.roots[0] ?? "/", ...(facts.namedRoots ?? [])].filter((root) => root !== "/").map(cutPath)
  const isOwn = (path: PathParts) => named.some((root) => isBelow(path, root))
  const hit = place.spellings.flatMap((path) =>
    isOwn(path) ? [] : SYSTEM.filter((one) => isBelow(path, one, "refuse")),
  )[0]
  return hit && `/${hit.allow.join("/")}`
}
