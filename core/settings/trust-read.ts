/**
 * A project and what was read of its settings → the tree of all that counts for trust, with the modules and packages that
 * its code reaches.
 *
 * Invariant: each file is read once; reading always ends, and reads no more than a tree may hold.
 */
import { statSync } from "node:fs"
import { join, posix } from "node:path"
import { readTree, type Tree, type TreeFile, treeFile, treeOf } from "../session/tree.ts"
import { commandsIn, isBeside, TRUST_INPUTS, type TrustFound, type TrustSubject } from "./trust-inputs.ts"
import {
  candidatesOf,
  dependenciesOf,
  isPackageName,
  literalsIn,
  loadingPartOf,
  MODULE_ENDING,
  packageFoldersOf,
  reachOf,
  runScriptsOf,
} from "./trust-module.ts"
import { inTree, realInTree } from "./trust-path.ts"
import { filesInWords, pythonFiles } from "./trust-word.ts"

/** All that counts. */
export interface TrustTree {
  tree: Tree
  /** Something of it runs in this process. */
  isLoaded: boolean
  /** Which modules of the project each of them imports; paths in the tree, packages left out. */
  reaches: ReadonlyMap<string, readonly string[]>
}

/** Reads all that counts. Throws TREE_… errors. */
export async function readTrustTree(subject: TrustSubject): Promise<TrustTree> {
  const { root } = subject
  const reading: Reading = {
    root,
    files: new Map(),
    links: new Map(),
    bytes: 0,
    reaches: new Map(),
    packages: new Set(),
  }
  let isLoaded = false
  for (const input of TRUST_INPUTS) {
    const isThere = await addFound(await input.find(subject), reading)
    if (input.isLoaded && isThere) isLoaded = true
  }
  await addLiterals(subject, reading)
  await addManifests(reading)
  await addRunScripts(subject, reading)
  return { tree: treeOf(reading.files, reading.links), isLoaded, reaches: reading.reaches }
}

/** What settings that are code name is known once they ran: every text in them counts that could name something. */
async function addLiterals({ code, root, home }: TrustSubject, reading: Reading): Promise<void> {
  const texts = code.flatMap((file) => {
    const text = reading.files.get(inTree(file, root) ?? "")?.bytes.toString()
    return text === undefined ? [] : literalsIn(text)
  })
  if (texts.length === 0) return
  const { scriptsOf } = await import("./trust-script.ts")
  const scripts = texts.map((command) => scriptsOf({ type: "command", command }, { root, home }))
  const paths = texts.flatMap((text) => candidatesOf(text, "_").filter((path) => isFile(path, reading)))
  const files = [...(await Promise.all(scripts)).flat(), ...paths.map((path) => join(root, path))]
  await addFound({ paths: files, packages: texts.filter(isPackageName).map((name) => ({ name, base: root })) }, reading)
}

interface Reading {
  root: string
  files: Map<string, TreeFile>
  links: Map<string, string>
  bytes: number
  reaches: Map<string, readonly string[]>
  /** Folders of packages that were read, or are about to be. */
  packages: Set<string>
}

/** True when something was there. */
async function addFound({ paths = [], packages = [] }: TrustFound, reading: Reading): Promise<boolean> {
  const { root } = reading
  const wanted = paths.flatMap((path) => inTree(path, root) ?? [])
  for (const { name, base } of packages) wanted.push(...packageOf(name, `${inTree(base, root) ?? "."}/_`, reading))
  return await addPaths(wanted, reading)
}

/** Reads files and folders, then what these import, and so on. True when something was there. */
async function addPaths(paths: readonly string[], reading: Reading): Promise<boolean> {
  let isThere = false
  for (let waiting = paths; waiting.length > 0; ) {
    const wanted = waiting.filter((path) => !reading.files.has(path))
    if (wanted.length < waiting.length) isThere = true
    waiting = []
    if (wanted.length === 0) break
    const tree = await readTree(reading.root, wanted, { ...roomLeft(reading), skip: isBeside })
    if (tree.files.size > 0) isThere = true
    for (const [link, target] of tree.links) reading.links.set(link, target)
    const fresh = [...tree.files].filter(([path]) => !reading.files.has(path))
    for (const [path, file] of fresh) {
      reading.files.set(path, file)
      reading.bytes += file.bytes.length
    }
    waiting = fresh.flatMap(([path, file]) => reachedFrom(path, file, reading))
  }
  return isThere
}

const MOST = { files: 20_000, bytes: 128 * 2 ** 20 }

function roomLeft({ files, bytes }: Reading) {
  return { files: MOST.files - files.size, bytes: MOST.bytes - bytes }
}

