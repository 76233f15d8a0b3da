/**
 * The files of a pack → what it says about itself, checked and in one form.
 *
 * Invariant: an unknown key, a path that leaves the pack and a name that no pack may have are refused; nothing in a
 * manifest decides how far the pack is trusted.
 */
import { z } from "zod"
import { SousError } from "../error.ts"
import { HOOKS } from "../hook.ts"
import { parseRule } from "../permission/rule.ts"
import type { Tree } from "../session/tree.ts"
import { checkPackName, isInsidePath, isPackTool, plainPath } from "./name.ts"
import { asFields, checkShape, invalid, PACK_API, type PackManifest, readFile } from "./shape.ts"

/** Where a pack describes itself. */
export const PACK_FILE = "sous.pack.yaml"

const text = z.string().min(1)
const path = text
  .refine(isInsidePath, { error: 'expected a path inside the pack, written with "/"' })
  .transform(plainPath)
const paths = z.array(path).optional()
const names = z.array(text).optional()
const rule = text.refine(isRule, { error: 'expected a permission rule such as "Bash(npm test)"' })
const rules = z.array(rule).optional()

const capabilities = z.strictObject({
  tools: z
    .array(text.refine(isPackTool, { error: "expected the name of a tool, which may not begin with mcp__" }))
    .optional(),
  exec: names,
  net: names,
  env: z.array(text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable")).optional(),
  read: names,
  write: names,
})

const adds = z.strictObject({
  hooks: z.array(z.enum(Object.keys(HOOKS) as [string])).optional(),
  models: names,
  agents: names,
  recipes: names,
  context: names,
  compaction: names,
  judges: z.boolean().optional(),
})

const body = {
  $schema: z.string().optional(),
  description: z.string().optional(),
  apiVersion: z.int().positive(),
  plugins: paths,
  recipes: paths,
  agents: paths,
  skills: paths,
  hooks: z.union([path, z.record(z.string(), z.unknown())]).optional(),
  permissions: z.strictObject({ allow: rules, ask: rules, deny: rules }).optional(),
  mcpServers: z.union([path, z.record(text, z.unknown())]).optional(),
  capabilities: capabilities.optional(),
  adds: adds.optional(),
}

const inPackage = z.strictObject(body)
const ownFile = z.strictObject({ name: text, version: text, ...body })

/** Reads the manifest of a pack. Throws PACK_MANIFEST_MISSING, PACK_MANIFEST_INVALID, PACK_NAME_INVALID, PACK_API_UNSUPPORTED. */
export async function readManifest(tree: Tree, from: string): Promise<PackManifest> {
  const own = await readFile(tree, PACK_FILE)
  const { sous, name, version } = asFields(await readFile(tree, "package.json"))
  if (own !== undefined && sous !== undefined) {
    const problem = `the key "sous" of package.json describes the pack as well`
    throw invalid(PACK_FILE, problem, "keep one of the two")
  }
  if (own !== undefined) return manifestOf(checkShape(ownFile, own, PACK_FILE), PACK_FILE)
  if (sous !== undefined) {
    const head = { name: String(name ?? ""), version: String(version ?? "") }
    return manifestOf({ ...checkShape(inPackage, sous, "package.json"), ...head }, "package.json")
  }
  const { readClaudePlugin } = await import("./claude-plugin.ts")
  const plugin = await readClaudePlugin(tree)
  if (plugin === undefined) throw new SousError("PACK_MANIFEST_MISSING", { from })
  checkPackName(plugin.name)
  return plugin
}

function manifestOf(given: z.output<typeof ownFile>, file: string): PackManifest {
  const { name, version, apiVersion, hooks, permissions, mcpServers, agents, skills } = given
  checkPackName(name)
  if (!/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/.test(version))
    throw invalid(file, `its version is "${version}"`, 'give it a version such as "1.0.0"')
  if (apiVersion !== PACK_API)
    throw new SousError("PACK_API_UNSUPPORTED", { pack: name, wants: apiVersion, has: PACK_API })
  const servers = typeof mcpServers === "string" ? [mcpServers] : Object.keys(mcpServers ?? {})
  return {
    name,
    version,
    file,
    apiVersion,
    plugins: given.plugins ?? [],
    recipes: given.recipes ?? [],
    hooks: hooks === undefined ? [] : [hooks],
    permissions: { allow: permissions?.allow ?? [], ask: permissions?.ask ?? [], deny: permissions?.deny ?? [] },
    capabilities: filled(given.capabilities ?? {}),
    adds: filled(given.adds ?? {}),
    unused: filled({ agents, skills, mcpServers: servers }) as Record<string, string[]>,
    notes: [],
  }
}

/** Without what is empty. */
function filled<T extends object>(fields: T): { [K in keyof T]: NonNullable<T[K]> } {
  const full = Object.entries(fields).filter(([, value]) => value && !(Array.isArray(value) && value.length === 0))
  return Object.fromEntries(full) as { [K in keyof T]: NonNullable<T[K]> }
}

function isRule(written: string): boolean {
  try {
    return parseRule(written) !== undefined
  } catch {
    return false
  }
}
