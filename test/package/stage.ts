/**
 * A copy of what the package ships, freshly built from source into a folder of its own.
 *
 * Invariant: dist/ of the checkout is neither read nor written, so a stale build cannot pass and a test cannot race.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
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

/** Builds the stage; takes seconds. `types`: with the declarations, as a published package has them. */
export function createStage(options: { types?: "with" | "without" } = {}): Stage {
  const folder = mkdtempSync(join(tmpdir(), "sous-stage-"))
  const metafile = join(folder, "metafile.json")
  const flags = ["--metafile", metafile, ...(options.types === "with" ? [] : ["--no-types"])]
  execFileSync(process.execPath, [join(root, ".ci/build.mjs"), join(folder, "dist"), ...flags], { stdio: "pipe" })
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] }
  for (const name of ["package.json", "README.md", "LICENSE", ...files.filter((name) => name !== "dist")]) {
    if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return {
    folder,
    metafile: JSON.parse(readFileSync(metafile, "utf8")) as Stage["metafile"],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
