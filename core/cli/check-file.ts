/**
 * A file or folder that was named → what it was taken for, and all that is wrong with it.
 *
 * Invariant: whatever the file is, it is named as that; a file that cannot be read, or is nothing known, is an error.
 */
import { statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import type { RuleSource } from "../permission/decision.ts"
import { loadModule, loadRecipe } from "../recipe/load.ts"
import { checkPlugin } from "../registry.ts"
import { parseDocument, type SettingsDocument } from "../settings/document.ts"
import { readSettingsText } from "../settings/text-file.ts"
import type { Tool } from "../tool.ts"
import { type Finding, findingOf } from "./check-finding.ts"
import { describeKind, type FileKind, kindOf } from "./check-kind.ts"
import type { Host } from "./host.ts"

/** What a file came to. Its rules and hooks are looked at together with those of its project. */
export interface FileCheck {
  as: string
  findings: Finding[]
  rules: RuleSource[]
  hooks: HookSource[]
  variables: string[]
  /** The hooks are those of a plugin. */
  ofPlugin: boolean
  /** Absolute: the project whose settings it would be; left out where it lies in none. */
  project?: string
}

/** What files are held against. */
export interface FileGround {
  host: Pick<Host, "loadOptions">
  tools: readonly Tool[]
  /** Absolute: the folder of this person's settings. */
  user?: string | undefined
  /** What keeps code (its file) from being loaded. */
  whyNotLoaded?(file: string): Promise<Finding | undefined>
}

const NOTHING = { findings: [], rules: [], hooks: [], variables: [], ofPlugin: false }

/** Looks at one file or folder, absolute. */
export async function checkFile(file: string, ground: FileGround): Promise<FileCheck> {
  let as = "nothing that can be read"
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return await checkFolder(file)
    if (/\.[mc]?[jt]s$/.test(file)) {
      const fault = await ground.whyNotLoaded?.(file)
      return fault === undefined ? await checkCode(file, ground) : { ...NOTHING, as: "code", findings: [fault] }
    }
    const { text, document, fault } = await openFile(file)
    const kind = kindOf(file, document?.value, { user: ground.user })
    as = describeKind(kind)
    if (fault !== undefined && !mayBeRecipe(file, kind, fault)) return failed(fault, file, as)
    return { ...NOTHING, as, ...(await checkKind(file, { kind, text, document, ground })) }
  } catch (error) {
    return failed(error, file, as)
  }
}

/** A recipe's own reader says more of YAML that is broken, and of a file that is not there; what is no file nobody reads. */
function mayBeRecipe(file: string, { kind }: FileKind, fault: unknown): boolean {
  if (kind !== "recipe" || !isSousError(fault) || /\.(?:jsonc?|example)$/.test(file)) return false
  return fault.code === "SETTINGS_FILE_BROKEN" || (fault.details as { reason?: unknown }).reason === "ENOENT"
}

function failed(error: unknown, file: string, as: string): FileCheck {
  return { ...NOTHING, as, findings: [{ ...findingOf(error, file), file }] }
}

/** Its text; parsed, or why it cannot be. A recipe that is not there has names of its neighbours to offer. */
async function openFile(file: string): Promise<{ text: string; document?: SettingsDocument; fault?: unknown }> {
  const isYaml = /\.ya?ml$|(?:^|[\\/])sous\.lock$/.test(file)
  let text = ""
  try {
    text = readSettingsText(file)
    return { text, document: await parseDocument(isYaml ? "a.yaml" : "a.json", text) }
  } catch (fault) {
    return { text, fault: named(fault, file) }
  }
}

/** The same fault, about the file itself. */
function named(fault: unknown, file: string): unknown {
  if (!isSousError(fault) || fault.code !== "SETTINGS_FILE_BROKEN") return fault
  return new SousError("SETTINGS_FILE_BROKEN", { ...(fault.details as { problem: string }), file }, { cause: fault })
}

interface Opened {
  kind: FileKind
  text: string
  document: SettingsDocument | undefined
  ground: FileGround
}

async function checkKind(file: string, { kind, text, document, ground }: Opened): Promise<Partial<FileCheck>> {
  switch (kind.kind) {
    case "settings":
    case "hooks":
      return await checkSettings(file, { kind, text, ground })
    case "table":
      return await checkTable(file, text)
    case "recipe":
    case "code":
      return await checkRecipe(file, ground)
    case "pack":
      return await checkFolder(/plugin\.json$/.test(file) ? dirname(dirname(file)) : dirname(file))
    case "unknown": {
      const mend = "name it as what it is: settings.json, x.hooks.json, .mcp.json, sous.pack.yaml, x.permissions.yaml"
      return {
        findings: [{ level: "error", file, line: 1, column: 1, what: "", problem: "nothing tells what it is", mend }],
      }
    }
    case "lock":
      await (await import("../pack/lock.ts")).readLock(file)
      return {}
    default: {
      const { checkGoose, checkMcp, checkOpencode } = await import("./check-other.ts")
      const other = { file, document: document! }
      if (kind.kind === "mcp") return { findings: checkMcp(other) }
      return { findings: kind.kind === "opencode" ? checkOpencode(other, ground.tools) : checkGoose(other) }
    }
  }
}

