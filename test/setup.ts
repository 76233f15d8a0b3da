/**
 * Around the whole suite: a folder for the one build that its files share, made by whoever needs it first.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Vitest calls it once; what it returns is called at the end. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "sous-stages-"))
  process.env["SOUS_TEST_STAGE"] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
