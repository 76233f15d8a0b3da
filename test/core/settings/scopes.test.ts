import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { findProjectRoot, homeFolder, resolveWritten, scopeFolders } from "../../../core/settings/scopes.ts"

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-scopes-")))
})

afterEach(() => rmSync(folder, { recursive: true }))

function make(path: string): string {
  mkdirSync(join(folder, path), { recursive: true })
  return join(folder, path)
}

test.each([".sous", ".claude", ".git"])("findProjectRoot() finds the nearest folder upwards with %s", (mark) => {
  make(`outer/.git`)
  make(`outer/project/${mark}`)
  expect(findProjectRoot(make("outer/project/a/b"), { home: make("home") })).toBe(join(folder, "outer/project"))
})

test("findProjectRoot() never takes the home folder or one above it", () => {
  const home = make("users/me")
  make("users/me/.claude")
  make("users/.git")
  expect(findProjectRoot(home, { home })).toBeUndefined()
  expect(findProjectRoot(make("users/me/notes"), { home })).toBeUndefined()
  expect(findProjectRoot(make("users"), { home })).toBeUndefined()
})

test("findProjectRoot() does not take a folder that another user owns", () => {
  make("project/.git")
  const inside = make("project/src")
  const home = make("home")
  const mine = process.getuid!()
  expect(findProjectRoot(inside, { home, uid: mine })).toBe(join(folder, "project"))
  expect(findProjectRoot(inside, { home, uid: mine + 1 })).toBeUndefined()
})

test.runIf(process.getuid?.() === 0)("findProjectRoot() reads the owner from the disk", () => {
  make("project/.git")
  chownSync(join(folder, "project"), 12345, 12345)
  expect(findProjectRoot(join(folder, "project"), { home: make("home") })).toBeUndefined()
})

test("scopeFolders() follows XDG_CONFIG_HOME, and ignores a relative one", () => {
  const home = make("home")
  const at = (XDG_CONFIG_HOME: string) => scopeFolders({ cwd: folder, env: { XDG_CONFIG_HOME }, home }).user
  expect(at("/config")).toBe("/config/sous")
  expect(at("config")).toBe(join(home, ".config/sous"))
})

test("scopeFolders() has neither user nor project without a home and outside of a project", () => {
  expect(scopeFolders({ cwd: make("empty"), env: {}, platform: "linux" })).toEqual({
    managed: "/etc/sous",
    claude: { managed: "/etc/claude-code" },
  })
})

test("scopeFolders() knows where Claude Code keeps its settings", () => {
  const home = make("home")
  make("project/.git")
  const at = (env: Record<string, string>, platform: NodeJS.Platform = "linux") =>
    scopeFolders({ cwd: join(folder, "project"), env, home, platform }).claude
  expect(at({})).toEqual({
    managed: "/etc/claude-code",
    project: join(folder, "project/.claude"),
    user: join(home, ".claude"),
  })
  expect(at({ CLAUDE_CONFIG_DIR: "/config/claude" }).user).toBe("/config/claude")
  expect(at({ CLAUDE_CONFIG_DIR: "config" }).user).toBe(join(home, ".claude"))
  expect(at({}, "darwin").managed).toBe("/Library/Application Support/ClaudeCode")
  expect(at({}, "win32").managed).toBe("C:\\Program Files\\ClaudeCode")
})

test("homeFolder() ignores a HOME that is no absolute path", () => {
  expect(homeFolder({ HOME: "/h" })).toBe("/h")
  expect(homeFolder({ HOME: "" })).toBe(homeFolder({}))
})

test("resolveWritten() resolves ~, absolute and relative paths", () => {
  expect(resolveWritten("~/x", "/base", "/home/me")).toBe("/home/me/x")
  expect(resolveWritten("/x", "/base", "/home/me")).toBe("/x")
  expect(resolveWritten("./x", "/base", undefined)).toBe("/base/x")
})
