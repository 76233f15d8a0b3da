import assert from "node:assert/strict"
import { test } from "node:test"
import { runRecipe } from "sous/testing"
import migrate from "./migrate.ts"

const files = {
  "src/a.js": "var a = 1\n",
  "src/b.js": "var b = 2\n",
  "src/c.js": "var c = 3\n",
  "other.js": "var d = 4\n",
}
const params = {
  files: "src/*.js",
  task: "Replace var with const.",
  verify: 'node --input-type=module --eval "$(cat $FILE)" && ! grep --quiet var "$FILE"',
}
const flags = { allow: { run: ["node", "cat", "grep"] }, deny: {} }

/** What an agent does with one file: read it, change it, say so. */
function changes(name: string) {
  const when = { first_user_contains: `the file src/${name}.js` }
  return [
    { when, tool: { Read: { file_path: `src/${name}.js` } } },
    { when, tool: { Edit: { file_path: `src/${name}.js`, old_string: `var ${name}`, new_string: `const ${name}` } } },
    { when, text: "Done." },
  ]
}

test("migrate changes each file of the glob in place, and no other", async () => {
  const run = await runRecipe(migrate, { files, params, flags, model: { turns: ["a", "b", "c"].flatMap(changes) } })
  assert.equal(run.status, "ok", JSON.stringify(run.failure))
  assert.deepEqual(run.output, { files: 3, changed: 3, failed: [] })
  assert.equal(run.read("src/b.js"), "const b = 2\n")
  assert.equal(run.read("other.js"), "var d = 4\n")
})

test("migrate feeds a failed check back, and counts the file as failed when it never passes", async () => {
  const lazy = { when: { first_user_contains: "the file src/b.js" }, text: "Done.", times: 4 }
  const run = await runRecipe(migrate, {
    files,
    params: { ...params, allowFailures: 1 },
    flags,
    model: { turns: [...["a", "c"].flatMap(changes), lazy] },
  })
  assert.equal(run.status, "degraded", JSON.stringify(run.failure))
  assert.equal(run.exit, 6)
  assert.deepEqual(
    run.output?.failed.map(({ file }) => file),
    ["src/b.js"],
  )
  const asked = run.requests.filter(({ messages }) => JSON.stringify(messages[0]).includes("src/b.js"))
  assert.match(JSON.stringify(asked[1]?.messages.at(-1)), /does not pass its check yet/)
})
