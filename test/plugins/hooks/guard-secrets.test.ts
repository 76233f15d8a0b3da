import { createKit, mergeSettings } from "sous"
import { describe, expect, test } from "vitest"
import guard from "../../../plugins/hooks/guard-secrets.ts"
import { folder, lastResults, runPrompt, type TestOptions } from "../../harness.ts"

const settings = (own: object, allow = ["Bash"]) =>
  mergeSettings([
    { scope: "user", base: "/", values: { permissions: { allow }, pluginSettings: { "guard-secrets": own as never } } },
  ])

/** What the model is told of each command. */
async function run(commands: string[], own: object = {}, options: TestOptions = {}) {
  const turns = [{ content: commands.map((command) => ({ tool: { Bash: { command } } })) }, { text: "done" }]
  const { bodies } = await runPrompt(
    { turns },
    {
      plugins: [guard],
      kit: { settings: settings(own) },
      ...options,
    },
  )
  return lastResults(bodies[1])
}

const KEYS: [string, string][] = [
  ["an Anthropic key", `sk-ant-${"api03-abcDEF123_".repeat(2)}`],
  ["an OpenAI key", `sk-proj-${"a1B2c3D4".repeat(5)}`],
  ["an AWS access key", "AKIAIOSFODNN7EXAMPLE"],
  ["a GitHub token", `ghp_${"a1B2c3".repeat(6)}`],
  ["a GitLab token", "glpat-abcdefghij0123456789"],
  ["a Google key", `AIza${"x".repeat(35)}`],
  ["a Slack token", "xoxb-1234567890-abcdef"],
  ["a Stripe key", `sk_live_${"a1".repeat(12)}`],
  ["an npm token", `npm_${"a1B2".repeat(9)}`],
  ["a private key", "-----BEGIN RSA PRIVATE KEY-----"],
  ["a signed token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcdefghij_klm"],
  ["a password in an address", "postgres://me:hunter2secret@db/x"],
  ["a token in a header", "Authorization: Bearer abcdef0123456789xyz"],
]

describe("guard-secrets", () => {
  test("refuses each shape of a secret, says what it is, and never repeats it", async () => {
    const results = await run(KEYS.map(([, key]) => `echo '${key}' > /dev/null`))
    for (const [at, [what, key]] of KEYS.entries()) {
      expect(results[at], what).toMatchObject({ isError: true, text: expect.stringContaining(`holds ${what};`) })
      expect(results[at]!.text).not.toContain(key)
    }
  })

  test("lets pass what only names a secret, and what only looks like one", async () => {
    const commands = [
      `echo "Authorization: Bearer $TOKEN" > /dev/null`,
      "echo https://example.com:8080/a@b > /dev/null",
      "echo postgres://me:$PASSWORD@db/x > /dev/null",
      "echo sk-learn-is-a-library-with-a-rather-long-name > /dev/null",
      "echo 123e4567-e89b-12d3-a456-426614174000 > /dev/null",
      "echo 0123456789abcdef0123456789abcdef01234567 > /dev/null",
    ]
    expect((await run(commands)).map(({ isError }) => isError)).toEqual(commands.map(() => false))
  })

  test("refuses the value of a variable whose name says that it is secret, and names the variable", async () => {
    const env = { DEPLOY_TOKEN: "correct horse", KEYBOARD: "a long value too", A_KEY: "short" }
    const [value, other, short] = await run(["echo correct horse", "echo a long value too", "echo short"], {}, { env })
    expect(value).toMatchObject({ isError: true, text: expect.stringContaining('write "$DEPLOY_TOKEN" instead') })
    expect([other!.isError, short!.isError]).toEqual([false, false])
  })

  test("takes further shapes and exceptions from its settings", async () => {
    const own = { shapes: { "a house key": "HK-\\d{4}" }, except: ["EXAMPLE$"] }
    const [house, example] = await run(["echo HK-1234", "echo AKIAIOSFODNN7EXAMPLE > /dev/null"], own)
    expect(house).toMatchObject({ isError: true, text: expect.stringContaining("holds a house key;") })
    expect(example!.isError).toBe(false)
  })

  test("stops the start when its settings are wrong: no guard is not a smaller guard", async () => {
    const options = { plugins: [guard], cwd: folder(), env: {}, home: folder() }
    await expect(createKit({ ...options, settings: settings({ shapes: { x: "(" } }) })).rejects.toMatchObject({
      code: "PLUGIN_SETTINGS_INVALID",
      message: expect.stringContaining("expected a regular expression"),
    })
    await (await createKit({ ...options, settings: mergeSettings([]) })).close()
  })

  test("costs no more than the length of a text", async () => {
    const kit = await createKit({ plugins: [guard], cwd: folder(), env: {}, home: folder() })
    const texts = ["a.", "sk-", "-eyJ", "://a:", "x:", "-----BEGIN "].map((part) => part.repeat(300_000 / part.length))
    const started = performance.now()
    for (const command of texts) {
      const { outcome } = await kit.testHooks("PreToolUse", { tool_name: "Bash", tool_input: { command } })
      expect(outcome.decision).toBe("pass")
    }
    expect(performance.now() - started).toBeLessThan(5000)
    await kit.close()
  })
})
