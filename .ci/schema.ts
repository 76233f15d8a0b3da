// Writes settings.schema.json from core/settings/schema.ts; run by `npm run schema`. A test fails when it is stale.
import { writeFileSync } from "node:fs"
import { settingsJsonSchema } from "../core/settings/json-schema.ts"

const file = new URL("../settings.schema.json", import.meta.url)
writeFileSync(file, JSON.stringify(settingsJsonSchema(), null, 2) + "\n")
