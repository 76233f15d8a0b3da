import { describe, expect, it } from "vitest"
import { listTrust } from "../../../core/cli/trust-listing.ts"
import { listingForPeople } from "../../../core/cli/trust-text.ts"
import { treeFile, treeOf } from "../../../core/session/tree.ts"
import type { TrustQuestion } from "../../../core/settings/project-trust.ts"

function list(values: object, more: { hooks?: object; files?: string[]; code?: string[] } = {}) {
  const at = () => ({ line: 3, column: 1 })
  const file = "/p/.sous/settings.json"
  const { hooks = {}, files = [], code = [] } = more
  const question = {
    root: "/p",
    sources: [{ scope: "project", file, base: "/p", values, at }],
    hooks: [{ scope: "project", file: "/p/.hooks.json", hooks, at }],
    code,
  } as unknown as TrustQuestion
  const tree = treeOf(new Map(files.map((path) => [path, treeFile(Buffer.from(""))])))
  const entries = listTrust(question, tree)
  const trust = { state: "untrusted", isTrusted: false, changes: [], question } as never
  return { entries, text: listingForPeople(trust, entries) }
}

describe("listTrust()", () => {
  it("puts each thing into its group, with its place", () => {
    const { entries } = list(
      {
        permissions: { deny: ["Read"], defaultMode: "acceptEdits", additionalDirectories: ["../other"] },
        packs: { guard: "npm:guard@1" },
        plugins: [{ plugin: "named", required: true }],
        pluginSettings: { named: { level: 3 } },
        budget: { usd: 5 },
      },
      {
        hooks: {
          Stop: [{ url: "https://example.com/x" }, { prompt: "Is it done?" }],
          PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "run", args: ["a b"] }] }],
        },
        code: ["/p/.sous/settings.local.ts"],
      },
    )
    const place = { file: ".sous/settings.json", line: 3 }
    const hook = { file: ".hooks.json", line: 3 }
    expect(entries).toEqual([
      { group: "code", what: "settings", text: ".sous/settings.local.ts", file: ".sous/settings.local.ts" },
      { group: "code", what: "plugin", text: '{"plugin":"named","required":true}', ...place },
      { group: "code", what: "pack", text: "guard: npm:guard@1", ...place },
      { group: "commands", what: "PreToolUse(Bash) hook", text: 'run "a b"', ...hook },
      { group: "network", what: "Stop hook", text: "https://example.com/x", ...hook },
      { group: "rules", what: "mode", text: "acceptEdits", ...place },
      { group: "rules", what: "folder", text: "../other", ...place },
      { group: "settings", what: "pluginSettings", text: 'named: {"level":3}', ...place },
      { group: "settings", what: "budget.usd", text: "5", ...place },
      { group: "settings", what: "Stop hook that asks a model", text: "Is it done?", ...hook },
    ])
  })

  it("names every file that counts, once", () => {
    const files = [
      ".sous/plugins/a.ts",
      ".sous/plugins/deep/b.ts",
      "node_modules/@x/y/i.js",
      "lib/c.ts",
      "d/node_modules/z/i.js",
    ]
    const { entries } = list({}, { files })
    expect(entries.map(({ what, text }) => `${what} ${text}`)).toEqual([
      "plugin .sous/plugins/a.ts",
      "plugin .sous/plugins/deep",
      "package d/node_modules/z",
      "package node_modules/@x/y",
      "file lib/c.ts",
    ])
  })
})

describe("listingForPeople()", () => {
  it("lets nothing of the project pass for a line of its own", () => {
    const hooks = { PreToolUse: [{ matcher: "a\nFiles that count", command: "echo 1\n  plugin  harmless.ts\r\nCode" }] }
    const { text } = list({}, { hooks, files: [".sous/plugins/a\nNothing to trust"] })
    expect(text).toBe(`/p: not trusted

Code that would run in this process
  plugin  .sous/plugins/a
    ┊ Nothing to trust

Commands that would be started
  PreToolUse(a\\nFiles that count) hook  echo 1   .hooks.json:3
    ┊   plugin  harmless.ts
    ┊ Code
`)
  })
})
