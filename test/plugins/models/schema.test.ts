/** Output schemas in the API's dialect, or none at all. */
import { type JsonSchema, z } from "sous"
import { describe, expect, it } from "vitest"
import { apiSchema } from "../../../plugins/models/schema.ts"

const fromZod = (type: z.ZodType) => apiSchema(z.toJSONSchema(type) as JsonSchema)

describe("apiSchema()", () => {
  it("closes objects, and says in words what the API cannot enforce", () => {
    const schema = z.object({
      name: z.string().min(2).describe("Who"),
      age: z.int().min(0).max(150),
      mail: z.email(),
      tags: z.array(z.string().regex(/^a/)).min(1).max(9),
      kind: z.enum(["a", "b"]),
      note: z.string().nullable().optional(),
      inner: z.looseObject({ x: z.boolean() }),
      choice: z.union([z.literal(1), z.object({ y: z.null() })]),
    })
    expect(fromZod(schema)).toEqual({
      type: "object",
      properties: {
        name: { type: "string", description: "Who (minLength: 2)" },
        age: { type: "integer", description: "(minimum: 0, maximum: 150)" },
        mail: { type: "string", format: "email", description: expect.stringContaining("pattern") },
        tags: {
          type: "array",
          items: { type: "string", description: '(pattern: "^a")' },
          minItems: 1,
          description: "(maxItems: 9)",
        },
        kind: { enum: ["a", "b"] },
        note: { anyOf: [{ type: "string" }, { type: "null" }] },
        inner: { type: "object", properties: { x: { type: "boolean" } }, required: ["x"], additionalProperties: false },
        choice: {
          anyOf: [
            { const: 1 },
            { type: "object", properties: { y: { type: "null" } }, required: ["y"], additionalProperties: false },
          ],
        },
      },
      required: ["name", "age", "mail", "tags", "kind", "inner", "choice"],
      additionalProperties: false,
    })
  })

  it("keeps definitions and references to them", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/point" }, b: { $ref: "#/$defs/point" } },
      $defs: { point: { type: "object", properties: { x: { type: "number" } } } },
    }
    expect(apiSchema(schema)).toEqual({
      type: "object",
      properties: { a: { $ref: "#/$defs/point" }, b: { $ref: "#/$defs/point" } },
      additionalProperties: false,
      $defs: { point: { type: "object", properties: { x: { type: "number" } }, additionalProperties: false } },
    })
  })

  it("splits a list of types into a choice", () => {
    const schema = {
      type: "object",
      properties: { a: { type: ["string", "null"], format: "uuid", description: "Which" } },
    }
    expect(apiSchema(schema)).toMatchObject({
      properties: { a: { anyOf: [{ type: "string", format: "uuid" }, { type: "null" }], description: "Which" } },
    })
  })

  it("is made once for one schema, and changes it not", () => {
    const schema = { type: "object", properties: { a: { type: "string", minLength: 1 } } }
    const before = structuredClone(schema)
    expect(apiSchema(schema)).toBe(apiSchema(schema))
    expect(schema).toEqual(before)
  })

  it.each([
    ["an array at the top", z.array(z.string())],
    ["a map", z.record(z.string(), z.number())],
    ["a map further in", z.object({ a: z.array(z.record(z.string(), z.number())) })],
    ["a tuple", z.object({ a: z.tuple([z.string(), z.number()]) })],
    ["anything", z.object({ a: z.any() })],
    ["an object of unknown keys", z.object({ a: z.looseObject({}).catchall(z.string()) })],
  ])("has no form for %s", (_, type) => {
    expect(fromZod(type)).toBeUndefined()
  })

  it("has no form for what refers to itself", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } } }
    const schema = { type: "object", properties: { first: { $ref: "#/$defs/node" } }, $defs: { node } }
    expect(apiSchema(schema)).toBeUndefined()
    expect(apiSchema({ type: "object", properties: { self: { $ref: "#" } } })).toBeUndefined()
  })
})
