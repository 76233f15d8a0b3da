/**
 * A folder that is a plugin of Claude Code → the same as a pack.
 *
 * Invariant: unknown fields of its plugin.json are left out with a note, as there; a known one of the wrong type is
 * refused, as there. What has no use here is listed.
 * Source: https://code.claude.com/docs/en/plugins-reference
 */
import { z } from "zod"
import type { Tree } from "../session/tree.ts"
import { isInsidePath, plainPath } from "./name.ts"
import { asFields, checkShape, invalid, PACK_API, type PackManifest, readFile } from "./shape.ts"

/** Where such a plugin describes itself, and where its hooks are looked for. */
const FILE = ".claude-plugin/plugin.json"
const HOOKS_FILE = "hooks/hooks.json"
const MARKETPLACE = ".claude-plugin/marketplace.json"

const text = z.string().min(1)
const path = text
  .refine(isInsidePath, { error: 'expected a path inside the plugin, beginning with "./"' })
  .transform(plainPath)
const places = z.union([path, z.array(path)]).optional()
const inline = z.record(z.string(), z.unknown())
const configured = z.union([path, inline, z.array(z.union([path, inline]))]).optional()
const any = inline.optional()

const schema = z.object({
  name: text.regex(/^[a-z0-9][a-z0-9-]*$/, "expected lower-case letters, digits and hyphens"),
  version: text.optional(),
  displayName: z.string().optional(),
  description: z.string().optional(),
  author: z.union([z.string(), inline]).optional(),
  defaultEnabled: z.boolean().optional(),
  skills: places,
  commands: z.union([path, z.array(path), inline]).optional(),
  agents: places,
  workflows: places,
  outputStyles: places,
  hooks: configured,
  mcpServers: configured,
  lspServers: configured,
  experimental: any,
  userConfig: any,
  channels: z.unknown().optional(),
  dependencies: z.unknown().optional(),
})

/** Fields that say what the plugin is, and need no use. */
const ABOUT = ["$schema", "homepage", "repository", "license", "keywords", "category", "tags"]

/** Folders and files that are looked for without being named, by kind. */
const LYING: Readonly<Record<string, RegExp>> = {
  commands: /^commands\/(.+)\.md$/,
  agents: /^agents\/(.+)\.md$/,
  skills: /^skills\/(.+)\/SKILL\.md$|^(SKILL)\.md$/,
  mcpServers: /^(\.mcp\.json)$/,
  lspServers: /^(\.lsp\.json)$/,
  outputStyles: /^output-styles\/(.+)\.md$/,
  workflows: /^workflows\/(.+)\.[mc]?js$/,
  settings: /^(settings\.json)$/,
  programs: /^bin\/(.+)$/,
  monitors: /^monitors\/(.+)$/,
  themes: /^themes\/(.+)$/,
}

/** Reads the folder as such a plugin; undefined: it is none. Throws PACK_MANIFEST_INVALID. */
export async function readClaudePlugin(tree: Tree): Promise<PackManifest | undefined> {
  const written = await readFile(tree, FILE)
  if (written === undefined) {
    await refuseMarketplace(tree)
    return undefined
  }
  const given = checkShape(schema, written, FILE)
  const hooks = [given.hooks ?? []].flat()
  const isNamed = hooks.includes(HOOKS_FILE)
  const version = versionOf(given.version)
  const foreign = Object.keys(asFields(written)).filter((key) => !(key in schema.shape) && !ABOUT.includes(key))
  return {
    name: given.name,
    version: version ?? "0.0.0",
    file: FILE,
    apiVersion: PACK_API,
    plugins: [],
    recipes: [],
    hooks: [...(tree.files.has(HOOKS_FILE) && !isNamed ? [HOOKS_FILE] : []), ...hooks],
    permissions: { allow: [], ask: [], deny: [] },
    capabilities: {},
    adds: {},
    unused: unusedOf(tree, given),
    dialect: "claude-code",
    notes: [
      ...foreign.map((key) => `the unknown field "${key}" of ${FILE} is left out`),
      ...(version === undefined && given.version !== undefined
        ? [`its version "${given.version}" is none: 0.0.0`]
        : []),
    ],
  }
}

/** There a version is any text; here one of three numbers, as far as the text says them. */
function versionOf(written = ""): string | undefined {
  const [, major, minor = "0", patch = "0", rest = ""] =
    /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+][0-9A-Za-z.+-]+)?$/.exec(written.trim()) ?? []
  return major === undefined ? undefined : `${major}.${minor}.${patch}${rest}`
}

/** A list of plugins is none itself, and nothing in it is taken along unasked. */
async function refuseMarketplace(tree: Tree): Promise<void> {
  const { plugins } = asFields(await readFile(tree, MARKETPLACE))
  if (!Array.isArray(plugins)) return
  const local = plugins.map((one) => asFields(one).source).filter((source) => typeof source === "string")
  const example = local[0] === undefined ? "the folder of one of its plugins" : `"${local[0]}" of it`
  throw invalid(MARKETPLACE, "it lists plugins and is none itself", `add ${example} by itself`)
}

function unusedOf(tree: Tree, given: z.output<typeof schema>): Record<string, string[]> {
  const unused: Record<string, string[]> = {}
  const add = (kind: string, names: readonly string[]) => {
    const all = [...new Set([...(unused[kind] ?? []), ...names])].sort()
    if (all.length > 0) unused[kind] = all
  }
  for (const [kind, pattern] of Object.entries(LYING)) {
    const found = [...tree.files.keys()].flatMap((file) => pattern.exec(file)?.slice(1).find(Boolean) ?? [])
    add(kind, found)
  }
  for (const kind of ["userConfig", "experimental"] as const) add(kind, Object.keys(given[kind] ?? {}))
  for (const kind of [
    "commands",
    "agents",
    "skills",
    "workflows",
    "outputStyles",
    "mcpServers",
    "lspServers",
  ] as const) {
    const named = [given[kind] ?? []].flat() as (string | object)[]
    add(
      kind,
      named.flatMap((one) => (typeof one === "string" ? [one] : Object.keys(one))),
    )
  }
  return unused
}