async function checkSettings(
  file: string,
  { kind, text, ground }: { kind: Extract<FileKind, { kind: "settings" | "hooks" }>; text: string; ground: FileGround },
): Promise<Partial<FileCheck>> {
  const { checkSettingsFile } = await import("./check-settings.ts")
  const isSettings = kind.kind === "settings"
  const scope = isSettings ? kind.scope : "project"
  const isPlugin = !isSettings && kind.ofPlugin
  const { tools } = ground
  const found = await checkSettingsFile({ file, text, form: isSettings ? kind.form : "hooks", scope, isPlugin, tools })
  const project = projectOf(file)
  return {
    ...found,
    ofPlugin: isPlugin,
    ...(project === undefined ? {} : { project }),
  }
}

/** The folder that holds the `.sous` or `.claude` in which it lies, or in which a `.hooks.json` does. */
function projectOf(file: string): string | undefined {
  const folder = dirname(file)
  if (basename(file) === ".hooks.json") return folder
  return /^\.(?:sous|claude)$/.test(basename(folder)) ? dirname(folder) : undefined
}

async function checkTable(file: string, text: string): Promise<Partial<FileCheck>> {
  const { readTable } = await import("./table.ts")
  const groups = await readTable(file, text)
  const count = groups.reduce((sum, { cases }) => sum + cases.length, 0)
  return { as: `a permission table of ${count} case${count === 1 ? "" : "s"}; sous test holds it` }
}

async function checkRecipe(file: string, { host }: FileGround): Promise<Pick<FileCheck, "as">> {
  const { name, steps } = await loadRecipe(file, host.loadOptions())
  return { as: `recipe ${name}, ${steps.length} step${steps.length === 1 ? "" : "s"}` }
}

/** A recipe, a plugin or settings, by what it exports. */
async function checkCode(file: string, ground: FileGround): Promise<FileCheck> {
  const name = basename(file)
  if (/\.test\.[mc]?[jt]s$/.test(name)) return { ...NOTHING, as: "a test; sous test runs it" }
  if (/^settings(?:\.local)?\.[mc]?[jt]s$/.test(name)) return await checkSettingsCode(file, ground)
  try {
    return { ...NOTHING, ...(await checkRecipe(file, ground)) }
  } catch (error) {
    const exported = isSousError(error) && /^RECIPE_/.test(error.code) ? await exportOf(file, ground) : undefined
    if (!isPluginLike(exported)) return failed(error, file, "a recipe")
    const { name } = checkPlugin(exported as never, file)
    return { ...NOTHING, as: `plugin ${name}` }
  }
}

async function exportOf(file: string, { host }: FileGround): Promise<unknown> {
  return (await loadModule(file, host.loadOptions()).catch(() => undefined))?.default
}

const PLUGIN_KEYS = ["tools", "hooks", "permissions", "compaction", "models", "context", "agents", "setup"]

function isPluginLike(value: unknown): boolean {
  return typeof value === "object" && value !== null && !("steps" in value) && PLUGIN_KEYS.some((key) => key in value)
}

async function checkSettingsCode(file: string, ground: FileGround): Promise<FileCheck> {
  const [{ loadCode }, { checkSettingsFile }] = await Promise.all([
    import("../settings/code.ts"),
    import("./check-settings.ts"),
  ])
  const values = await loadCode(file, { load: (one) => loadModule(one, ground.host.loadOptions()) })
  const text = JSON.stringify(values)
  const scope = /\.local\./.test(basename(file)) ? "local" : "project"
  const found = await checkSettingsFile({ file: file.replace(/\.\w+$/, ".json"), text, form: "own", scope, tools: [] })
  const unplaced = <T extends { file?: string; line?: number; column?: number }>(one: T): T => ({
    ...one,
    file,
    line: 1,
    column: 1,
  })
  const project = projectOf(file)
  return {
    ...NOTHING,
    ...found,
    as: "settings that are code",
    findings: found.findings.map(unplaced),
    rules: found.rules.map(unplaced),
    hooks: found.hooks.map((hook) => ({ ...hook, origin: unplaced(hook.origin) })),
    ...(project === undefined ? {} : { project }),
  }
}

/** Of a pack: what is loaded does not lie in these. */
const BESIDE = /(?:^|\/)(?:node_modules|\.git)\/$/

/** A pack, of ours or of Claude Code. */
async function checkFolder(folder: string): Promise<FileCheck> {
  const [{ readTree }, { readPack }] = await Promise.all([import("../session/tree.ts"), import("../pack/content.ts")])
  const tree = await readTree(folder, () => true, { skip: (path) => BESIDE.test(path) })
  const { manifest, hooks } = await readPack(tree, folder)
  const { name, version, notes, unused, permissions, dialect } = manifest
  const file = join(folder, manifest.file)
  const place = { file, line: 1, column: 1 }
  const note = (what: string, problem: string): Finding => ({ level: "note", ...place, what, problem, mend: "" })
  return {
    as: `pack ${name} ${version}${dialect === undefined ? "" : ", a plugin of Claude Code"}`,
    findings: [
      ...[...notes, ...hooks.notes].map((text) => note("", text)),
      ...Object.entries(unused).map(([kind, list]) => note(`"${kind}"`, `nothing here uses ${list.join(", ")} yet`)),
    ],
    rules: (["deny", "ask", "allow"] as const).flatMap((behavior) =>
      permissions[behavior].map((text): RuleSource => ({ text, behavior, scope: "plugin", by: name, ...place })),
    ),
    hooks: hooks.drafts.map(({ source }) => ({ ...source, origin: { ...source.origin, ...place } })),
    variables: [],
    ofPlugin: true,
  }
}
