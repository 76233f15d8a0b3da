import { mkdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { memoryPlace, pathsIn } from "./place.ts"

test("remind() tells a nested folder's memory once, when a file there is first touched, the outer folders first", async () => {
  const place = memoryPlace()
  place.put("project/CLAUDE.md", "root")
  place.put("project/packages/AGENTS.md", "packages")
  place.put("project/packages/api/CLAUDE.md", "api @notes.md @../../CLAUDE.md")
  place.put("project/packages/api/notes.md", "notes")
  place.put("project/packages/web/CLAUDE.md", "web")
  await place.start()
  const first = await place.touch("project/packages/api/src/a.ts")
  expect(first).toEqual([
    'Instructions for the files in "/project/packages":\n<memory-file path="/project/packages/AGENTS.md" scope="project">\npackages\n</memory-file>',
    'Instructions for the files in "/project/packages/api":\n<memory-file path="/project/packages/api/CLAUDE.md" scope="project">\napi @notes.md @../../CLAUDE.md\n</memory-file>',
    'Instructions that "/project/packages/api/CLAUDE.md" imports:\n<memory-file path="/project/packages/api/notes.md" scope="project" imported-by="/project/packages/api/CLAUDE.md">\nnotes\n</memory-file>',
  ])
  expect(await place.touch(["project/packages/api/src/b.ts", "project/packages/api/x.ts", "project/y.ts"])).toEqual([])
  expect(pathsIn((await place.touch("project/packages/web/index.ts")).join())).toEqual([
    "/project/packages/web/CLAUDE.md",
  ])
})

test("remind() tells nothing of folders that the conversation starts with, outside of the project, of packages or of git", async () => {
  const place = memoryPlace("project/packages/api")
  for (const folder of [
    "project",
    "project/packages",
    "project/packages/api",
    "outside",
    "project/node_modules/x",
    "project/.git/x",
    "",
  ])
    place.put(join(folder, "AGENTS.md"), folder)
  await place.start()
  const touched = ["project/a", "project/packages/b", "project/packages/api/c", "outside/d"]
  expect(await place.touch([...touched, "project/node_modules/x/e", "project/.git/x/f", "project", ""])).toEqual([])
})

test("remind() needs no start before it, as in a session that goes on", async () => {
  const place = memoryPlace()
  place.put("project/CLAUDE.md", "root")
  place.put("project/src/CLAUDE.md", "src @../CLAUDE.md")
  place.put("project/.claude/rules/ts.md", "---\npaths: '**/*.ts'\n---\nstrict")
  expect(pathsIn((await place.touch("project/src/a.ts")).join())).toEqual([
    "/project/src/CLAUDE.md",
    "/project/.claude/rules/ts.md",
  ])
})

test("remind() goes by what stands in the conversation, not by what this process has told before", async () => {
  const place = memoryPlace()
  place.put("project/src/CLAUDE.md", "src")
  expect(await place.touch("project/src/a.ts")).toHaveLength(1)
  const other = { notes: () => ({ get: () => undefined, set() {}, delete() {}, entries: () => [] }) }
  expect(await place.touch("project/src/a.ts", other)).toEqual([])
  expect(
    await place.touch("project/src/a.ts", { ...other, notes: () => other.notes(), told: () => false }),
  ).toHaveLength(1)
})

test("remind() tells a rule with paths when a file that fits is read or written", async () => {
  const place = memoryPlace()
  place.put(
    "project/.claude/rules/api.md",
    '---\npaths:\n  - "src/api/**/*.{ts,tsx}"\n  - "!src/api/old/**"\n---\n\n# Rule\n@more.md',
  )
  place.put("project/.claude/rules/more.md", "---\npaths: nothing\n---\nmore")
  place.put("project/.claude/rules/all.md", "---\ndescription: for all\n---\nall")
  place.put("home/.claude/rules/sql.md", "---\npaths: '*.sql, db/'\n---\nsql")
  const text = await place.start()
  expect(pathsIn(text)).toEqual(["/project/.claude/rules/all.md"])
  expect(text).not.toContain("description")
  expect(
    await place.touch(["project/src/api/a.js", "project/src/api/old/a.ts", "project/src/web/a.ts", "project/x/db/a"]),
  ).toEqual([])
  expect(await place.touch("project/src/api/deep/a.tsx")).toEqual([
    'Instructions for files like those that you touched:\n<memory-file path="/project/.claude/rules/api.md" scope="project" for="src/api/**/*.{ts,tsx}, !src/api/old/**">\n# Rule\n@more.md\n</memory-file>',
    expect.stringMatching(/^Instructions that ".*api.md" imports:\n.*\nmore\n/s),
  ])
  const written = { touched: [{ path: join(place.root, "project/db/a.txt"), access: "write" as const }] }
  expect(pathsIn((await place.touch([], written)).join())).toEqual(["/home/.claude/rules/sql.md"])
  expect(await place.touch(["project/src/api/deep/b.tsx", "project/a.sql"])).toEqual([])
  expect(place.warnings).toEqual([])
})

test("remind() tells nested rules: those without paths with their folder, the others from their folder on", async () => {
  const place = memoryPlace()
  place.put("project/api/.claude/rules/all.md", "all")
  place.put("project/api/.sous/rules/ts.md", "---\npaths: src/*.ts\n---\nts")
  await place.start()
  expect(pathsIn((await place.touch("project/api/read.me")).join())).toEqual(["/project/api/.claude/rules/all.md"])
  expect(await place.touch("project/src/a.ts")).toEqual([])
  expect(pathsIn((await place.touch("project/api/src/a.ts")).join())).toEqual(["/project/api/.sous/rules/ts.md"])
})

test("start() tells a rule whose front matter nobody understands, and warns of patterns that fit nothing", async () => {
  const place = memoryPlace()
  place.put("project/.sous/rules/broken.md", "---\npaths: [a\n---\nbroken")
  place.put("project/.sous/rules/odd.md", "---\npaths: { a: 1 }\n---\nodd")
  place.put("project/.sous/rules/open.md", "---\nno end")
  place.put("project/.sous/rules/set.md", "---\npaths: 'a[b'\n---\nset")
  expect(pathsIn(await place.start())).toEqual(
    ["broken", "odd", "open"].map((name) => `/project/.sous/rules/${name}.md`),
  )
  expect(place.warnings).toEqual([
    'The front matter of the rule "/project/.sous/rules/broken.md" is not understood: it is told in any case',
    'The front matter of the rule "/project/.sous/rules/odd.md" is not understood: it is told in any case',
    'The pattern "a[b" in the rule "/project/.sous/rules/set.md" fits nothing',
  ])
})

test.each([
  ["paths: a.ts", ["a.ts"]],
  ["paths: 'a.ts, {b,c}.ts' ", ["a.ts", "b.ts", "c.ts"]],
  ["paths: [a.ts, 'b.ts'] # both", ["a.ts", "b.ts"]],
  ['x: 1\npaths:\n- a.ts\n- "b.ts"\ny: [', ["a.ts", "b.ts"]],
  ["paths:\r\n  - a.ts\r\n  - 'b''s.ts'\r", ["a.ts", "b's.ts"]],
  ["paths: a.ts,\n  b.ts\nx: 1", ["a.ts", "b.ts"]],
  ["paths: \"a.ts\", 'b.ts'", ["a.ts", "b.ts"]],
  ["paths:\n  - a.ts\n\n  - b.ts\n", ["a.ts", "b.ts"]],
  ["paths: >-\n  a.ts,\n  b.ts", ["a.ts", "b.ts"]],
  ["{ paths: [a.ts] }", ["a.ts"]],
  ['paths:\n  - "\\u0061.ts" # a', ["a.ts"]],
])("remind() understands the front matter %j", async (head, fitting) => {
  const place = memoryPlace()
  place.put("project/.sous/rules/a.md", `---\n${head}\n---\na`)
  expect(await place.start()).toBe("")
  const told: string[] = []
  for (const name of ["a.ts", "b.ts", "c.ts", "b's.ts", "d.ts"])
    if ((await place.touch(`project/${name}`, { told: () => false })).length > 0) told.push(name)
  expect(told).toEqual(fitting)
  expect(place.warnings).toEqual([])
})

test.each(["paths:", "paths: null", "paths: ~", "paths: []", "x: paths"])(
  "start() tells a rule with %j",
  async (head) => {
    const place = memoryPlace()
    place.put("project/.sous/rules/a.md", `---\n${head}\n---\ntext`)
    expect(await place.start()).toContain("text")
    expect(place.warnings).toEqual([])
  },
)

test("start() takes globs in front matter that nobody has quoted", async () => {
  const place = memoryPlace()
  place.put("project/.sous/rules/a.md", "---\npaths: **/*.{ts,js}, 'x.md'\n---\na")
  place.put("project/.sous/rules/b.md", "---\nname: b\npaths:\n  - *.ts\n  - {x,y}/*.md\nother: 1\n---\nb")
  expect(await place.start()).toBe("")
  expect(pathsIn((await place.touch("project/a.ts")).join())).toEqual([
    "/project/.sous/rules/a.md",
    "/project/.sous/rules/b.md",
  ])
  expect(place.warnings).toEqual([])
})

test("remind() names a nested file that is too long instead of telling it", async () => {
  const place = memoryPlace()
  place.put("project/src/CLAUDE.md", "x".repeat(40_001))
  await place.start()
  const [text] = await place.touch("project/src/a.ts")
  expect(text).toContain("\n(40001 characters, which is too long to be shown: read the file where you need it)\n")
})

test("remind() passes by folders that are gone, files in the place of folders, and links that lead out", async () => {
  const place = memoryPlace()
  place.put("project/gone/a.ts", "")
  place.put("project/src/.claude", "a file")
  place.put("outside/CLAUDE.md", "secret")
  mkdirSync(join(place.root, "project/web"))
  symlinkSync("../../outside/CLAUDE.md", join(place.root, "project/web/CLAUDE.md"))
  await place.start()
  rmSync(join(place.root, "project/gone"), { recursive: true })
  expect(await place.touch(["project/gone/a.ts", "project/src/.claude/x", "project/src/a", "project/web/a"])).toEqual(
    [],
  )
  expect(place.warnings).toEqual([
    'The memory file "/project/web/CLAUDE.md" is left out: it leads out of the project, to "/outside/CLAUDE.md"',
  ])
})
