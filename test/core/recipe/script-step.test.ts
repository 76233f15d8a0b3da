import { existsSync } from "node:fs"
import { join } from "node:path"
import { recipe, script } from "sous"
import { runRecipe } from "sous/testing"
import { expect, test } from "vitest"
import { folder } from "../../harness.ts"

test("runScript() fails a script that ends while a step of it is at work, and nothing goes on after it", async () => {
  const forgets = recipe({ name: "forgets", description: "Forgets to wait" }).step("a", () =>
    script(async (step) => {
      void step.sh`sleep 0.2 && touch late`
      return 1
    }),
  )
  const cwd = folder()
  const run = await runRecipe(forgets, { cwd, model: [], flags: { allow: { all: true }, deny: {} } })
  expect(run).toMatchObject({ status: "failed", failure: { error: expect.stringContaining("await each of them") } })
  expect(existsSync(join(cwd, "late"))).toBe(true)
})
