/**
 * What `sous init` writes: the text of each file, by its path in the project.
 *
 * Invariant: every file is one that a person could have written, and none needs a network: the schema that editors look
 * for lies in the project, where `"$schema"` finds it for everybody who clones it.
 */

/** A file to write. */
export interface InitFile {
  /** Relative to the project's root. */
  path: string
  text: string
}

export interface InitOptions {
  /** Settings in YAML instead of JSON. */
  isYaml: boolean
  /** Text of the schema of settings; undefined where the project's own copy of the toolkit has it. */
  schema: string | undefined
}

/** Where a project that depends on the toolkit has the schema, relative to its root. */
export const INSTALLED_SCHEMA = "node_modules/sous/settings.schema.json"

/** All of them, in the order in which they are named. */
export function initFiles({ isYaml, schema }: InitOptions): InitFile[] {
  const at = schema === undefined ? `../${INSTALLED_SCHEMA}` : "./settings.schema.json"
  return [
    isYaml
      ? { path: ".sous/settings.yaml", text: YAML_SETTINGS.replace("SCHEMA", at) }
      : { path: ".sous/settings.json", text: JSON_SETTINGS.replace("SCHEMA", at) },
    ...(schema === undefined ? [] : [{ path: ".sous/settings.schema.json", text: schema }]),
    { path: ".sous/recipes/hello.ts", text: RECIPE },
    { path: ".sous/recipes/hello.test.ts", text: RECIPE_TEST },
  ]
}

/** Settings of one person, which nobody commits. */
export const IGNORED = ".sous/settings.local.*"

const JSON_SETTINGS = `{
  "$schema": "SCHEMA",
  "permissions": {
    "ask": ["Bash(git push *)"],
    "deny": ["Read(.env)"]
  }
}
`

const YAML_SETTINGS = `# yaml-language-server: $schema=SCHEMA
permissions:
  # These are asked about whatever allows them.
  ask:
    - Bash(git push *)
  # Nothing lifts these.
  deny:
    - Read(.env)
`

const RECIPE = `/** Says in a sentence what a folder holds: a command, and an agent that gets to see its output. */
import { agent, recipe, sh, z } from "sous"

export default recipe({
  name: "hello",
  description: "Says in a sentence what a folder holds",
  params: z.object({ folder: z.string().default(".").describe("the folder to look into") }),
})
  .step("list", ({ params }) => sh\`ls \${params.folder}\`)
  .step("say", ({ list }) =>
    agent({ prompt: \`A folder holds these files. What is it, in one sentence?\\n\\n\${list.stdout}\`, tools: [] }),
  )
  .output(({ say }) => say)
`

const RECIPE_TEST = `// Run by "sous test": the model's answers stand below, everything else is real. Needs no key and no network.
import assert from "node:assert/strict"
import { test } from "node:test"
import { runRecipe } from "sous/testing"
import hello from "./hello.ts"

test("hello shows the agent what the folder holds", async () => {
  const run = await runRecipe(hello, {
    files: { "notes/first.md": "# First\\n" },
    params: { folder: "notes" },
    model: [{ expect: { last_user_contains: "first.md" }, text: "A folder with one note." }],
  })
  assert.equal(run.status, "ok")
  assert.equal(run.output, "A folder with one note.")
})
`
