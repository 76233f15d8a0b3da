/**
 * Texts of a configuration, read here and by the real git: never other entries, and none of what git refuses.
 */
import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { parseConfig } from "../../../core/git/config-text.ts"
import { folder } from "../../harness.ts"
import { put } from "./place.ts"

/** What git makes of it, or undefined when it refuses. */
function askGit(text: string): string[] | undefined {
  const file = put(folder(), "config", "")
  execFileSync("tee", [file], { input: Buffer.from(text, "latin1"), stdio: ["pipe", "ignore", "ignore"] })
  try {
    const out = execFileSync("git", ["config", "--file", file, "--no-includes", "--list", "-z"], {
      stdio: ["ignore", "pipe", "ignore"],
    })
    return out.toString("latin1").split("\0").slice(0, -1)
  } catch {
    return undefined
  }
}

const readHere = (text: string) =>
  parseConfig(text)?.map(({ name, value }) => (value === undefined ? name : `${name}\n${value}`))

const UNDERSTOOD = [
  "",
  "# nothing\n; at all\n",
  "[core]\n\tbare = false\n",
  "[core] bare = false\n",
  "[CORE]\nFsMonitor=./x",
  '[core]fsmonitor="./x y" ; no comment in "quotes # here"\n',
  "[core]\n\tfsmonitor\n",
  "[core]\n\tfsmonitor = \n",
  "[core]\n\tfsmonitor = ./a\\\n  b\n",
  "[core]\n\tfsmonitor = ./a \\\n\t; c\n",
  '[core]\n\teditor = "a\\"b\\\\c\\td\\n"e   \n',
  "[core] # a comment\n\teditor = x # and one more \\\n\tpager = y\n",
  '[remote "Origin.x"]\n\turl = a=b\n',
  '[remote "a\\"b\\\\c\\d"]\n\turl = x\n',
  "[Remote.Origin]\n\turl = x\n",
  "[a.B.c]\n\tk-1 = x\n",
  '[a.b "C"]\n\tk = x\n',
  '[remote ""]\n\turl = x\n',
  '[remote\t "x"]\n\turl = x\n',
  "\xef\xbb\xbf[core]\n\tpager = x\n",
  "[core]\r\n\tpager = x\r\n\teditor = y \\\r\n z\r\n",
  "[core]\n\tpager = \xe9\xff\n",
  "[core]\n  pager=a  b\n",
  '[core]\n\tpager = "a" "b"\n',
  "[core][diff]\n\texternal=x\n[core]\n\n\n[x]y=z",
  '[core]\n\tpager = "#;" # x\n',
]

const REFUSED = [
  "[core\n\tpager = x\n",
  "[core]\n\tpager ! x\n",
  "[core]\n\t1pager = x\n",
  '[core]\n\tpager = "x\n',
  "[core]\n\tpager = \\q\n",
  '[core "x]\n\tpager = y\n',
  '[core "x" ]\n\tpager = y\n',
  '[core"x"]\n\tpager = y\n',
  "[co_re]\n\tpager = y\n",
  "[core]\n\tpa_ger = y\n",
  "[core]\n\tpager # x\n",
]

describe("parseConfig()", () => {
  it.each(UNDERSTOOD)("reads %j as git does", (text) => {
    expect(askGit(text)).toBeDefined()
    expect(readHere(text)).toEqual(askGit(text))
  })

  it.each(REFUSED)("refuses %j, as git does", (text) => {
    expect(askGit(text)).toBeUndefined()
    expect(parseConfig(text)).toBeUndefined()
  })

  it.each(["[core]\n\tpager = a\0b\n", "[core]\r\tpager = x\n", "pager = x\n"])("understands no %j", (text) => {
    expect(parseConfig(text)).toBeUndefined()
  })
})
