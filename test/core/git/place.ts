/**
 * Real repositories in temporary folders, made by the real git with a configuration that nobody else has a say in.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const WHO = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
const ENV = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nowhere",
  GIT_CONFIG_NOSYSTEM: "1",
  ...Object.fromEntries(WHO.map((name) => [name, "t@localhost"])),
}

/** Runs git in a folder; returns what it prints. Throws what it says. */
export function git(cwd: string, ...args: string[]): string {
  const own = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
  return execFileSync("git", [...own, ...args], { cwd, env: ENV, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
}

/** Writes a file below a folder; returns its path. */
export function put(cwd: string, name: string, text: string, mode = 0o644): string {
  const file = join(cwd, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}

/** A repository with one commit of `same.txt`, and of `a.txt`, which has changed since. Returns its folder. */
export function repository(cwd: string, options: readonly string[] = []): string {
  mkdirSync(cwd, { recursive: true })
  git(cwd, "init", "-q", ...options)
  put(cwd, "a.txt", "one\n")
  put(cwd, "same.txt", "same\n")
  git(cwd, "add", "a.txt", "same.txt")
  git(cwd, "commit", "-qm", "one")
  put(cwd, "a.txt", "two\n")
  return cwd
}
