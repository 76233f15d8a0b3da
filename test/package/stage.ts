/**
 * A copy of what the package ships, freshly built from source into a folder of its own.
 *
 * Invariant: dist/ of the checkout is neither read nor written, so a stale build cannot pass and a test cannot race.
 */
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Stage {
  /** Absolute; holds package.json, dist/ and what else `files` names. */
  folder: string
  /** esbuild's account of the bundle: which inputs each output has. */
  metafile: { outputs: Record<string, { bytes: number; inputs: Record<string, unknown> }> }
  remove(): void
}

/**
 * A stage for a test that changes nothing in it: the files of one run of the suite share it, and whoever comes first
 * builds it.
 */
export function createStage(): Stage {
  const shared = process.env["SOUS_TEST_STAGE"]
  if (shared === undefined) return buildStage()
  const [folder, built] = [join(shared, "stage"), join(shared, "built.json")]
  if (isFirst(folder)) {
    const { metafile } = fillStage(folder)
    writeFileSync(`${built}.part`, JSON.stringify(metafile))
    renameSync(`${built}.part`, built)
  }
  for (const until = performance.now() + BUILD_MS; !existsSync(built); pause()) {
    if (performance.now() > until) throw new Error("nobody finished the build that the tests share")
  }
  return { folder, metafile: JSON.parse(readFileSync(built, "utf8")) as Stage["metafile"], remove: () => {} }
}

/** How long the build of somebody else is waited for, ms. */
const BUILD_MS = 50_000

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch {
    return false
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
}

/** A stage of one's own; takes seconds. `types`: with the declarations, as a published package has them. */
export function buildStage(options: { types?: "with" | "without" } = {}): Stage {
  const folder = mkdtempSync(join(tmpdir(), "sous-stage-"))
  return { ...fillStage(folder, options), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function fillStage(folder: string, options: { types?: "with" | "without" } = {}): Omit<Stage, "remove"> {
  const metafile = join(folder, "metafile.json")
  const flags = ["--metafile", metafile, ...(options.types === "with" ? [] : ["--no-types"])]
  execFileSync(process.execPath, [join(root, ".ci/build.mjs"), join(folder, "dist"), ...flags], { stdio: "pipe" })
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] }
  for (const name of ["package.json", "README.md", "LICENSE", ...files.filter((name) => name !== "dist")]) {
    if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return { folder, metafile: JSON.parse(readFileSync(metafile, "utf8")) as Stage["metafile"] }
}
