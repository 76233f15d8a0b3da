import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { memoryPlace, pathsIn } from "./place.ts"

test("start() tells what a file imports behind it, from where the importing file lies, and who imports it", async () => {
  const place = memoryPlace()
  place.put("project/CLAUDE.md", "See @docs/a.md, and (not this) x@docs/never.md")
  place.put("project/AGENTS.md", "last")
  place.put("project/docs/a.md", "A @./b\\ c.md @../d.md#part")
  place.put("project/docs/b c.md", "B")
  place.put("project/d.md", "D")
  place.put("project/docs/never.md", "never")
  const text = await place.start()
  expect(pathsIn(text)).toEqual([
    "/project/CLAUDE.md",
    "/project/docs/a.md",
    "/project/docs/b c.md",
    "/project/d.md",
    "/project/AGENTS.md",
  ])
  expect(text).toContain('path="/project/docs/a.md" scope="project" imported-by="/project/CLAUDE.md">')
  expect(place.warnings).toEqual([])
})

test("start() follows imports four deep and ignores cycles", async () => {
  const place = memoryPlace()
  place.put("project/CLAUDE.md", "@1.md")
  for (const n of [1, 2, 3, 4, 5]) place.put(`project/${n}.md`, `@${n + 1}.md @CLAUDE.md @${n}.md`)
  expect(pathsIn(await place.start())).toEqual(["CLAUDE", 1, 2, 3, 4].map((name) => `/project/${name}.md`))
  expect(place.warnings).toEqual(['What "/project/4.md" imports is left out: it is 4 imports deep itself'])
})

test("start() lets no import lead a file of the project out of it", async () => {
  const place = memoryPlace("project/packages/api")
  place.put("outside/secret.md", "secret")
  place.put("home/.ssh/key", "secret")
  place.put("project/shared.md", "shared")
  symlinkSync("../outside", join(place.root, "project/way"))
  mkdirSync(join(place.root, "project/deep"))
  symlinkSync(join(place.root, "home"), join(place.root, "project/deep/home"))
  const outs = ["../../../outside/secret.md", "~/.ssh/key", "../../way/secret.md", "../../deep/home/.ssh/key"]
  place.put(
    "project/packages/api/CLAUDE.md",
    `@../../shared.md @${place.root}/outside ${outs.map((out) => `@${out}`).join(" ")}`,
  )
  const text = await place.start()
  expect(text).toContain("shared")
  expect(text).not.toContain(">\nsecret")
  expect(pathsIn(text)).toEqual(["/project/packages/api/CLAUDE.md", "/project/shared.md"])
  expect(place.warnings).toHaveLength(5)
  expect(place.warnings.at(-2)).toBe(
    'The import "/project/way/secret.md" of "/project/packages/api/CLAUDE.md" is left out: it lies outside of the trusted folders, for it leads to "/outside/secret.md"',
  )
})

test("start() reads imports of a project in its further folders, and those of the person in the home folder", async () => {
  const place = memoryPlace()
  place.put("outside/more.md", "more")
  place.put("home/notes.md", "notes")
  place.put("home/.claude/CLAUDE.md", `@~/notes.md @${place.root}/project/own.md @../../etc/passwd.md @/etc/hosts`)
  place.put("etc/passwd.md", "secret")
  place.put("project/own.md", "own")
  place.put("project/CLAUDE.md", "@../outside/more.md")
  const roots = [join(place.root, "project"), join(place.root, "outside")]
  expect(pathsIn(await place.start({ roots }))).toEqual([
    "/home/.claude/CLAUDE.md",
    "/home/notes.md",
    "/project/own.md",
    "/project/CLAUDE.md",
    "/outside/more.md",
  ])
  expect(place.warnings.map((warning) => warning.split(" is left out")[0])).toEqual([
    'The import "/etc/passwd.md" of "/home/.claude/CLAUDE.md"',
    'The import "/etc/hosts" of "/home/.claude/CLAUDE.md"',
  ])
})

test("start() warns of a missing file that was surely meant as one, and of no name of a person or package", async () => {
  const place = memoryPlace()
  mkdirSync(join(place.root, "project/types"))
  place.put("project/CLAUDE.md", "@alice @types @scope/package @gone.md")
  expect(pathsIn(await place.start())).toEqual(["/project/CLAUDE.md"])
  expect(place.warnings).toEqual([
    'The import "/project/gone.md" of "/project/CLAUDE.md" is left out: there is no such file',
  ])
})

test("start() takes the first 200 imports of a file", async () => {
  const place = memoryPlace()
  for (let n = 0; n < 203; n++) place.put(`project/docs/${n}.md`, `${n}`)
  place.put("project/CLAUDE.md", Array.from({ length: 203 }, (_, n) => `@docs/${n}.md`).join("\n"))
  expect(pathsIn(await place.start())).toHaveLength(201)
  expect(place.warnings).toEqual(['"/project/CLAUDE.md" names 203 imports; those after the first 200 are left out'])
})
