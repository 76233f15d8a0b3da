import { randomUUID } from "node:crypto"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { createCheckpointStore } from "../../../core/session/checkpoint.ts"
import { keepBytes, readBytes } from "../../../core/session/checkpoint-content.ts"
import { appendRecord } from "../../../core/session/checkpoint-log.ts"
import { lookAt } from "../../../core/session/checkpoint-state.ts"
import { listTurns, type RewindOptions, rewind } from "../../../core/session/rewind.ts"
import { planRewind, type RewindParts, type RewindPlan, type RewindTarget } from "../../../core/session/rewind-plan.ts"
import { restoreFiles } from "../../../core/session/rewind-restore.ts"
import { followChain } from "../../../core/session/session-chain.ts"
import { readTranscript } from "../../../core/session/transcript.ts"
import { folder } from "../../harness.ts"
import { type Edit, type KeptSession, keptSession, snapshot } from "./kept-session.ts"

const FULL = process.env["SOUS_TEST_FULL"] === "1"

/** Tools on the tree of a session: each edit names what it touches. */
function toolsOf({ at }: Pick<KeptSession, "at">) {
  const write = (path: string, text: string, mode?: number): Edit => ({
    paths: [path],
    make() {
      mkdirSync(dirname(at(path)), { recursive: true })
      writeFileSync(at(path), text)
      if (mode !== undefined) chmodSync(at(path), mode)
    },
  })
  const remove = (path: string): Edit => ({
    paths: [path],
    make: () => rmSync(at(path), { recursive: true, force: true }),
  })
  const move = (from: string, to: string): Edit => ({
    paths: [from, to],
    make() {
      mkdirSync(dirname(at(to)), { recursive: true })
      renameSync(at(from), at(to))
    },
  })
  const link = (path: string, target: string): Edit => ({
    paths: [path],
    make() {
      rmSync(at(path), { recursive: true, force: true })
      mkdirSync(dirname(at(path)), { recursive: true })
      symlinkSync(target, at(path))
    },
  })
  const mode = (path: string, bits: number): Edit => ({ paths: [path], make: () => chmodSync(at(path), bits) })
  return { write, remove, move, link, mode }
}

async function back(
  { subject }: KeptSession,
  target: RewindTarget,
  options: RewindOptions & { parts?: RewindParts } = {},
) {
  const plan = await planRewind(subject, target, options.parts)
  return { plan, done: await rewind(plan, options) }
}

async function started(files: Record<string, string> = {}) {
  const session = await keptSession()
  const tools = toolsOf(session)
  for (const [path, text] of Object.entries(files)) tools.write(path, text).make()
  return { session, tools, now: () => snapshot(session.tree) }
}

