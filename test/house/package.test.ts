/**
 * Holds the package's own files to their rules: a lockfile without addresses, an install that ships what it should.
 *
 * Invariant: a dependency's address comes from whoever installs, never from the repository.
 */
import { expect, it } from "vitest"
import { readSource } from "./source.ts"

interface Locked {
  version?: string
  resolved?: string
  integrity?: string
  link?: boolean
}

const lock = JSON.parse(readSource("package-lock.json")) as { version: string; packages: Record<string, Locked> }
const manifest = JSON.parse(readSource("package.json")) as { version: string; scripts: Record<string, string> }
const locked = Object.entries(lock.packages).filter(([path]) => path !== "")

it("package-lock.json holds no addresses", () => {
  expect(locked.filter(([, one]) => one.resolved !== undefined).map(([path]) => path)).toEqual([])
})

it("package-lock.json holds the integrity of every package", () => {
  expect(locked.filter(([, one]) => one.integrity === undefined && !one.link).map(([path]) => path)).toEqual([])
})

it("package-lock.json is of the version that package.json names", () => {
  expect(lock.version).toBe(manifest.version)
})

it("package.json runs no script at an install of the package", () => {
  expect(Object.keys(manifest.scripts).filter((name) => /^(?:pre|post)?install$/.test(name))).toEqual([])
})
