import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { unexpectedFile } from "../../core/hook-expect.ts"
import { folder } from "../harness.ts"

/** A project with scripts, and the question about a command that stands in one of its folders. */
function setUp(paths: string[]) {
  const root = folder()
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), path)
  }
  const hash = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex")
  const files = Object.fromEntries(paths.map((path) => [join(root, path), hash(join(root, path))]))
  const ask = (command: string, cwd = root) =>
    unexpectedFile({ type: "command", command }, { root, files }, { cwd, env: { CLAUDE_PROJECT_DIR: root } })
  return { root, ask }
}

describe("unexpectedFile()", () => {
  it("finds nothing while all files are as they were, and minds none outside of the project", async () => {
    const { ask } = setUp(["a.sh", "lib/b.sh"])
    expect(await ask("bash a.sh")).toBeUndefined()
    expect(await ask("/usr/bin/env true")).toBeUndefined()
    expect(await ask("bash ../other.sh")).toBeUndefined()
  })

  it("names a file that was changed, taken away or made something else, whatever the command", async () => {
    const { root, ask } = setUp(["a.sh", "lib/b.sh"])
    writeFileSync(join(root, "lib/b.sh"), "other")
    expect(await ask("bash a.sh")).toBe("lib/b.sh")
    rmSync(join(root, "lib/b.sh"))
    expect(await ask("npm test")).toBe("lib/b.sh")
    execFileSync("mkfifo", [join(root, "lib/b.sh")])
    expect(await ask("npm test")).toBe("lib/b.sh")
  })

  it("names a script of the project that nobody hashed: one that came later, or lies where the agent stands", async () => {
    const { root, ask } = setUp(["a.sh"])
    mkdirSync(join(root, "sub"))
    expect(await ask("bash a.sh", join(root, "sub"))).toBeUndefined()
    writeFileSync(join(root, "sub/a.sh"), "other")
    expect(await ask("bash a.sh", join(root, "sub"))).toBe("sub/a.sh")
  })
})
