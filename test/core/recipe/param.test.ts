import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { checkParams, describeParams, listParams, readParams } from "../../../core/recipe/param.ts"
import { tempFolder } from "./engine.ts"

const params = z.object({
  base: z.string().default("main").describe("branch to compare with"),
  count: z.number().int().min(1).optional(),
  ratio: z.number().nullable().optional(),
  fast: z.boolean().default(false),
  mode: z.enum(["quick", "deep"]).default("quick"),
  files: z.array(z.string()).default([]),
  sizes: z.array(z.number()).optional(),
  where: z.object({ x: z.number() }).optional(),
  either: z.union([z.string(), z.number()]).optional(),
  any: z.unknown().optional(),
  target: z.string().describe("what to look at"),
})
const review = { name: "review", params }
const read = (...pairs: string[]) => readParams(review, { pairs })

describe("readParams()", () => {
  it.each([
    ["base=a=b", { base: "a=b" }],
    ["base=", { base: "" }],
    ["base=5", { base: "5" }],
    ["count=5", { count: 5 }],
    ["count=five", { count: "five" }],
    ["count=", { count: "" }],
    ["ratio=-.5e2", { ratio: -50 }],
    ["ratio=null", { ratio: null }],
    ["fast=true", { fast: true }],
    ["fast=yes", { fast: "yes" }],
    ["mode=deep", { mode: "deep" }],
    ["files=a", { files: ["a"] }],
    ['files=["a","b"]', { files: ["a", "b"] }],
    ["sizes=3", { sizes: [3] }],
    ['where={"x":1}', { where: { x: 1 } }],
    ["either=5", { either: 5 }],
    ["either=a", { either: "a" }],
    ['any={"x":1}', { any: { x: 1 } }],
    ["any=text", { any: "text" }],
  ])("reads %s as what the schema asks for", async (pair, value) => {
    expect(await read(pair)).toEqual(value)
  })

  it("collects the items of a list from several pairs, and refuses two values for one", async () => {
    expect(await read("files=a b", "files=c", "sizes=1", "sizes=2")).toEqual({ files: ["a b", "c"], sizes: [1, 2] })
    await expect(read("base=a", "base=b")).rejects.toMatchObject({
      code: "PARAM_INVALID",
      message: 'The parameter "base" of the recipe "review" is wrong: it is given 2 times, and takes one value',
    })
  })

  it("refuses an unknown parameter with the nearest name, a pair without a value, and broken JSON", async () => {
    await expect(read("bse=x")).rejects.toMatchObject({ code: "PARAM_UNKNOWN", mend: 'write "base"' })
    await expect(read("__proto__=x")).rejects.toMatchObject({ code: "PARAM_UNKNOWN" })
    await expect(read("base")).rejects.toMatchObject({ code: "PARAM_PAIR_INVALID", mend: "write --param base=VALUE" })
    await expect(read("=x")).rejects.toMatchObject({ code: "PARAM_PAIR_INVALID" })
    await expect(read("where={")).rejects.toMatchObject({ code: "PARAM_INVALID" })
  })

  it("takes a file of JSON or YAML, and pairs win over it", async () => {
    const folder = tempFolder()
    const json = join(folder, "params.json")
    await writeFile(json, '{"base":"dev","count":2}')
    expect(await readParams(review, { file: json, pairs: ["count=3"] })).toEqual({ base: "dev", count: 3 })
    const yaml = join(folder, "params.yaml")
    await writeFile(yaml, "base: dev\nfiles: [a]\n")
    expect(await readParams(review, { file: yaml })).toEqual({ base: "dev", files: ["a"] })
    for (const text of ["[1]", "{", "null"]) {
      await writeFile(json, text)
      await expect(readParams(review, { file: json })).rejects.toMatchObject({ code: "PARAM_FILE_INVALID" })
    }
    await expect(readParams(review, { file: join(folder, "none") })).rejects.toMatchObject({
      code: "PARAM_FILE_INVALID",
      message: expect.stringContaining("ENOENT"),
    })
  })
})

describe("checkParams()", () => {
  it("fills in defaults", async () => {
    expect(await checkParams(review, { target: "x" })).toEqual({
      base: "main",
      fast: false,
      mode: "quick",
      files: [],
      target: "x",
    })
    expect(await checkParams({ name: "bare" }, {})).toEqual({})
  })

  it("names what is missing with its description", async () => {
    await expect(checkParams(review, {})).rejects.toMatchObject({
      code: "PARAM_MISSING",
      message: 'The recipe "review" needs the parameter "target": what to look at',
      mend: "add --param target=…",
    })
  })

  it.each([
    [{ count: "five" }, /"count".*expected number/],
    [{ count: 0 }, /"count".*>=1/],
    [{ mode: "slow" }, /"mode".*quick/],
    [{ files: ["a", 1] }, /"files".*at 1: .*expected string/],
    [{ where: { x: "1" } }, /"where".*at x: /],
  ])("refuses %j with what is wrong", async (wrong, message) => {
    await expect(checkParams(review, { target: "x", ...wrong })).rejects.toMatchObject({
      code: "PARAM_INVALID",
      message: expect.stringMatching(message),
    })
  })

  it("refuses what the schema does not name, whatever the schema does with it", async () => {
    const loose = { name: "loose", params: z.looseObject({ base: z.string() }) }
    await expect(checkParams(loose, { base: "x", bas: "y" })).rejects.toMatchObject({ code: "PARAM_UNKNOWN" })
    await expect(checkParams({ name: "bare" }, { x: 1 })).rejects.toMatchObject({
      code: "PARAM_UNKNOWN",
      mend: "there are none to choose from",
    })
  })
})

describe("describeParams()", () => {
  it("gives a line of help for each parameter", () => {
    const few = z.object({
      base: z.string().default("main").describe("branch to compare with"),
      mode: z.enum(["quick", "deep"]),
      files: z.array(z.string()).optional(),
    })
    expect(describeParams({ name: "review", params: few })).toBe(
      [
        "Parameters of review:",
        '  --param base=string      branch to compare with (default "main")',
        "  --param mode=quick|deep  (required)",
        "  --param files=string[]",
        "",
      ].join("\n"),
    )
    expect(describeParams({ name: "bare" })).toBe("")
  })
})

describe("listParams()", () => {
  it("says of each its type, default, description and whether it is required", () => {
    expect(listParams(review).slice(0, 2)).toEqual([
      { name: "base", type: "string", description: "branch to compare with", default: "main", required: false },
      { name: "count", type: "integer", required: false },
    ])
    expect(listParams(review).find(({ name }) => name === "target")).toMatchObject({ required: true })
  })
})
