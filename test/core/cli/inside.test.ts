import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { refuseInside } from "../../../core/cli/inside.ts"
import { folder } from "../../harness.ts"

/** A table of processes: each with its parent, its environment, and a name that is hard to read. */
function processes(rows: Record<string, { parent: string; environ?: string }>): string {
  const proc = folder()
  for (const [id, { parent, environ }] of Object.entries(rows)) {
    mkdirSync(join(proc, id))
    writeFileSync(join(proc, id, "stat"), `${id} (a) S 0 (b) S ${parent} 1 1`)
    if (environ !== undefined) writeFileSync(join(proc, id, "environ"), environ)
  }
  return proc
}

const refusal = expect.objectContaining({ code: "CLI_INSIDE_RUN", details: { command: "trust" } })

describe("refuseInside()", () => {
  it("refuses with the mark of a run in the environment", () => {
    expect(() => refuseInside({ env: { SOUS_SESSION_ID: "s" } }, "trust", folder())).toThrow(refusal)
  })

  it("refuses where a process above has it, past those that may not be looked at", () => {
    const proc = processes({
      self: { parent: "9", environ: "PATH=/bin\0" },
      9: { parent: "8" },
      8: { parent: "1", environ: "A=1\0SOUS_SESSION_ID=s\0" },
    })
    expect(() => refuseInside({ env: {} }, "trust", proc)).toThrow(refusal)
  })

  it("lets a person through, also where nothing is known of other processes or they go round", () => {
    const person = processes({
      self: { parent: "9", environ: "NOT_SOUS_SESSION_ID=s\0A=SOUS_SESSION_ID=s\0" },
      9: { parent: "0", environ: "" },
    })
    refuseInside({ env: {} }, "trust", person)
    refuseInside({ env: {} }, "trust", join(person, "none"))
    refuseInside({ env: {} }, "trust", processes({ self: { parent: "9" }, 9: { parent: "9" } }))
  })

  it.skipIf(process.platform !== "linux")("sees through a variable that was taken away", () => {
    const file = new URL("../../../core/cli/inside.ts", import.meta.url).pathname
    const script = `import("${file}").then(({ refuseInside }) => refuseInside(process, "trust"))`
    const node = ["--import", "tsx", "-e", script]
    const text = `env -u SOUS_SESSION_ID "$@"; true`
    const run = (env: Record<string, string>) =>
      spawnSync("sh", ["-c", text, "sh", process.execPath, ...node], {
        encoding: "utf8",
        env: { ...process.env, ...env },
      })
    expect(run({ SOUS_SESSION_ID: "s" }).stderr).toContain("CLI_INSIDE_RUN")
    expect(run({}).stderr).toBe("")
  })
})
