/**
 * What a repository makes git run: keys one by one, the files that they may stand in, and repositories as git makes them.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { createGitRuns } from "../../../core/git/runs.ts"
import { folder } from "../../harness.ts"
import { git, put, repository } from "./place.ts"

const runs = createGitRuns({ home: "/nowhere" })
let base: string
let project: string
beforeEach(() => {
  base = folder()
  project = join(base, "project")
})

describe("createGitRuns() finds nothing in", () => {
  it("no repository, and in a folder whose .git is none", () => {
    mkdirSync(join(project, ".git"), { recursive: true })
    expect([runs(base), runs(project)]).toEqual([undefined, undefined])
  })

  it.each([[], ["--bare"], ["--object-format=sha256"]])("a fresh repository (%s)", (...options) => {
    mkdirSync(project)
    git(project, "init", "-q", ...options)
    expect(runs(project)).toBeUndefined()
  })

  it("a clone, a working tree of it, its submodules, a sparse one, and a folder below", () => {
    repository(join(base, "other"))
    git(base, "clone", "-q", "other", "project")
    git(project, "submodule", "--quiet", "add", join(base, "other"), "lib/sub")
    git(project, "commit", "-qm", "sub")
    git(project, "worktree", "add", "-q", join(base, "tree"))
    git(base, "clone", "-q", "--sparse", "other", "sparse")
    git(base, "clone", "-q", "--recurse-submodules", "project", "deep")
    for (const name of ["project", "project/lib", "project/lib/sub", "tree", "sparse", "deep", "deep/lib/sub"])
      expect([name, runs(join(base, name))]).toEqual([name, undefined])
  })

  it("one with the settings and hooks of everyday work", () => {
    repository(project)
    put(base, "token", '[http "https://github.com/"]\n\textraheader = x\n')
    put(project, ".husky/_/pre-commit", "#!/bin/sh\n", 0o755)
    put(project, ".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    put(project, ".git/hooks/post-index-change", "#!/bin/sh\n", 0o644)
    const lines = [
      "user.email me@localhost",
      "core.autocrlf input",
      "core.fsmonitor true",
      "core.hooksPath .husky/_",
      "branch.main.vscode-merge-base origin/main",
      "pull.rebase true",
      "commit.gpgsign true",
      "alias.st status",
      "lfs.repositoryformatversion 0",
      "lfs.https://x.example.com/a.git/info/lfs.access basic",
      "submodule.x.update rebase",
      "url.git@localhost:.insteadOf https://localhost/",
      "blame.ignoreRevsFile .git-blame-ignore-revs",
      "diff.submodule log",
      `includeIf.gitdir:${project}/.git.path ${base}/token`,
      "include.path ../not-there",
    ]
    for (const line of lines) git(project, "config", ...line.split(" "))
    expect(runs(project)).toBeUndefined()
  })
})

/** `KEY VALUE`, each of which counts. */
const KEYS = [
  "core.fsmonitor ./evil",
  "core.hooksPath ~somebody/hooks",
  "core.pager ./evil",
  "core.editor ./evil",
  "core.askPass ./evil",
  "core.sshCommand ./evil",
  "core.gitProxy ./evil",
  "core.alternateRefsCommand ./evil",
  "core.worktree /",
  "pager.log ./evil",
  "sequence.editor ./evil",
  "interactive.diffFilter ./evil",
  "diff.external ./evil",
  "diff.x.textconv ./evil",
  "diff.x.command ./evil",
  "diff.submodule diff",
  "status.submoduleSummary true",
  "filter.x.clean ./evil",
  "filter.x.smudge ./evil",
  "filter.lfs.process git-lfs",
  "merge.x.driver ./evil",
  "difftool.x.cmd ./evil",
  "mergetool.x.cmd ./evil",
  "mergetool.x.path ./evil",
  "gpg.program ./evil",
  "gpg.ssh.program ./evil",
  "gpg.ssh.defaultKeyCommand ./evil",
  "credential.helper !./evil",
  "credential.https://localhost.helper ./evil",
  "alias.x !./evil",
  "alias.whatchanged difftool",
  "submodule.x.update !./evil",
  "uploadpack.packObjectsHook ./evil",
  "trailer.x.cmd ./evil",
  "trailer.x.command ./evil",
  "remote.origin.uploadpack ./evil",
  "remote.origin.receivepack ./evil",
  "remote.origin.vcs evil",
  "remote.origin.promisor true",
  "extensions.partialClone origin",
  "protocol.ext.allow always",
  "tar.x.command ./evil",
  "browser.x.cmd ./evil",
  "man.x.cmd ./evil",
  "hook.x.command ./evil",
  "gc.recentObjectsHook ./evil",
  "init.templateDir evil",
  "sendemail.smtpserver ./evil",
  "lfs.extension.x.clean ./evil",
  "lfs.customtransfer.x.path ./evil",
  "help.autocorrect immediate",
  "blame.ignoreRevsFile /etc/shadow",
  "unheard.of x",
]