/** What has to be read for the sake of one file. */
function reachedFrom(path: string, { bytes }: TreeFile, reading: Reading): string[] {
  if (posix.basename(path) === "package.json" && isInPackage(path, reading)) {
    return dependenciesOf(bytes.toString()).flatMap((name) => packageOf(name, path, reading))
  }
  // Packages come whole.
  if (/(?:^|\/)node_modules\//.test(path)) return []
  if (!MODULE_ENDING.test(path)) return startedBy(path, bytes, reading)
  const { paths, packages } = reachOf(bytes.toString())
  const beside = paths.flatMap((one) => candidatesOf(one, path)).filter((one) => isFile(one, reading))
  const modules = beside.flatMap((one) => realInTree(one, reading.root) ?? [])
  reading.reaches.set(path, modules)
  return [...beside, ...packages.flatMap((name) => packageOf(name, path, reading))]
}

/** What a script starts or reads in: by the words in it, for what is code by its name or its first line. */
function startedBy(path: string, bytes: Buffer, reading: Reading): string[] {
  const { root } = reading
  if (!/\.(?:\w*sh|py|rb|pl|php|lua)$/.test(path) && !/^#!/.test(bytes.toString("latin1", 0, 2))) return []
  const place = { root, base: join(root, posix.dirname(path)) }
  const text = bytes.toString()
  const isPython = path.endsWith(".py") || /^#!.*python/.test(text)
  const files = isPython ? [...pythonFiles(text, place), ...filesInWords(text, place)] : filesInWords(text, place)
  const paths = files.flatMap((file) => inTree(file, root) ?? []).filter((one) => one !== path)
  reading.reaches.set(path, [...new Set(paths.flatMap((one) => realInTree(one, root) ?? []))])
  return paths
}

function isInPackage(path: string, { packages }: Reading): boolean {
  return packages.has(posix.dirname(path))
}

function isFile(path: string, { root }: Reading): boolean {
  try {
    return statSync(join(root, path)).isFile()
  } catch {
    return false
  }
}

/** The folder of a package, when it lies in the project and was not read yet. */
function packageOf(name: string, from: string, reading: Reading): string[] {
  for (const folder of packageFoldersOf(name, from)) {
    const real = realInTree(folder, reading.root)
    if (real === undefined) continue
    const isKnown = reading.packages.has(real)
    reading.packages.add(real)
    // A second link to it counts, and reads nothing again.
    return isKnown && reading.links.has(folder) ? [] : [isKnown ? `${folder}/package.json` : folder]
  }
  return []
}

/** What the files beside code say about how it is loaded: that part of each package.json which does. */
async function addManifests(reading: Reading): Promise<void> {
  const folders = new Set<string>()
  for (const path of reading.files.keys()) {
    if (!MODULE_ENDING.test(path) || path.includes("node_modules/")) continue
    for (let folder = posix.dirname(path); !folders.has(folder); folder = posix.dirname(folder)) folders.add(folder)
  }
  const paths = [...folders].map((folder) => posix.join(folder, "package.json"))
  const wanted = paths.filter((path) => !reading.files.has(path) && isFile(path, reading))
  const { files, links } = await readTree(reading.root, wanted, roomLeft(reading))
  for (const [link, target] of links) reading.links.set(link, target)
  for (const [path, { bytes }] of files) {
    if (!reading.files.has(path)) reading.files.set(path, treeFile(Buffer.from(loadingPartOf(bytes.toString()))))
  }
}

/** Hooks that run scripts of package.json: these scripts count, with what they start; what else stands there does not. */
async function addRunScripts({ hooks, home }: TrustSubject, reading: Reading): Promise<void> {
  const { root } = reading
  const commands = hooks.flatMap(({ hooks: events }) => commandsIn(events))
  const texts = commands.map(({ command, args = [] }) => [command, ...args].join(" "))
  if (!texts.some((text) => PACKAGE_RUNNER.test(text)) || !isFile("package.json", reading)) return
  const { files } = await readTree(root, ["package.json"], roomLeft(reading))
  const manifest = files.get("package.json")?.bytes.toString() ?? ""
  const scripts = runScriptsOf(manifest, texts)
  if (scripts.length === 0) return
  const { scriptsOf } = await import("./trust-script.ts")
  const found = scripts.map(([, command]) => scriptsOf({ type: "command", command }, { root, home }))
  await addFound({ paths: (await Promise.all(found)).flat() }, reading)
  if (reading.files.get("package.json")?.bytes.equals(files.get("package.json")!.bytes)) return
  const part = `${loadingPartOf(manifest)}\n${JSON.stringify(scripts)}`
  reading.files.set("package.json", treeFile(Buffer.from(part)))
}

const PACKAGE_RUNNER = /(?:^|[\s;|&("'/])(?:npm|pnpm|yarn|bun)\s/
