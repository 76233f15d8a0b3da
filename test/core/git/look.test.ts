/**
 * A repository that makes git run its own programs, and an agent that only looks at it: in a run with nobody to ask
 * nothing of them runs, and the refusal says what would have. The same look of git itself runs them.
 */
import { existsSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join } from "node:path"
import type { PromptOptions } from "sous"
import { describe, expect, it } from "vitest"
import { folder, lastResults, runPrompt, serve, testKit } from "../../harness.ts"
import { git, put, repository } from "./place.ts"

interface Look {
  name: string
  command: string
  /** Lays it out; `script` leaves the mark. */
  lay(project: string, script: string): void
  says: string
}

const attributes = (project: string, text: string) => put(project, ".gitattributes", text)
const set = (key: string) => (project: string, script: string) => void git(project, "config", key, script)

const LOOKS: readonly Look[] = [
  {
    name: "core.fsmonitor",
    command: "git status",
    lay: set("core.fsmonitor"),
    says: '"core.fsmonitor" in ".git/config"',
  },
  {
    name: "core.hooksPath",
    command: "git status --short",
    lay(project, script) {
      put(project, "evil/post-index-change", readFileSync(script, "utf8"), 0o755)
      git(project, "config", "core.hooksPath", "evil")
    },
    says: 'the hook "evil/post-index-change"',
  },
  {
    name: "a hook",
    command: "git status -b",
    lay: (project, script) => put(project, ".git/hooks/post-index-change", readFileSync(script, "utf8"), 0o755),
    says: 'the hook ".git/hooks/post-index-change"',
  },
  { name: "diff.external", command: "git diff", lay: set("diff.external"), says: '"diff.external" in' },
  {
    name: "diff.x.command",
    command: "git diff HEAD",
    lay(project, script) {
      attributes(project, "*.txt diff=x\n")
      git(project, "config", "diff.x.command", script)
    },
    says: '"diff.x.command" in',
  },
  {
    name: "diff.x.textconv",
    command: "git log -p",
    lay(project, script) {
      attributes(project, "*.txt diff=x\n")
      git(project, "config", "diff.x.textconv", script)
    },
    says: '"diff.x.textconv" in',
  },
  {
    name: "filter.x.clean",
    command: "git diff --name-only",
    lay(project, script) {
      attributes(project, "*.txt filter=x\n")
      git(project, "config", "filter.x.clean", script)
    },
    says: '"filter.x.clean" in',
  },
  {
    name: "filter.x.process",
    command: "git diff --numstat",
    lay(project, script) {
      attributes(project, "*.txt filter=x\n")
      git(project, "config", "filter.x.process", script)
    },
    says: '"filter.x.process" in',
  },
  {
    name: "gpg.program",
    command: "git log --oneline",
    lay(project, script) {
      const signed = git(project, "cat-file", "commit", "HEAD").replace(
        /\n\n/,
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n",
      )
      const file = put(project, ".git/signed", signed)
      git(project, "reset", "-q", "--soft", git(project, "hash-object", "-t", "commit", "-w", file).trim())
      git(project, "config", "log.showSignature", "true")
      git(project, "config", "gpg.program", script)
    },
    says: '"gpg.program" in',
  },
  {
    name: "include.path",
    command: "git status",
    lay(project, script) {
      put(project, "more.ini", `[core]\n\tfsmonitor = "${script}"\n`)
      git(project, "config", "include.path", "../more.ini")
    },
    says: '"core.fsmonitor" in "more.ini"',
  },
  {
    name: "includeIf",
    command: "git status",
    lay(project, script) {
      put(project, ".git/more", `[core]\n\tfsmonitor = "${script}"\n`)
      git(project, "config", "includeIf.onbranch:**.path", "more")
    },
    says: '"core.fsmonitor" in ".git/more"',
  },
  {
    name: "config.worktree",
    command: "git status",
    lay(project, script) {
      git(project, "config", "extensions.worktreeConfig", "true")
      git(project, "config", "--worktree", "core.fsmonitor", script)
    },
    says: '"core.fsmonitor" in ".git/config.worktree"',
  },
  {
    name: "a submodule",
    command: "git status",
    lay(project, script) {
      const inner = repository(join(project, "lib"))
      git(project, "add", "lib")
      git(inner, "config", "core.fsmonitor", script)
    },
    says: '"core.fsmonitor" in "lib/.git/config"',
  },
]