describe("rewind()", () => {
  it("puts contents, line endings, modes, links and deleted files back, and takes away what was made", async () => {
    const { session, tools, now } = await started({
      "a.txt": "one\r\ntwo\r\n",
      "run.sh": "#!/bin/sh\n",
      "old.txt": "\ufeffold",
    })
    chmodSync(session.at("run.sh"), 0o751)
    symlinkSync("a.txt", session.at("link"))
    const first = now()
    await session.turn([
      tools.write("a.txt", "one\ntwo\n"),
      tools.mode("run.sh", 0o600),
      tools.remove("old.txt"),
      tools.link("link", "elsewhere"),
      tools.write("new/deep/b.txt", "b"),
    ])
    const second = now()
    await session.turn([tools.move("a.txt", "new/c.txt"), tools.write("run.sh", "")])
    const third = now()
    const { plan } = await back(session, { turn: 1 })
    expect(now()).toEqual(second)
    expect(plan.files.map(({ path }) => path)).toEqual(["a.txt", "new/c.txt", "run.sh"].map(session.at))
    await back(session, { turn: 0 })
    expect(now()).toEqual(first)
    expect(await session.turns()).toBe(0)
    await back(session, "undo")
    expect(now()).toEqual(second)
    await back(session, "undo")
    expect(now()).toEqual(third)
    expect(await session.turns()).toBe(2)
    await expect(planRewind(session.subject, "undo")).rejects.toMatchObject({ code: "REWIND_NOTHING_TO_UNDO" })
  })

  it("goes over files only, or over the conversation only", async () => {
    const { session, tools, now } = await started({ a: "0" })
    for (const text of ["1", "2", "3"]) await session.turn([tools.write("a", text)])
    await back(session, { turn: 1 }, { parts: { conversation: false } })
    expect([now()["a"], await session.turns()]).toEqual(["file 644 1", 3])
    await back(session, { turn: 2 }, { parts: { code: false } })
    expect([now()["a"], await session.turns()]).toEqual(["file 644 1", 2])
    // What comes now is another third turn.
    await session.turn([tools.write("a", "4")])
    await session.turn([tools.write("a", "5")])
    await back(session, { turn: 3 })
    expect([now()["a"], await session.turns()]).toEqual(["file 644 4", 3])
    await back(session, { turn: 2 })
    expect([now()["a"], await session.turns()]).toEqual(["file 644 2", 2])
  })

  it("leaves an entry whose parent is the one gone back to, and which names the one that was left", async () => {
    const { session, tools } = await started()
    await session.turn([tools.write("a", "1")])
    await session.turn([tools.write("a", "2")], { said: "And now the other" })
    const before = (await readTranscript(session.subject.file)).entries
    await back(session, { turn: 1 })
    const { entries } = await readTranscript(session.subject.file)
    const results = before.filter(({ type, said }) => type === "user" && said === undefined)
    expect(entries.at(-1)).toMatchObject({ type: "rewind", parentUuid: results[0]!.uuid, undone: before.at(-1)!.uuid })
    expect(followChain(entries).entries.map(({ type }) => type)).toEqual([
      ...["session", "run", "user", "assistant", "user", "rewind"],
    ])
    // Doing it again changes nothing.
    expect((await planRewind(session.subject, { turn: 1 })).conversation).toBeUndefined()
  })

  it("refuses to put over what a person changed since, does so when forced, and brings that back", async () => {
    const { session, tools, now } = await started({ a: "0", b: "0" })
    await session.turn([tools.write("a", "1"), tools.write("b", "1"), tools.write("c", "1")])
    writeFileSync(session.at("a"), "a person's work")
    unlinkSync(session.at("c"))
    writeFileSync(session.at("d"), "another's")
    const theirs = now()
    await expect(back(session, { turn: 0 })).rejects.toMatchObject({
      code: "REWIND_CHANGED_SINCE",
      details: { files: [session.at("a")] },
    })
    expect(now()).toEqual(theirs)
    await back(session, { turn: 0 }, { force: true })
    expect(now()).toEqual({ a: "file 644 0", b: "file 644 0", d: "file 644 another's" })
    await back(session, "undo")
    expect(now()).toEqual(theirs)
  })

  it("refuses what changed between the plan and the work, forced or not", async () => {
    const { session, tools } = await started({ a: "0" })
    await session.turn([tools.write("a", "1")])
    const plan = await planRewind(session.subject, { turn: 0 })
    writeFileSync(session.at("a"), "just now")
    await expect(rewind(plan, { force: true })).rejects.toMatchObject({ code: "REWIND_CHANGED_SINCE" })
    expect(readFileSync(session.at("a"), "utf8")).toBe("just now")
  })

  describe("after a call that a kill cut off", () => {
    const CALL = { toolUseId: "toolu_9", tool: "Write", turn: 1 }
    const cutOff = async (session: KeptSession, edit: Edit, input: object) => {
      const store = createCheckpointStore(dirname(session.subject.checkpoints.log))
      await store.before({ ...CALL, input }, edit.paths.map(session.at))
      edit.make()
    }

    it("takes what the call's words make of a file for its own work", async () => {
      const { session, tools, now } = await started({ a: "one\r\ntwo one\r\n", b: "whole" })
      const first = now()
      await session.turn()
      await cutOff(session, tools.write("a", "1\r\ntwo 1\r\n"), { old: "one", new: "1" })
      await cutOff(session, tools.write("b", "all\n"), { content: "all\n" })
      await cutOff(session, tools.write("new/deep/c", "made"), { content: "made" })
      const second = now()
      const { plan } = await back(session, { turn: 0 })
      expect(plan.conflicts).toEqual([])
      expect(now()).toEqual(first)
      await back(session, "undo")
      expect(now()).toEqual(second)
    })

    it("takes what a later call found of it for no work of others", async () => {
      const { session, tools } = await started({ a: "one" })
      await session.turn()
      await cutOff(session, tools.write("a", "two"), { old: "one", new: "two" })
      await session.turn([tools.write("a", "three")])
      const plan = await planRewind(session.subject, { turn: 0 })
      expect(plan.files.map(({ others }) => others)).toEqual([false])
    })

    it("still asks before it puts over what its words do not make", async () => {
      const { session, tools } = await started({ a: "one" })
      await session.turn()
      await cutOff(session, tools.write("a", "two and mine"), { old: "one", new: "two" })
      await expect(back(session, { turn: 0 })).rejects.toMatchObject({ code: "REWIND_CHANGED_SINCE" })
    })

    it("takes away the temporary file that it left, and no other", async () => {
      const { session, tools, now } = await started({ a: "one" })
      const first = now()
      await session.turn()
      const names = [".sous-0a37f89b-0123-4e4b-b4ac-bb29060cae24.tmp", ".sous-mine.tmp"] as const
      await cutOff(session, { paths: ["d/b"], make: tools.write(`d/${names[0]}`, "tw").make }, { content: "two" })
      await back(session, { turn: 0 })
      expect(now()).toEqual(first)
      await back(session, "undo")
      tools.write(`d/${names[1]}`, "mine").make()
      await back(session, { turn: 0 })
      expect(now()).toEqual({ ...first, d: expect.anything(), [`d/${names[1]}`]: "file 644 mine" })
    })
  })

  it("leaves a folder with something in it that stands where a file stood, forced or not", async () => {
    const { session, tools, now } = await started({ a: "one", b: "one" })
    await session.turn([tools.write("a", "two"), tools.write("b", "two")])
    tools.remove("a").make()
    tools.write("a/mine", "mine").make()
    const { plan } = await back(session, { turn: 0 }, { force: true })
    expect(plan).toMatchObject({ left: [{ path: session.at("a") }], conflicts: [] })
    expect(now()).toEqual({ a: "folder 755", "a/mine": "file 644 mine", b: "file 644 one" })
  })

  it("finds nothing to put back in a session that was killed at its first line", async () => {
    const { session } = await started()
    truncateSync(session.subject.file, 0)
    expect(await planRewind(session.subject, { turn: 0 })).toMatchObject({ files: [], turns: 0 })
  })

  it("says what goes away that others changed in between, and which commands ran since", async () => {
    const { session, tools } = await started({ a: "0" })
    await session.turn([tools.write("a", "1")], { commands: 1 })
    writeFileSync(session.at("a"), "formatted")
    await session.turn([tools.write("a", "2")], { commands: 2 })
    const plan = await planRewind(session.subject, { turn: 0 })
    expect(plan.files).toEqual([expect.objectContaining({ path: session.at("a"), others: true })])
    expect(plan.commands).toEqual({ Shell: 3 })
    expect((await planRewind(session.subject, { turn: 1 })).commands).toEqual({ Shell: 2 })
  })

  it("leaves a file that was too large to keep as it is, and says so", async () => {
    const { session, tools } = await started({ big: "", a: "0" })
    truncateSync(session.at("big"), 64 * 2 ** 20 + 1)
    await session.turn([tools.write("big", "small"), tools.write("a", "1")])
    const { plan } = await back(session, { turn: 0 })
    expect(plan.left).toEqual([{ path: session.at("big"), reason: "it was not kept: it has more than 64 MiB" }])
    expect(readFileSync(session.at("big"), "utf8")).toBe("small")
    expect(readFileSync(session.at("a"), "utf8")).toBe("0")
  })

  it("takes empty folders away that were made, and leaves one in which something else lies", async () => {
    const { session, tools, now } = await started()
    await session.turn([tools.write("one/a", "1"), tools.write("two/three/b", "1")])
    writeFileSync(session.at("one/theirs"), "")
    const { done } = await back(session, { turn: 0 })
    expect(Object.keys(now())).toEqual(["one", "one/theirs"])
    expect(done.kept).toEqual([session.at("one")])
  })

  it("makes a folder again that a person took away with what was in it", async () => {
    const { session, tools, now } = await started({ "in/deep/a": "0" })
    const first = now()
    await session.turn([tools.write("in/deep/a", "1")])
    rmSync(session.at("in"), { recursive: true })
    await expect(back(session, { turn: 0 })).rejects.toMatchObject({ code: "REWIND_CHANGED_SINCE" })
    await back(session, { turn: 0 }, { force: true })
    expect(now()).toEqual(first)
    await back(session, "undo")
    expect(now()).toEqual({})
  })

  it("leaves what lies behind a link alone where nothing is to be put back", async () => {
    const { session, tools, now } = await started()
    await session.turn([tools.write("in/a", "1")])
    const outside = folder({ a: "theirs" })
    rmSync(session.at("in"), { recursive: true })
    symlinkSync(outside, session.at("in"))
    await back(session, { turn: 0 }, { force: true })
    expect([now(), readFileSync(join(outside, "a"), "utf8")]).toEqual([{}, "theirs"])
  })

  it("refuses a path that leads elsewhere by now", async () => {
    const { session, tools } = await started({ "in/a": "0" })
    await session.turn([tools.write("in/a", "1")])
    const outside = folder({ a: "1" })
    rmSync(session.at("in"), { recursive: true })
    symlinkSync(outside, session.at("in"))
    await expect(back(session, { turn: 0 }, { force: true })).rejects.toMatchObject({ code: "REWIND_PATH_ELSEWHERE" })
    expect(readFileSync(join(outside, "a"), "utf8")).toBe("1")
    // A link that leads nowhere is one as well.
    rmSync(session.at("in"))
    symlinkSync(join(outside, "none"), session.at("in"))
    await expect(back(session, { turn: 0 }, { force: true })).rejects.toMatchObject({ code: "REWIND_PATH_ELSEWHERE" })
    expect(existsSync(join(outside, "none"))).toBe(false)
  })

  it("refuses before anything changes when a content is not what it was", async () => {
    const { session, tools, now } = await started({ a: "0", b: "0!" })
    await session.turn([tools.write("a", "1"), tools.write("b", "1")])
    const before = now()
    const { content } = session.subject.checkpoints
    for (const name of readdirSync(content)) writeFileSync(join(content, name), "broken")
    await expect(back(session, { turn: 0 })).rejects.toMatchObject({ code: "CHECKPOINT_CONTENT_BROKEN" })
    expect(now()).toEqual(before)
  })

  it("goes on where it stopped, and is undone to what there was before it began", async () => {
    const { session, tools, now } = await started({ a: "0", m: "0", z: "0" })
    const first = now()
    await session.turn([tools.write("a", "1"), tools.remove("m"), tools.write("z", "1")])
    const second = now()
    mkdirSync(session.at("m"))
    const plan = await planRewind(session.subject, { turn: 0 })
    writeFileSync(session.at("m/theirs"), "")
    await expect(rewind(plan, { force: true })).rejects.toMatchObject({
      code: "REWIND_FAILED",
      details: { path: session.at("m") },
    })
    rmSync(session.at("m"), { recursive: true })
    expect(now()).not.toEqual(first)
    await back(session, { turn: 0 })
    expect(now()).toEqual(first)
    await back(session, "undo", { force: true })
    expect(now()).toEqual({ ...second, m: "folder 755" })
    await expect(planRewind(session.subject, "undo")).rejects.toMatchObject({ code: "REWIND_NOTHING_TO_UNDO" })
  })

  it("names the turns that there are", async () => {
    const { session } = await started()
    await session.turn()
    await expect(planRewind(session.subject, { turn: 2 })).rejects.toMatchObject({
      code: "REWIND_TURN_UNKNOWN",
      message: 'Cannot go back to turn 2: session "s1" has 1 turn',
    })
  })
})

