/**
 * The schemas of the settings and of hooks → one JSON Schema for editors (draft 2020-12).
 *
 * Invariant: settings.schema.json is this and nothing else; a test fails when it is stale.
 */
import { z } from "zod"
import { hooksSchema } from "./hook-schema.ts"
import { settingsSchema } from "./schema.ts"

/** What `npm run schema` writes. */
export function settingsJsonSchema(): Record<string, unknown> {
  const { hooks } = settingsSchema.shape
  const { description = "" } = hooks.unwrap()
  const whole = settingsSchema.extend({ hooks: hooksSchema.describe(description).optional() })
  const { $schema, ...rest } = z.toJSONSchema(whole, { io: "input" })
  return { $schema, title: "sous settings", ...rest }
}
