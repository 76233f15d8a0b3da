/**
 * Names and paths as packs write them → whether they may be used.
 *
 * Invariant: a name is never a path and never a property that every object has; a path never leaves its pack.
 */
import { posix } from "node:path"
import { SousError } from "../error.ts"

/** Source: https://docs.npmjs.com/cli/configuring-npm/package-json#name */
const PACK_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/

/** More than any name of npm may have. */
const MOST_CHARS = 214

const RESERVED = ["constructor", "prototype", "node_modules", "favicon.ico"]

/** Returns the name of a pack. Throws PACK_NAME_INVALID. */
export function checkPackName(name: string): string {
  if (isPackName(name)) return name
  throw new SousError("PACK_NAME_INVALID", { name: name.slice(0, MOST_CHARS) })
}

/** True for a name that a pack can have. */
export function isPackName(name: string): boolean {
  return name.length <= MOST_CHARS && PACK_NAME.test(name) && !name.split("/").some((part) => RESERVED.includes(part))
}

/** True for a relative path, written with `/`, that stays where it starts. */
export function isInsidePath(path: string): boolean {
  if (path === "" || /[\\\0]/.test(path) || /^[A-Za-z]:/.test(path) || posix.isAbsolute(path)) return false
  return !path.split("/").includes("..")
}

/** The path as a tree spells it: without `./` and doubled slashes. */
export function plainPath(path: string): string {
  return posix.normalize(path).replace(/\/$/, "")
}

/** True for the name of a tool that a pack may add: never that of an MCP server's tool. */
export function isPackTool(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name) && !/^mcp__/i.test(name)
}