describe("createGitRuns() names", () => {
  it.each(KEYS)("%s", (line) => {
    repository(project)
    const [key, ...value] = line.split(" ")
    git(project, "config", key!, value.join(" "))
    const found = runs(project)
    expect(found?.toLowerCase()).toBe(`"${key!.toLowerCase()}" in ".git/config"`)
    expect(runs(join(project))).toBe(found)
  })

  it.each([
    ["the working tree's own file", (cwd: string) => put(cwd, ".git/config.worktree", "[core]\nfsmonitor=./x\n")],
    [
      "what is included",
      (cwd: string) => {
        put(cwd, "more", "[core]\nfsmonitor=./x\n")
        git(cwd, "config", "include.path", "../more")
      },
    ],
    [
      "what is included under a condition",
      (cwd: string) => {
        put(cwd, "more", "[include]\npath=less\n")
        put(cwd, "less", "[core]\nfsmonitor=./x\n")
        git(cwd, "config", "includeIf.onbranch:x.path", "../more")
      },
    ],
    ["a hook", (cwd: string) => put(cwd, ".git/hooks/post-index-change", "", 0o755)],
    [
      "a hook elsewhere",
      (cwd: string) => {
        put(cwd, "evil/post-index-change", "", 0o755)
        git(cwd, "config", "core.hooksPath", "evil")
      },
    ],
    ["a file that includes itself", (cwd: string) => git(cwd, "config", "include.path", "config")],
    ["a text that is not understood", (cwd: string) => put(cwd, ".git/config", "[core")],
    [
      "a folder for a file",
      (cwd: string) => {
        rmSync(join(cwd, ".git/config"))
        mkdirSync(join(cwd, ".git/config"))
      },
    ],
    [
      "a link that leads out",
      (cwd: string) => {
        put(cwd, "../more", "[core]\nfsmonitor=./x\n")
        rmSync(join(cwd, ".git/config"))
        symlinkSync("../../more", join(cwd, ".git/config"))
      },
    ],
    ["an index that is not understood", (cwd: string) => put(cwd, ".git/index", "DIRC")],
  ] as [string, (cwd: string) => unknown][])("%s", (_, lay) => {
    repository(project)
    lay(project)
    expect(runs(project)).toMatch(
      /^(?:"core\.fsmonitor" in "(?:\.git\/)?\w[\w.]*"|"core\.fsmonitor" in "more"|the hook ".*post-index-change"|"\.git\/\w+", which cannot be read)$/,
    )
  })

  it.each([[[]], [["--object-format=sha256"]]])("a repository in the index, in every form of that (%s)", (options) => {
    repository(project, options)
    repository(join(project, "in/ner"), options)
    git(project, "add", "in/ner")
    git(join(project, "in/ner"), "config", "core.fsmonitor", "./x")
    const forms = [["--index-version", "2"], ["--index-version", "4"], ["--split-index"]]
    for (const form of forms) {
      git(project, "update-index", "--force-write-index", ...form)
      put(project, "b.txt", form.join())
      git(project, "add", "b.txt")
      expect([form, runs(project)]).toEqual([form, '"core.fsmonitor" in "in/ner/.git/config"'])
    }
  })

  it("a repository around the folder, one without working tree, and one that a file leads to", () => {
    repository(project)
    mkdirSync(join(project, "sub/deep"), { recursive: true })
    git(project, "config", "core.pager", "x")
    expect(runs(join(project, "sub/deep"))).toBe(
      `"core.pager" in "a file of the repository"`.replace("a file of the repository", `${project}/.git/config`),
    )
    renameSync(join(project, ".git"), join(base, "moved"))
    expect(runs(join(base, "moved"))).toBe('"core.pager" in "config"')
    put(project, ".git", "gitdir: ../moved\n")
    expect(runs(project)).toBe(`"core.pager" in "${base}/moved/config"`)
    rmSync(join(project, ".git"))
    expect(runs(project)).toBeUndefined()
    expect(createGitRuns({ home: "/", gitDir: "../moved" })(project)).toContain("core.pager")
  })

  it("an outer repository where the inner one is none for git", () => {
    repository(project)
    git(project, "config", "core.pager", "x")
    const inner = repository(join(project, "inner"))
    expect(runs(inner)).toBeUndefined()
    const head = join(inner, ".git/HEAD")
    renameSync(head, `${head}-2`)
    symlinkSync("HEAD-2", head)
    expect(git(inner, "rev-parse", "--show-toplevel").trim()).toBe(project)
    expect(runs(inner)).toContain("core.pager")
  })

  it("what the system finds where a path goes up from a link, or holds bytes that are no text", () => {
    repository(project)
    git(project, "config", "core.pager", "x")
    renameSync(join(project, ".git"), join(base, "evil"))
    mkdirSync(join(base, "deep"))
    symlinkSync(join(base, "deep"), join(project, "link"))
    put(project, ".git", "gitdir: link/../evil\n")
    expect(runs(project)).toContain("core.pager")
    renameSync(join(base, "evil"), Buffer.concat([Buffer.from(`${base}/evil`), Buffer.from([255])]))
    writeFileSync(join(project, ".git"), Buffer.concat([Buffer.from("gitdir: ../evil"), Buffer.from([255])]))
    expect(git(project, "config", "core.pager")).toBe("x\n")
    expect(runs(project)).toBe("a path that cannot be read")
  })

  it("a folder outside of a sparse tree that is there all the same", () => {
    repository(project)
    for (const name of ["in", "out"]) put(project, `${name}/a.txt`, "x\n")
    git(project, "add", "in", "out")
    git(project, "commit", "-qm", "two")
    git(project, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    expect(git(project, "ls-files", "--sparse")).toContain("out/\n")
    expect(runs(project)).toBeUndefined()
    mkdirSync(join(project, "out"))
    expect(runs(project)).toBe('".git/index", which cannot be read')
  })

  it("nothing that a repository could say something with", () => {
    repository(project)
    writeFileSync(join(project, ".git/config"), '[filter "x\\" is fine, allow it"]\n\tclean = y\n')
    expect(runs(project)).toBe('"filter.*.clean" in ".git/config"')
  })

  it("what has changed since it looked", () => {
    repository(project)
    expect(runs(project)).toBeUndefined()
    const file = join(project, ".git/config")
    const before = readFileSync(file, "utf8")
    writeFileSync(file, `${before}[core]\n\tpager = x\n`)
    expect(runs(project)).toBeDefined()
    writeFileSync(file, before)
    expect(runs(project)).toBeUndefined()
    put(project, ".git/hooks/post-index-change", "", 0o644)
    expect(runs(project)).toBeUndefined()
    chmodSync(join(project, ".git/hooks/post-index-change"), 0o755)
    expect(runs(project)).toBeDefined()
  })
})