describe("listTurns()", () => {
  it("says of each turn what a person had said, which files it changed and how many commands it ran", async () => {
    const { session, tools } = await started({ a: "0", same: "0" })
    await session.turn([tools.write("a", "1"), tools.write("same", "0")], { said: "Change a" })
    await session.turn([], { commands: 2 })
    await session.turn([tools.write("b", "1")], { said: "And b" })
    await back(session, { turn: 2 })
    await session.turn([tools.write("c", "1")])
    const turns = await listTurns(session.subject)
    expect(turns.map(({ turn, said, files, commands }) => ({ turn, said, files, commands }))).toEqual([
      { turn: 0, said: undefined, files: [], commands: 0 },
      { turn: 1, said: "Change a", files: [session.at("a")], commands: 0 },
      { turn: 2, said: undefined, files: [], commands: 2 },
      { turn: 3, said: undefined, files: [session.at("c")], commands: 0 },
    ])
  })
})

const NAMES = ["a", "b", "d/a", "d/b", "d/e/a", "f/x"]
const name = fc.constantFrom(...NAMES)
const text = fc.constantFrom("", "one\n", "one\r\ntwo\r\n", "\ufeffbom", "\0\x01\xff", "end without a line break")
const bits = fc.constantFrom(0o644, 0o600, 0o755, 0o444, 0o4750)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("write" as const), name, text, bits) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("remove" as const), fc.constantFrom(...NAMES, "d", "f", "d/e")) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("move" as const), name, name) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("link" as const), name, fc.constantFrom("a", "../b", "nowhere")) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("mode" as const), name, bits) },
  // A file in the place of a folder, and the other way round.
  { weight: 1, arbitrary: fc.tuple(fc.constant("swap" as const), fc.constantFrom("d", "f", "a"), text) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** The edit that a step means on this tree as it stands; undefined: it cannot be made there. */
function editOf(session: KeptSession, [what, path, more, mode]: Step): Edit | undefined {
  const tools = toolsOf(session)
  const look = (one: string) => {
    try {
      return lstatSync(session.at(one))
    } catch {
      return undefined
    }
  }
  const found = look(path)
  const isFree = (one: string) => {
    const parents = dirname(one)
      .split("/")
      .map((_, index, all) => all.slice(0, index + 1).join("/"))
    const real = parents.every((parent) => {
      const stats = look(parent)
      return stats === undefined || stats.isDirectory()
    })
    return real && !look(one)?.isDirectory()
  }
  if (what === "remove") return isFree(path) || found?.isDirectory() ? tools.remove(path) : undefined
  if (what === "swap") {
    if (found === undefined || found.isSymbolicLink()) return undefined
    const fresh = found.isDirectory() ? path : `${path}/in`
    return {
      paths: [path, fresh],
      make() {
        rmSync(session.at(path), { recursive: true })
        tools.write(fresh, more as string).make()
      },
    }
  }
  if (!isFree(path)) return undefined
  if (what === "write") return found?.isSymbolicLink() ? undefined : tools.write(path, more as string, mode)
  if (what === "link") return tools.link(path, more as string)
  if (found === undefined) return undefined
  if (what === "mode") return found.isSymbolicLink() ? undefined : tools.mode(path, more as number)
  const to = more as string
  return isFree(to) && to !== path ? tools.move(path, to) : undefined
}

/** What a rewind does until it is killed. */
async function beginOnly(plan: RewindPlan, contents: number): Promise<void> {
  const { subject, files, turns, from, conversation, undoes, finishes } = plan
  const { log, content } = subject.checkpoints
  for (const { path } of files) await lookAt(path, (hash, bytes) => keepBytes(content, hash, bytes))
  const id = randomUUID()
  const rest = { ...(conversation && { conversation }), ...(undoes && { undoes }), ...(finishes && { finishes }) }
  await appendRecord(log, { type: "rewind", id, at: "", turns, from, files, ...rest })
  let left = contents
  const read = async (hash: string) => {
    if (left-- === 0) throw new Error("killed")
    return (await readBytes(content, hash))!
  }
  await restoreFiles(files, { id, read }).catch((error) => expect(error.message).toMatch(/killed/))
}

describe("rewinding, over random sessions", () => {
  /** After so many contents it is killed, and done again. */
  const cut = fc.option(fc.nat(3), { nil: undefined })
  const doing = fc.oneof(
    { weight: 3, arbitrary: fc.record({ turn: fc.array(step, { maxLength: 4 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        back: fc.nat(100),
        parts: fc.constantFrom("both", "code", "conversation"),
        cut,
      }),
    },
    { weight: 1, arbitrary: fc.record({ undo: fc.constant(true), cut }) },
  )

  it("gives back the tree that there was, byte for byte, and undoes that likewise", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(doing, { minLength: 2, maxLength: 12 }), async (doings) => {
        const session = await keptSession()
        const now = () => snapshot(session.tree)
        toolsOf(session).write("a", "zero\n").make()
        toolsOf(session).write("d/b", "zero\r\n", 0o755).make()
        /** The tree at the end of each turn of the conversation as it stands. */
        let ends = [now()]
        const undo: { tree: object; ends: typeof ends; isTalk: boolean }[] = []
        for (const one of doings) {
          if ("undo" in one) {
            const last = undo.pop()
            if (last === undefined) continue
            if (one.cut !== undefined) await beginOnly(await planRewind(session.subject, "undo"), one.cut)
            await back(session, "undo")
            expect(now()).toEqual(last.tree)
            if (last.isTalk) ends = last.ends
          } else if ("turn" in one) {
            await session.turn(one.turn.map((step) => () => editOf(session, step)))
            ends = [...ends, now()]
          } else {
            const turn = one.back % ends.length
            const isTalk = one.parts !== "code"
            const tree = now()
            const parts = { code: one.parts !== "conversation", conversation: isTalk }
            const plan = await planRewind(session.subject, { turn }, parts)
            if (plan.files.length === 0 && plan.conversation === undefined) continue
            if (one.cut !== undefined) await beginOnly(plan, one.cut)
            await rewind(one.cut === undefined ? plan : await planRewind(session.subject, { turn }, parts))
            undo.push({ tree, ends, isTalk: plan.conversation !== undefined })
            expect(now()).toEqual(parts.code ? ends[turn] : tree)
            if (isTalk) ends = ends.slice(0, turn + 1)
          }
          expect(await session.turns()).toBe(ends.length - 1)
        }
      }),
      { numRuns: FULL ? 2000 : 60 },
    )
  }, 600_000)

  it("never loses what a person did meanwhile: it is refused, or kept for the undo", async () => {
    const doing = fc.record({ turn: fc.array(step, { maxLength: 3 }), person: fc.array(step, { maxLength: 2 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(doing, { minLength: 1, maxLength: 5 }), fc.nat(100), async (doings, to) => {
        const session = await keptSession()
        const now = () => snapshot(session.tree)
        toolsOf(session).write("a", "zero\n").make()
        for (const { turn, person } of doings) {
          await session.turn(turn.map((step) => () => editOf(session, step)))
          for (const step of person) editOf(session, step)?.make()
        }
        const before = now()
        const target = { turn: to % (doings.length + 1) }
        const plan = await planRewind(session.subject, target).catch((error) => {
          expect(error.code).toBe("REWIND_PATH_ELSEWHERE")
        })
        if (plan === undefined) return expect(now()).toEqual(before)
        if (plan.conflicts.length > 0) {
          await expect(rewind(plan)).rejects.toMatchObject({ code: "REWIND_CHANGED_SINCE" })
          expect(now()).toEqual(before)
        }
        // A folder that a person filled is in the way of a file: that much was done, and is undone.
        await rewind(plan, { force: true }).catch((error) => expect(error.code).toBe("REWIND_FAILED"))
        const planned = new Set(plan.files.map(({ path }) => path))
        const after = now()
        for (const [path, state] of Object.entries(before))
          if (!planned.has(session.at(path))) expect(after[path]).toBe(state)
        await back(session, "undo", { force: true })
        expect(now()).toEqual(before)
      }),
      { numRuns: FULL ? 2000 : 60 },
    )
  }, 600_000)
})
