import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { renderPage } from "../contract/hooks-page.ts"

const file = join(import.meta.dirname, "../../core/HOOKS.md")

test("core/HOOKS.md holds the tables as the data has them", async () => {
  await expect(renderPage(readFileSync(file, "utf8"))).toMatchFileSnapshot(file)
})
