/**
 * What a project would add if it were trusted, in groups, each entry with its place.
 *
 * Invariant: nothing that counts is missing: a file that is in no entry of its own stands among the other files; values of
 * the environment are never shown.
 */
import { relative } from "node:path"
import type { HookSource } from "../hook-source.ts"
import type { Tree } from "../session/tree.ts"
import { readHooks } from "../settings/hook-entry.ts"
import type { SettingsSource } from "../settings/merge.ts"
import type { TrustQuestion } from "../settings/project-trust.ts"
import type { Settings } from "../settings/schema.ts"
import { withoutTrust } from "../settings/trust.ts"

/** The groups, in the order in which they are shown. */
export const TRUST_GROUPS = ["code", "commands", "network", "rules", "environment", "settings", "files"] as const
export type TrustGroup = (typeof TRUST_GROUPS)[number]

/** One thing that a project would add. */
export interface TrustEntry {
  group: TrustGroup
  /** In a word or two: plugin, allow rule, PreToolUse hook. */
  what: string
  text: string
  /** Relative to the project's root. */
  file?: string
  line?: number
}

/** Lists all of it. */
export function listTrust(question: TrustQuestion, tree: Tree): TrustEntry[] {
  const root = question.root ?? ""
  const near = (file: string | undefined) => (file === undefined ? {} : { file: relative(root, file) })
  const entries = [
    ...question.code.map(
      (file): TrustEntry => ({ group: "code", what: "settings", text: relative(root, file), ...near(file) }),
    ),
    ...lyingIn(tree, ".sous/plugins", "plugin"),
    ...lyingIn(tree, ".sous/recipes", "recipe"),
    ...packagesIn(tree),
    ...question.sources.flatMap((source) => settingsOf(source).map((entry) => ({ ...entry, ...near(source.file) }))),
    ...question.hooks.flatMap((file) =>
      readHooks(file).drafts.map(({ source }) => ({ ...hookEntry(source), ...near(file.file) })),
    ),
  ]
  return [...entries, ...otherFiles(tree, entries)].sort(
    (a, b) => TRUST_GROUPS.indexOf(a.group) - TRUST_GROUPS.indexOf(b.group),
  )
}

/** Files and folders that lie there, one entry each. */
function lyingIn({ files, links }: Tree, folder: string, what: string): TrustEntry[] {
  const below = [...files.keys(), ...links.keys()].filter((path) => path.startsWith(`${folder}/`))
  const names = new Set(below.map((path) => path.slice(folder.length + 1).split("/")[0]!))
  return [...names].sort().map((name) => ({ group: "code", what, text: `${folder}/${name}` }))
}

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

function packagesIn({ files }: Tree): TrustEntry[] {
  const folders = [...files.keys()].flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])
  return [...new Set(folders)].map((text) => ({ group: "code", what: "package", text }))
}

/** How a key that widens is shown, by its path; one entry for each entry of a list. Of all others, the value. */
const SHOWN: Readonly<Record<string, { group: TrustGroup; what: string; name?: true }>> = {
  plugins: { group: "code", what: "plugin" },
  packs: { group: "code", what: "pack" },
  "permissions.allow": { group: "rules", what: "allow rule" },
  "permissions.rules": { group: "rules", what: "rule, in order" },
  "permissions.defaultMode": { group: "rules", what: "mode" },
  "permissions.additionalDirectories": { group: "rules", what: "folder" },
  allowedHttpHookUrls: { group: "network", what: "address for hooks" },
  env: { group: "environment", what: "variable", name: true },
}

/** What the file sets and an untrusted one may not; its hooks have entries of their own. */
function settingsOf({ values, at }: SettingsSource): TrustEntry[] {
  const { leftOut, values: kept } = withoutTrust(values)
  return leftOut
    .filter((path) => path !== "hooks")
    .flatMap((path) => {
      const { group, what, name } = SHOWN[path] ?? { group: "settings" as const, what: path }
      return partsOf(path, values, kept).map(({ key, value }) => ({
        group,
        what,
        text: name
          ? String(key.at(-1))
          : textOf(
              key.length > path.split(".").length && typeof key.at(-1) === "string" ? `${key.at(-1)}: ` : "",
              value,
            ),
        ...given(at?.(key)?.line),
      }))
    })
}

function given(line: number | undefined): { line?: number } {
  return line === undefined ? {} : { line }
}

/** A list and an object by their entries, without those that apply all the same. */
function partsOf(path: string, values: Settings, kept: Settings): { key: (string | number)[]; value: unknown }[] {
  const keys = path.split(".")
  const [value, safe] = [values, kept].map((all) => keys.reduce((fields: any, key) => fields?.[key], all) as unknown)
  if (typeof value !== "object" || value === null) return [{ key: keys, value }]
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return entries
    .filter(([key]) => (safe as any)?.[key] === undefined)
    .map(([key, entry]) => ({ key: [...keys, key], value: entry }))
}

function textOf(before: string, value: unknown): string {
  return before + (typeof value === "string" ? value : JSON.stringify(value))
}

function hookEntry({ event, matcher, form, origin }: HookSource): TrustEntry {
  const what = `${matcher ? `${event}(${matcher})` : event} hook`
  const place = given(origin.line)
  switch (form.type) {
    case "command":
      return {
        group: "commands",
        what,
        text: [form.command, ...(form.args ?? []).map((arg) => JSON.stringify(arg))].join(" "),
        ...place,
      }
    case "http":
      return { group: "network", what, text: form.url, ...place }
    case "mcp_tool":
      return { group: "commands", what, text: `${form.server} ${form.tool}`, ...place }
    case "prompt":
    case "agent":
      return { group: "settings", what: `${what} that asks a model`, text: form.prompt, ...place }
  }
}

/** All that is hashed and named nowhere: scripts of hooks, modules beside plugins, the settings themselves. */
function otherFiles({ files, links }: Tree, entries: readonly TrustEntry[]): TrustEntry[] {
  const named = new Set(entries.filter(({ group }) => group === "code").map(({ text }) => text))
  const isNamed = (path: string) =>
    path.split("/").some((_, count, parts) => named.has(parts.slice(0, count + 1).join("/")))
  return [...files.keys(), ...links.keys()]
    .filter((path) => !isNamed(path))
    .map((text): TrustEntry => ({ group: "files", what: links.has(text) ? "link" : "file", text }))
}
