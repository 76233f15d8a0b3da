import assert from "node:assert/strict"
import { test } from "node:test"
import { runRecipe } from "sous/testing"
import green from "./green.ts"

const files = {
  "package.json": '{ "type": "module" }',
  "sum.js": "export const sum = (a, b) => a - b\n",
  "check.js": 'import { sum } from "./sum.js"\nif (sum(2, 2) !== 4) throw new Error(`sum(2, 2) is ${sum(2, 2)}`)\n',
}
const params = { cmd: "node check.js" }
const flags = { allow: { run: ["node"] }, deny: {} }
const repair = { tool: { Edit: { file_path: "sum.js", old_string: "a - b", new_string: "a + b" } } }

test("green works until the command passes", async () => {
  const run = await runRecipe(green, {
    files,
    params,
    flags,
    model: [
      { expect: { last_user_contains: "sum(2, 2) is 0" }, tool: { Read: { file_path: "sum.js" } } },
      repair,
      { text: "It adds now." },
    ],
  })
  assert.equal(run.status, "ok")
  assert.equal(run.output, "`node check.js` passes after attempt 1")
  assert.match(run.read("sum.js"), /a \+ b/)
})

test("green asks no model when the command passes already", async () => {
  const run = await runRecipe(green, { params: { cmd: "node --version" }, flags, model: [] })
  assert.equal(run.status, "ok")
  assert.equal(run.requests.length, 0)
})

test("green fails, and says so, when its attempts are used up", async () => {
  const run = await runRecipe(green, {
    files,
    params: { ...params, max: 2 },
    flags,
    model: [{ text: "I give up." }, { text: "Again." }],
  })
  assert.equal(run.status, "failed")
  assert.match(run.failure?.error ?? "", /does not hold after 2 rounds/)
})

test("green runs nothing that was not granted", async () => {
  const run = await runRecipe(green, { files, params, grant: false, model: [] })
  assert.equal(run.status, "denied")
  assert.equal(run.exit, 4)
})