/** A repository with the look laid out, and the mark that whatever it runs leaves. */
function layOut({ lay }: Look): { project: string; mark: string } {
  const base = folder()
  const mark = join(base, "mark")
  const script = put(base, "evil.sh", `#!/bin/sh\ntouch '${mark}'\ncat 2>/dev/null\n`, 0o755)
  const project = repository(join(base, "project"))
  lay(project, script)
  rmSync(mark, { force: true })
  // Something to compare, and an index that is worth writing anew.
  utimesSync(join(project, "same.txt"), 1, 1)
  return { project, mark }
}

async function look({ command }: Look, project: string, options: PromptOptions = {}) {
  const { bodies, events } = await runPrompt([{ tool: { Bash: { command } } }, { text: "done" }], {
    cwd: project,
    ...options,
  })
  const decided = events.flatMap((event) => (event.type === "permission" ? [event.decision] : []))
  return { decision: decided.at(-1)!, result: lastResults(bodies.at(-1))[0]! }
}

describe("a look at a repository that runs something of its own", () => {
  it.each(LOOKS)("is denied where nobody can answer: $name", async (one) => {
    const { project, mark } = layOut(one)
    const { decision, result } = await look(one, project)
    expect(decision).toMatchObject({ behavior: "deny", source: "approval" })
    expect(decision.reason).toContain(`git may run a program there that the repository names (${one.says}`)
    expect(decision.mend).toContain(`add the rule "Bash(${one.command})"`)
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining(one.says) })
    expect(existsSync(mark)).toBe(false)
    try {
      git(project, ...one.command.split(" ").slice(1))
    } catch {}
    expect(existsSync(mark)).toBe(true)
  })

  const [first] = LOOKS as [Look]

  it.each(["plan", "dontAsk", "auto", "acceptEdits"] as const)("does not pass in the mode %s", async (mode) => {
    const { project, mark } = layOut(first)
    const { decision } = await look(first, project, { mode })
    expect(decision.behavior).toBe("deny")
    expect(decision.reason).toContain(first.says)
    expect(existsSync(mark)).toBe(false)
  })

  it.each(["git status | head -3", "timeout 9 git status", "echo x && git status"])(
    "is none within %j",
    async (command) => {
      const { project, mark } = layOut(first)
      const { decision } = await look({ ...first, command }, project)
      expect(decision).toMatchObject({ behavior: "deny", reason: expect.stringContaining(first.says) })
      expect(existsSync(mark)).toBe(false)
    },
  )

  it("passes by a rule, and by an answer to the question", async () => {
    const rule = { text: "Bash(git status)", behavior: "allow", scope: "cli" } as const
    const one = layOut(first)
    expect((await look(first, one.project, { rules: [rule] })).decision).toMatchObject({ behavior: "allow", rule })
    expect(existsSync(one.mark)).toBe(true)
    const other = layOut(first)
    const asked: string[] = []
    await look(first, other.project, {
      ask: async ({ decision, suggestions }) => {
        asked.push(decision.reason, ...suggestions)
        return { behavior: "allow" }
      },
    })
    expect(asked).toEqual([expect.stringContaining(first.says), "Bash(git status)"])
    expect(existsSync(other.mark)).toBe(true)
  })

  it("is not named where a rule lets it pass, and something else does not", async () => {
    const { project } = layOut(first)
    const rules = [{ text: "Bash(git status)", behavior: "allow", scope: "cli" } as const]
    const { decision } = await look({ ...first, command: "make; git status" }, project, { rules })
    expect(decision).toMatchObject({ behavior: "deny", reason: expect.not.stringContaining("git may run") })
  })

  it("is what kit.explain() says too", async () => {
    const { project } = layOut(first)
    const kit = await testKit(await serve([]), { cwd: project })
    const { decision } = await kit.explain({ tool: "Bash", input: { command: "git status" } })
    expect(decision).toMatchObject({ behavior: "ask", reason: expect.stringContaining(first.says) })
  })
})

it("a look at a repository that runs nothing of its own passes", async () => {
  const project = repository(join(folder(), "project"))
  for (const { command } of LOOKS) {
    const { decision, result } = await look({ command } as Look, project)
    expect(decision).toMatchObject({ behavior: "allow", source: "classifier" })
    expect(result.isError).toBe(false)
  }
})
