import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import { definePlugin, defineTool, z } from "sous"
import { describe, expect, it } from "vitest"
import { checkpointPlace, createCheckpointStore } from "../../../core/session/checkpoint.ts"
import { readBytes } from "../../../core/session/checkpoint-content.ts"
import { readLog } from "../../../core/session/checkpoint-log.ts"
import { folder, lastResults, runPrompt } from "../../harness.ts"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
const CALL = { toolUseId: "toolu_1", tool: "Write", turn: 1 }

function store() {
  const own = join(folder(), "s1")
  const place = checkpointPlace(own)
  const records = () =>
    readFileSync(place.log, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
  return { own, place, records, checkpoint: createCheckpointStore(own, { now: () => 0 }), tree: folder() }
}

describe("createCheckpointStore()", () => {
  it("has content and line on the disk before the call, and notes what the call left", async () => {
    const { place, records, checkpoint, tree } = store()
    const [file, made] = [join(tree, "a"), join(tree, "new/deep/b")]
    writeFileSync(file, "old\r\n", { mode: 0o640 })
    const done = await checkpoint.before(CALL, [file, made])
    const old = { kind: "file", mode: 0o640, size: 5, hash: sha256("old\r\n") }
    const none = { kind: "none" }
    expect(gunzipSync(readFileSync(join(place.content, `${old.hash}.gz`))).toString()).toBe("old\r\n")
    const [head, before] = records()
    expect(head).toEqual({ type: "log", version: 1 })
    expect(before).toEqual({
      ...{ type: "before", id: expect.any(String), at: "1970-01-01T00:00:00.000Z" },
      ...{ call: "toolu_1", tool: "Write", turn: 1 },
      files: [
        { path: file, before: old },
        { path: made, before: none },
        { path: join(tree, "new/deep"), before: none },
        { path: join(tree, "new"), before: none },
      ],
    })
    mkdirSync(dirname(made), { recursive: true, mode: 0o755 })
    writeFileSync(made, "b", { mode: 0o644 })
    await done()
    expect(records()[2]).toEqual({
      ...{ type: "after", id: before.id },
      files: [
        { path: file, after: old },
        { path: made, after: { kind: "file", mode: 0o644, size: 1, hash: sha256("b") } },
        { path: join(tree, "new/deep"), after: { kind: "folder", mode: 0o755 } },
        { path: join(tree, "new"), after: { kind: "folder", mode: 0o755 } },
      ],
    })
  })

  it("notes what the call's words would make of a file, in its encoding and with its line endings", async () => {
    const { records, checkpoint, tree } = store()
    const [file, wide, none] = ["a", "b", "c"].map((name) => join(tree, name)) as [string, string, string]
    writeFileSync(file, "\ufeffone\r\ntwo\r\n")
    writeFileSync(wide, Buffer.from("\ufeffone\ntwo\n", "utf16le"))
    await checkpoint.before({ ...CALL, input: { old: "one\ntwo", new: "1\n2", all: true } }, [file, wide, none])
    const [ofFile, ofWide, ofNone] = records()[1].files.map(({ may }: { may: string[] }) => may)
    expect(ofFile).toContain(sha256("\ufeff1\r\n2\r\n"))
    expect(ofWide).toContain(createHash("sha256").update(Buffer.from("\ufeff1\n2\n", "utf16le")).digest("hex"))
    expect(ofNone).toEqual([sha256("one\ntwo"), sha256("1\n2")])
  })

  it("keeps a content once, readable by nobody else, and touches no disk before the first call", async () => {
    const { own, place, checkpoint, tree } = store()
    expect(readdirSync(dirname(own))).toEqual([])
    for (const name of ["a", "b"]) writeFileSync(join(tree, name), "same")
    for (const name of ["a", "b", "a"]) await checkpoint.before(CALL, [join(tree, name)])
    expect(readdirSync(place.content)).toEqual([`${sha256("same")}.gz`])
    expect(statSync(own).mode & 0o777).toBe(0o700)
    expect(statSync(place.log).mode & 0o777).toBe(0o600)
    expect(statSync(join(place.content, `${sha256("same")}.gz`)).mode & 0o777).toBe(0o600)
  })

  it("looks at links and never follows them, opens no pipe, and reads nothing that is too large", async () => {
    const { place, records, checkpoint, tree } = store()
    symlinkSync("/etc/passwd", join(tree, "link"))
    execFileSync("mkfifo", [join(tree, "pipe")])
    writeFileSync(join(tree, "big"), "")
    truncateSync(join(tree, "big"), 64 * 2 ** 20 + 1)
    await checkpoint.before(
      CALL,
      ["link", "pipe", "big"].map((name) => join(tree, name)),
    )
    expect(records()[1].files.map(({ before }: { before: object }) => before)).toEqual([
      { kind: "link", target: "/etc/passwd" },
      { kind: "other" },
      expect.objectContaining({ kind: "file", size: 64 * 2 ** 20 + 1, missed: "it has more than 64 MiB" }),
    ])
    expect(() => readdirSync(place.content)).toThrow("ENOENT")
  })

  it("keeps all that is in a folder which a tool names, and what it made there", async () => {
    const { records, checkpoint, tree } = store()
    mkdirSync(join(tree, "sub"))
    writeFileSync(join(tree, "sub/a"), "a")
    const done = await checkpoint.before(CALL, [tree])
    writeFileSync(join(tree, "sub/b"), "b")
    rmSync(join(tree, "sub/a"))
    await done()
    const [, before, after] = records()
    expect(before.files.map(({ path }: { path: string }) => path)).toEqual([
      tree,
      join(tree, "sub"),
      join(tree, "sub/a"),
    ])
    expect(after.files).toContainEqual({ path: join(tree, "sub/a"), after: { kind: "none" } })
    expect(after.files).toContainEqual({
      path: join(tree, "sub/b"),
      before: { kind: "none" },
      after: expect.objectContaining({ hash: sha256("b") }),
    })
  })

  it("writes whole lines when calls overlap", async () => {
    const { place, checkpoint, tree } = store()
    const names = Array.from({ length: 20 }, (_, index) => join(tree, `f${index}`))
    for (const name of names) writeFileSync(name, name)
    await Promise.all(names.map(async (name) => (await checkpoint.before(CALL, [name]))()))
    const records = await readLog(place.log)
    expect(records.filter(({ type }) => type === "before")).toHaveLength(20)
    expect(records.filter(({ type }) => type === "after")).toHaveLength(20)
  })

  it("goes on behind a line that a kill cut off", async () => {
    const { own, place, checkpoint, tree } = store()
    await checkpoint.before(CALL, [join(tree, "a")])
    appendFileSync(place.log, '{"type":"bef')
    expect(await readLog(place.log)).toHaveLength(2)
    await createCheckpointStore(own).before(CALL, [join(tree, "b")])
    expect((await readLog(place.log)).map(({ type }) => type)).toEqual(["log", "before", "before"])
  })

  it("throws CHECKPOINT_UNWRITABLE where it cannot keep anything", async () => {
    const { own, checkpoint, tree } = store()
    mkdirSync(own)
    writeFileSync(join(own, "content"), "in its place")
    writeFileSync(join(tree, "a"), "a")
    await expect(checkpoint.before(CALL, [join(tree, "a")])).rejects.toMatchObject({
      code: "SESSION_FOLDER_UNWRITABLE",
    })
    mkdirSync(join(own, "checkpoints.jsonl"))
    await expect(checkpoint.before(CALL, [join(tree, "none")])).rejects.toMatchObject({ code: "CHECKPOINT_UNWRITABLE" })
  })
})

const record = (fields: object) => {
  const call = { type: "before", id: "1", at: "", call: "c", tool: "t", turn: 1, files: [], ...fields }
  return `{"type":"log","version":1}\n${JSON.stringify(call)}\n`
}
const kept = (hash: string) => ({ kind: "file", mode: 0o644, size: 1, hash })

describe("readLog()", () => {
  it.each([
    [
      "a line that is none",
      '{"type":"log","version":1}\nnonsense\n{"type":"rewound","id":"1"}\n',
      "line 2 is no record",
    ],
    ["another version", '{"type":"log","version":9}\n', "its version is 9, this program reads 1"],
    ["a call without files", '{"type":"log","version":1}\n{"type":"before","id":"1"}\n', "line 2 is no record"],
    ["a path that is none", record({ files: [{ path: "../a", before: { kind: "none" } }] }), "line 2 is no record"],
    ["a file that is none", record({ files: [null] }), "line 2 is no record"],
    ["a hash that is none", record({ files: [{ path: "/a", before: kept("../../a") }] }), "line 2 is no record"],
    ["a turn that is none", record({ turn: "1" }), "line 2 is no record"],
    ["no head", '{"type":"rewound","id":"1"}\n', "it does not begin as one"],
  ])("throws CHECKPOINT_LOG_BROKEN for %s", async (_, text, reason) => {
    const log = join(folder(), "log")
    writeFileSync(log, text)
    chmodSync(log, 0o600)
    await expect(readLog(log)).rejects.toMatchObject({ code: "CHECKPOINT_LOG_BROKEN", details: { file: log, reason } })
  })

  it("gives no record where there is no log", async () => {
    expect(await readLog(join(folder(), "none"))).toEqual([])
  })
})

describe("readBytes()", () => {
  it("gives nothing back that is not what was kept", async () => {
    const { place, checkpoint, tree } = store()
    writeFileSync(join(tree, "a"), "a")
    await checkpoint.before(CALL, [join(tree, "a")])
    expect((await readBytes(place.content, sha256("a")))?.toString()).toBe("a")
    expect(await readBytes(place.content, sha256("b"))).toBeUndefined()
    writeFileSync(join(place.content, `${sha256("a")}.gz`), "torn")
    expect(await readBytes(place.content, sha256("a"))).toBeUndefined()
  })
})

describe("callTool(), in a session", () => {
  /** The folder of the only session in a state folder. */
  const sessionIn = (state: string) => {
    const [project] = readdirSync(join(state, "sous/projects"))
    const sessions = join(state, "sous/projects", project!, "sessions")
    const [file] = readdirSync(sessions).filter((name) => name.endsWith(".jsonl"))
    return join(sessions, file!.replace(".jsonl", ""))
  }
  const mode = "bypassPermissions"

  it("keeps what file tools write, under the turn of the session, and only notes commands", async () => {
    const state = folder()
    const { cwd } = await runPrompt(
      [
        { tool: { Write: { file_path: "new/a.txt", content: "1" } } },
        { tool: { Bash: { command: "touch made && ls" } } },
        { tool: { Bash: { command: "ls" } } },
        { text: "done" },
      ],
      { env: { XDG_STATE_HOME: state }, mode },
    )
    const records = await readLog(checkpointPlace(sessionIn(state)).log)
    expect(records.filter(({ type }) => type === "before")).toEqual([
      expect.objectContaining({
        tool: "Write",
        turn: 1,
        files: [
          { path: join(cwd, "new/a.txt"), before: { kind: "none" }, may: [sha256("new/a.txt"), sha256("1")] },
          { path: join(cwd, "new"), before: { kind: "none" } },
        ],
      }),
      expect.objectContaining({ tool: "Bash", turn: 2, command: true, files: [] }),
    ])
  })

  it("keeps a link that a tool names as well as where it leads", async () => {
    const state = folder()
    const cwd = folder({ "real.txt": "1" })
    symlinkSync("real.txt", join(cwd, "link.txt"))
    const drop = defineTool({
      name: "Drop",
      description: "Takes away what is there",
      input: z.object({ path: z.string() }),
      targets: ({ path }) => [{ kind: "path", access: "write", path }],
      async execute({ path }) {
        rmSync(join(cwd, path))
        return "gone"
      },
    })
    const plugins = [definePlugin({ name: "drop", tools: [drop] })]
    const turns = [{ tool: { Drop: { path: "link.txt" } } }, { text: "done" }]
    await runPrompt(turns, { cwd, env: { XDG_STATE_HOME: state }, mode, plugins })
    const [, before, after] = (await readLog(checkpointPlace(sessionIn(state)).log)) as any[]
    const names = before.files.map(({ path }: { path: string }) => path)
    expect(names).toEqual([join(cwd, "real.txt"), join(cwd, "link.txt")])
    expect(after.files[1]).toEqual({ path: join(cwd, "link.txt"), after: { kind: "none" } })
  })

  it("keeps what a tool that says nothing of files seems to name, and no folder for that", async () => {
    const state = folder()
    const cwd = folder({ "a.txt": "1", "sub/b.txt": "2" })
    const put = defineTool({
      name: "Put",
      description: "Writes somewhere",
      input: z.object({ path: z.string(), root: z.string() }),
      async execute({ path }) {
        writeFileSync(join(cwd, path), "3")
        return "put"
      },
    })
    const plugins = [definePlugin({ name: "put", tools: [put] })]
    const turns = [{ tool: { Put: { path: "./a.txt", root: join(cwd, "sub") } } }, { text: "done" }]
    await runPrompt(turns, { cwd, env: { XDG_STATE_HOME: state }, mode, plugins })
    const [, before] = (await readLog(checkpointPlace(sessionIn(state)).log)) as any[]
    expect(before.files.map(({ path }: { path: string }) => path)).toEqual([join(cwd, "a.txt")])
  })

  it("does not start a call whose files cannot be kept", async () => {
    const state = folder()
    const spoil = defineTool({
      name: "Spoil",
      description: "Puts a folder in the place of the log",
      input: z.object({}),
      async execute() {
        mkdirSync(checkpointPlace(sessionIn(state)).log, { recursive: true })
        return "spoilt"
      },
    })
    const { bodies, cwd } = await runPrompt(
      [{ tool: { Spoil: {} } }, { tool: { Write: { file_path: "a.txt", content: "1" } } }, { text: "done" }],
      { env: { XDG_STATE_HOME: state }, mode, plugins: [definePlugin({ name: "spoil", tools: [spoil] })] },
    )
    expect(lastResults(bodies[2])).toEqual([
      {
        isError: true,
        text: expect.stringMatching(/^Write could not be run: Cannot keep a file before it is changed/),
      },
    ])
    expect(readdirSync(cwd)).toEqual([])
  })

  it("keeps what a subagent writes under the turn that started it", async () => {
    const state = folder()
    await runPrompt(
      [
        { text: "Let me hand this on", tool: { Agent: { prompt: "write it", description: "writes" } } },
        { tool: { Write: { file_path: "a.txt", content: "1" } } },
        { text: "written" },
        { text: "done" },
      ],
      { env: { XDG_STATE_HOME: state }, mode, rewrites: true },
    )
    const records = await readLog(checkpointPlace(sessionIn(state)).log)
    expect(records[1]).toMatchObject({ type: "before", tool: "Write", turn: 1 })
  })
})
