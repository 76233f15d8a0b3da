/** Models for tests that stand in for all others. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cassette, scriptModel } from "sous/testing"
import { expect, it } from "vitest"
import { recordModel } from "../../../plugins/models/cassette-record.ts"
import { collect, describeModel, request, textOf } from "../../contract/model.ts"

const options = () => ({ cwd: tmpdir(), env: {}, signal: new AbortController().signal })

describeModel("scriptModel()", {
  async open(turns) {
    const model = await scriptModel({ unused: "ignore", turns }).open("any", options())
    return { model, close: async () => model.close?.() }
  },
})

it("scriptModel() speaks for every id from one list, and says at the last close what was left", async () => {
  const provider = scriptModel([{ text: "1" }, { text: "2" }, { text: "3" }], { id: "script:mine" })
  expect([provider.id, provider.handles("haiku", { env: {} })]).toEqual(["script:mine", true])
  const shared = options()
  const main = await provider.open("opus", shared)
  const side = await provider.open("haiku", shared)
  expect([main.id, side.id]).toEqual(["opus", "haiku"])
  expect(textOf((await collect(main)).events)).toBe("1")
  expect(textOf((await collect(side)).events)).toBe("2")
  await main.close?.()
  await expect((async () => side.close?.())()).rejects.toMatchObject({
    code: "MODEL_TURNS_UNUSED",
    details: { name: "script:mine", turns: [3] },
  })
})

it("scriptModel() takes a function, and refuses wrong turns at once", async () => {
  const model = await scriptModel((_, n) => ({ text: `${n}` })).open("x", options())
  await collect(model)
  expect(textOf((await collect(model)).events)).toBe("2")
  expect(() => scriptModel([{ txt: "x" } as never])).toThrow('"script:test": turns[0] has the unknown key "txt"')
})

it("cassette() replays one recording for every id", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sous-stand-in-"))
  const where = { ...options(), cwd: folder }
  const live = await scriptModel([{ text: "1" }, { text: "2" }]).open("opus", where)
  const recorded = await recordModel(live, join(folder, "a.json"), where)
  for (const text of ["a", "b"]) await collect(recorded, request(text))
  await recorded.close?.()

  const provider = cassette("a.json")
  expect([provider.id, provider.handles("haiku", { env: {} })]).toEqual(["cassette:a.json", true])
  const main = await provider.open("opus", where)
  const side = await provider.open("haiku", where)
  expect(textOf((await collect(side, request("b"))).events)).toBe("2")
  await side.close?.()
  await expect((async () => main.close?.())()).rejects.toMatchObject({ code: "MODEL_CASSETTE_UNUSED" })
  await rm(folder, { recursive: true })
})
