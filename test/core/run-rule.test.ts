import { definePlugin, mergeSettings, type RuleSource } from "sous"
import { expect, test } from "vitest"
import { folder, runPrompt, serve, testKit } from "../harness.ts"

/** The organisation lets only its own rules allow; everybody else has a rule that would. */
const settings = mergeSettings([
  {
    scope: "managed",
    base: "/",
    values: { allowManagedPermissionRulesOnly: true, permissions: { allow: ["Bash(echo managed *)"] } },
  },
  { scope: "user", base: "/", values: { permissions: { allow: ["Bash(touch user)"], deny: ["WebFetch"] } } },
])
const rules: RuleSource[] = [{ text: "Bash(touch cli)", behavior: "allow", scope: "cli" }]
const guest = definePlugin({ name: "guest", permissions: { allow: ["Bash(touch plugin)"], deny: ["Write"] } })
const flags = { allow: { run: true as const, env: ["CI"] }, deny: { net: true as const } }

test("kit.permissions() lists only the organisation's allow rules where it keeps them to itself, and every deny rule", async () => {
  const server = await serve([])
  const kit = await testKit(server, { cwd: folder(), plugins: [guest], kit: { settings } })
  const listed = await kit.permissions({ rules, flags })
  expect(listed.rules.filter(({ behavior }) => behavior === "allow").map(({ text }) => text)).toEqual([
    "Bash(echo managed *)",
  ])
  expect(listed.rules.filter(({ behavior }) => behavior === "deny").map(({ text }) => text)).toEqual(
    expect.arrayContaining(["WebFetch", "Write", "--deny-net"]),
  )
  expect(listed.warnings).toEqual([
    "What --allow-… flags and -A grant is ignored: allowManagedPermissionRulesOnly is set",
  ])
})

test("nothing that a person, a flag, a plugin or another scope allows spares a question then", async () => {
  const asked: string[] = []
  const commands = ["touch a", "touch a", "touch user", "touch cli", "touch plugin", "echo managed x"]
  const turns = commands.map((command) => ({ tool: { Bash: { command } } }))
  await runPrompt([...turns, { text: "done" }], {
    cwd: folder(),
    plugins: [guest],
    kit: { settings },
    rules,
    flags,
    ask: async ({ input }) => {
      asked.push((input as { command: string }).command)
      return { behavior: "allow", remember: "session" }
    },
  })
  expect(asked).toEqual(commands.slice(0, -1))
})
