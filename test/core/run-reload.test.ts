import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import {
  createKit,
  definePlugin,
  type KitOptions,
  loadSettings,
  type Plugin,
  parallel,
  type Recipe,
  type RunEvent,
  type RunResult,
  recipe,
  type SettingsReload,
  sh,
  use,
} from "sous"
import { describe, expect, test } from "vitest"
import { defaultPlugins } from "../../plugins/default.ts"
import { after, folder, lastResults, runPrompt, type TestOptions, type TestRun } from "../harness.ts"

const FILES = {
  managed: "managed/settings.json",
  local: "project/.sous/settings.local.json",
  project: "project/.sous/settings.json",
  user: "home/.config/sous/settings.json",
  hooks: "project/.hooks.json",
  userHooks: "home/.config/sous/.hooks.json",
} as const

/** A kit's options that follow the settings, and how often these were read again. */
interface Opened {
  kit: Partial<KitOptions>
  loads(): number
}

/** A project and a home with settings of their own. */
function createPlace() {
  const root = folder({ "project/.git/HEAD": "", "home/.config/sous/keep": "", "managed/keep": "" })
  const at = (path: string) => join(root, path)
  return {
    project: at("project"),
    at,
    put(scope: keyof typeof FILES, values: object | string): string {
      const file = at(FILES[scope])
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, typeof values === "string" ? values : JSON.stringify(values, null, 2))
      return file
    },
    remove: (scope: keyof typeof FILES) => rmSync(at(FILES[scope])),
    /** A hook script that writes its input to `log` and ends as it is told. */
    script(name: string, end: string): string {
      const file = at(name)
      writeFileSync(file, `#!/bin/sh\ncat >> ${at("log")}; echo >> ${at("log")}\n${end}\n`)
      chmodSync(file, 0o755)
      return file
    },
    async open(more: { trust?: boolean } = {}): Promise<Opened> {
      const home = at("home")
      const options = {
        cwd: at("project"),
        env: { HOME: home },
        home,
        managed: at("managed"),
        managedClaude: at("none"),
      }
      const loaded = await loadSettings({ ...options, ...more })
      let loads = 0
      const load: SettingsReload["load"] = (again) => {
        loads++
        return loadSettings({ ...options, ...more, ...again })
      }
      const { settings, hooks, folders } = loaded
      const projectDir = folders.root ?? options.cwd
      return { kit: { settings, hooks: hooks.sources, reload: { loaded, load }, projectDir }, loads: () => loads }
    },
  }
}

type Place = ReturnType<typeof createPlace>

interface Step {
  command: string
  /** Done before the call, once the one before it is over. */
  change?: () => unknown
}

/** Calls commands, one in each turn. Returns what came of each, and what was told meanwhile. */
async function callAll(
  { project, open }: Place,
  steps: readonly Step[],
  { opened, unused, ...options }: TestOptions & { opened?: Opened; unused?: "ignore" } = {},
): Promise<TestRun & { said: string[]; notices: string[] }> {
  const { kit } = opened ?? (await open())
  const turns = [...steps.map(({ command }) => ({ tool: { Bash: { command } } })), { text: "done" }]
  const run = await runPrompt(unused ? ({ turns, unused } as never) : turns, {
    cwd: project,
    ...options,
    kit,
    plugins: [...(options.plugins ?? []), changer(steps)],
  })
  return {
    ...run,
    said: run.bodies.slice(1).map((body) => lastResults(body)[0]?.text ?? ""),
    notices: told(run.events),
  }
}

function changer(steps: readonly Step[]): Plugin {
  let index = 0
  const next = () => void steps[++index]?.change?.()
  const hooks = { PostToolUse: next, PostToolUseFailure: next, PermissionDenied: next }
  return definePlugin({ name: "changer", hooks })
}

function told(events: readonly RunEvent[]): string[] {
  return events.flatMap((event) => (event.type === "notice" ? [event.message] : []))
}

const rules = (lists: { allow?: string[]; ask?: string[]; deny?: string[]; rules?: string[] }) => ({
  permissions: lists,
})
const two = { command: "touch two" }
const TOUCH = ["Bash(touch *)"]
const DENIED = /The rule "Bash\(touch two\)" .* denies/
const NOT_ALLOWED = /No rule allows the command/

describe("a run whose settings change", () => {
  test.each(["managed", "local", "project", "user"] as const)("goes by a deny rule that comes to %s", async (scope) => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    const change = () => place.put(scope, rules({ allow: TOUCH, deny: ["Bash(touch two)"] }))
    const { said, notices } = await callAll(place, [two, { ...two, change }])
    expect(said[0]).not.toMatch(DENIED)
    expect(said[1]).toMatch(DENIED)
    expect(notices[0]).toMatch(/from here on this holds: deny rule "Bash\(touch two\)" \(\w+ settings, .*\.json:\d+\)$/)
  })

  test("asks where an ask rule comes, and where an allow rule goes", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: ["Bash(touch *)", "Bash(mkdir *)"] }))
    const { said, notices } = await callAll(place, [
      two,
      { ...two, change: () => place.put("project", rules({ ask: ["Bash(touch two)"] })) },
      { command: "mkdir three" },
      { command: "mkdir four", change: () => place.put("user", rules({ allow: ["Bash(touch *)"] })) },
    ])
    expect(said[1]).toMatch(/asks about/)
    expect(said[2]).not.toMatch(/rule/)
    expect(said[3]).toMatch(NOT_ALLOWED)
    expect(notices[1]).toMatch(/holds: without the allow rule "Bash\(mkdir \*\)" \(user settings, .*:\d+\)$/)
  })

  test("keeps what would be taken out of its guards, and says where that stood", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH, deny: ["Bash(touch two)"] }))
    const file = place.put("project", rules({ ask: ["Bash(touch three)"] }))
    const { said, notices } = await callAll(place, [
      two,
      { ...two, change: () => place.put("user", rules({ allow: TOUCH })) },
      { command: "touch three", change: () => place.put("project", {}) },
      // Back again, it is in force as it was.
      { ...two, change: () => place.put("user", rules({ allow: TOUCH, deny: ["Bash(touch two)"] })) },
    ])
    expect([said[0], said[1], said[3]]).toEqual([DENIED, DENIED, DENIED].map((text) => expect.stringMatching(text)))
    expect(said[2]).toMatch(/asks about/)
    expect(notices).toEqual([
      expect.stringMatching(
        /^Taken out of the settings, and in force until the next start: deny rule "Bash\(touch two\)"/,
      ),
      `Taken out of the settings, and in force until the next start: ask rule "Bash(touch three)" (project settings, ${file}:4)`,
    ])
  })

  test("waits with what widens until the next start, and says so once", async () => {
    const place = createPlace()
    place.put("user", { model: "claude-opus-5-5" })
    const wide = { model: "claude-haiku-5-5", env: { A: "b" }, permissions: { allow: TOUCH, denialLimit: 20 } }
    const { said, notices, bodies } = await callAll(place, [
      { command: "true" },
      { ...two, change: () => place.put("user", wide) },
      { ...two, change: () => place.put("user", { ...wide, $schema: "x" }) },
    ])
    expect(said.slice(1)).toEqual([expect.stringMatching(NOT_ALLOWED), expect.stringMatching(NOT_ALLOWED)])
    expect(new Set(bodies.map(({ model }) => model))).toEqual(new Set(["claude-opus-5-5"]))
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(
      /^Changed in the settings, and of effect from the next start on: allow rule "Bash\(touch \*\)"/,
    )
    expect(notices[0]).toMatch(/model, permissions\.denialLimit, env$/)
  })

  test("takes fewer denials and no barred mode", async () => {
    const place = createPlace()
    const tight = { permissions: { denialLimit: 2, disableBypassPermissionsMode: "disable" } }
    const change = () => void place.put("local", tight)
    const { said, result } = await callAll(place, [two, { ...two, change }, two, two], {
      mode: "bypassPermissions",
      unused: "ignore",
    })
    expect(said[0]).not.toMatch(NOT_ALLOWED)
    expect(said[1]).toMatch(NOT_ALLOWED)
    expect(result).toMatchObject({ status: "denied", turns: 3 })
  })

  test("goes by the organisation's rules alone once that says so, and by no grant", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: ["Bash(mkdir *)"] }))
    const only = { allowManagedPermissionRulesOnly: true, ...rules({ allow: ["Bash(mkdir b)"] }) }
    const asked: string[] = []
    const { said } = await callAll(
      place,
      [two, two, { command: "mkdir a", change: () => place.put("managed", only) }, { command: "mkdir b" }, two],
      {
        ask: async ({ input, suggestions }) => {
          asked.push((input as { command: string }).command)
          return asked.length > 1
            ? { behavior: "deny" }
            : { behavior: "allow", remember: "session", rules: suggestions }
        },
      },
    )
    expect(asked).toEqual(["touch two", "mkdir a", "mkdir b", "touch two"])
    expect(said.map((text) => /refused/.test(text))).toEqual([false, false, true, true, true])
  })

  test("adds a guard to an ordered list and keeps the order of the others", async () => {
    const place = createPlace()
    place.put("user", rules({ rules: ["allow Bash(touch *)", "deny Bash"] }))
    const changed = [
      "ask Bash(touch a)",
      "deny Bash(touch two)",
      "allow Bash(touch *)",
      "allow Bash(rm *)",
      "deny Bash",
    ]
    const { said, notices } = await callAll(place, [
      two,
      { ...two, change: () => place.put("user", rules({ rules: changed })) },
      { command: "touch three" },
      { command: "rm three" },
    ])
    expect(said.map((text) => /denies|decides about/.test(text))).toEqual([false, true, false, true])
    expect(notices.join()).toContain('entry "deny Bash(touch two)"')
    expect(notices.join()).toContain('from the next start on: entry "allow Bash(rm *)"')
  })
})

describe("a file that breaks during a run", () => {
  test.each([
    ["syntax", '{ "permissions": { "deny": [', /settings\.json" at \d+:\d+/],
    ["an unknown key", '{ "permisions": {} }', /Unknown setting "permisions" at .*settings\.json:1:3/],
    ["nothing", "", /settings\.json/],
    ["a wrong type", '{ "permissions": { "deny": "Bash" } }', /Setting "permissions\.deny" at .*settings\.json:1/],
  ])("keeps what it said: %s", async (_, text, place) => {
    const at = createPlace()
    const good = rules({ allow: TOUCH, deny: ["Bash(touch two)"] })
    at.put("user", good)
    const { said, notices, events } = await callAll(at, [
      two,
      { ...two, change: () => at.put("user", text) },
      { command: "touch three", change: () => at.put("user", text) },
      { command: "touch four", change: () => at.put("project", rules({ deny: ["Bash(touch four)"] })) },
      { ...two, change: () => at.put("user", good) },
    ])
    expect([said[0], said[1], said[4]]).toEqual([DENIED, DENIED, DENIED].map((wanted) => expect.stringMatching(wanted)))
    expect(said[2]).not.toMatch(/rule/)
    // What comes to another file holds all the same.
    expect(said[3]).toMatch(/denies/)
    expect(notices).toHaveLength(3)
    expect(notices[0]).toMatch(place)
    expect(notices[0]).toMatch(/; what was in force before stays in force: /)
    expect(events.find(({ type }) => type === "notice")).toMatchObject({ level: "warning", code: /^SETTINGS_/ })
    expect(notices[2]).toBe(`The settings in "${at.at("home/.config/sous/settings.json")}" are in order again`)
  })

  test("keeps what it said when it is gone, and when nobody may read it", async () => {
    const place = createPlace()
    const good = rules({ allow: TOUCH, deny: ["Bash(touch two)"] })
    place.put("user", good)
    const { said, notices } = await callAll(place, [
      two,
      { ...two, change: () => place.remove("user") },
      { command: "touch three", change: () => place.put("project", {}) },
      { ...two, change: () => place.put("user", good) },
    ])
    expect(said.map((text) => DENIED.test(text))).toEqual([true, true, false, true])
    expect(said[2]).not.toMatch(NOT_ALLOWED)
    expect(notices).toEqual([
      expect.stringMatching(/settings\.json": it is gone; what was in force before stays in force/),
      expect.stringMatching(/are in order again$/),
    ])
  })

  test("leaves out one rule that does not parse, and takes the others", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    const change = () => place.put("project", rules({ deny: ["Bash(touch one", "Bash(touch two)"] }))
    const { said, notices } = await callAll(place, [two, { ...two, change }, two])
    expect(said.slice(1)).toEqual([DENIED, DENIED].map((wanted) => expect.stringMatching(wanted)))
    expect(notices.filter((text) => /Bash\(touch one.*parenthesis/.test(text))).toHaveLength(1)
  })

  test("keeps all as it was when reading fails in a way that nobody foresaw", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH, deny: ["Bash(touch two)"] }))
    const opened = await place.open()
    opened.kit.reload = { ...opened.kit.reload!, load: () => Promise.reject(new Error("the disk is on fire")) }
    const change = () => place.put("user", {})
    const { said, events } = await callAll(place, [two, { ...two, change }], { opened })
    expect(said[1]).toMatch(DENIED)
    const notice = events.find(({ type }) => type === "notice")
    expect(notice).toMatchObject({ code: "SETTINGS_RELOAD_FAILED", message: expect.stringContaining("on fire") })
  })
})

const asked = (text: string) => ({ last_user_contains: text })

describe("whoever decides in a run", () => {
  const denyTwo = (place: Place) => void place.put("project", rules({ deny: ["Bash(touch two)"] }))

  test("a subagent at work sees the change", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: [...TOUCH, "Agent"] }))
    const { kit } = await place.open()
    const { bodies } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), tool: { Agent: { description: "work", prompt: "part" } } },
          { when: asked("part"), tool: { Bash: { command: "touch one" } } },
          { when: { contains: "part", last_user_contains: "no output" }, tool: { Bash: { command: "touch two" } } },
          { when: asked("denies"), text: "could not" },
          { when: asked("could not"), text: "done" },
        ],
      } as never,
      {
        cwd: place.project,
        kit,
        rewrites: true,
        plugins: [definePlugin({ name: "changer", hooks: { PostToolUse: () => denyTwo(place) } })],
      },
    )
    expect(lastResults(bodies.at(-2))[0]?.text).toMatch(DENIED)
  })

  test("parallel branches, steps of recipes, and a recipe used as a step with rules of its own see it", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    const inner: Recipe<any, any> = recipe({
      name: "inner",
      description: "Inner",
      permissions: { deny: ["Bash(touch three)"] },
    })
      .step("two", () => sh`touch two`, { onFail: "continue" })
      .step("three", () => sh`touch three`, { onFail: "continue" })
    const outer = recipe({ name: "outer", description: "Outer" })
      .step("before", () => sh`touch two`)
      .step("both", () => parallel({ a: sh`touch two`, b: sh`touch four` }), { onFail: "continue" })
      .step("inner", () => use(inner, {}))
    const { result, events } = await runRecipe(place, outer, "before", () => denyTwo(place))
    const failed = events.flatMap((event) => (event.type === "step_finished" && !event.ok ? [event.id] : []))
    expect(failed).toEqual(expect.arrayContaining(["both/a", "inner/two", "inner/three"]))
    expect(failed).not.toContain("before")
    expect(failed).not.toContain("both/b")
    expect(result.denials.length).toBeGreaterThanOrEqual(3)
  })

  test("a recipe at work inside of another sees it under its own rules too", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    const inner: Recipe<any, any> = recipe({
      name: "inner",
      description: "Inner",
      permissions: { deny: ["Bash(touch three)"] },
    })
      .step("before", () => sh`touch two`)
      .step("two", () => sh`touch two`, { onFail: "continue" })
      .step("three", () => sh`touch three`, { onFail: "continue" })
    const outer = recipe({ name: "outer", description: "Outer" }).step("inner", () => use(inner, {}))
    const { events } = await runRecipe(place, outer, "inner/before", () => denyTwo(place))
    const failed = events.flatMap((event) => (event.type === "step_finished" && !event.ok ? [event.id] : []))
    expect(failed).toEqual(["inner/two", "inner/three"])
  })

  test("an answer that a person gives after the change does not lift it", async () => {
    const place = createPlace()
    const questions: string[] = []
    const { said } = await callAll(place, [two, { command: "touch three" }], {
      ask: async ({ input }) => {
        questions.push((input as { command: string }).command)
        denyTwo(place)
        return { behavior: "allow", remember: "session" }
      },
    })
    expect(questions).toEqual(["touch two", "touch three"])
    expect(said[0]).toMatch(DENIED)
    expect(said[1]).not.toMatch(/rule/)
  })

  test("what a person allows while nothing tightens it is asked about once", async () => {
    const place = createPlace()
    let questions = 0
    const { said } = await callAll(place, [two], {
      ask: async () => {
        questions++
        place.put("project", rules({ ask: ["Bash(touch two)"] }))
        return { behavior: "allow" }
      },
    })
    expect(questions).toBe(1)
    expect(said[0]).not.toMatch(/rule/)
  })

  test("a grant of the conversation stays, and does not lift a deny rule that comes", async () => {
    const place = createPlace()
    const { said } = await callAll(place, [two, two, { ...two, change: () => denyTwo(place) }], {
      ask: async ({ suggestions }) => ({ behavior: "allow", remember: "session", rules: suggestions }),
    })
    expect(said.map((text) => DENIED.test(text))).toEqual([false, false, true])
  })
})

/** Runs a recipe without a model; the change is made when the step has ended. */
async function runRecipe(place: Place, steps: Recipe<any, any>, after_: string, change: () => void) {
  const { kit: options } = await place.open()
  const home = place.at("home")
  const plugin = definePlugin({
    name: "changer",
    hooks: { StepEnd: ({ step_id }) => (step_id === after_ ? change() : undefined) },
  })
  const plugins = [...defaultPlugins, plugin]
  const kit = await createKit({
    cwd: place.project,
    env: { PATH: process.env["PATH"], HOME: home },
    ...options,
    plugins,
  })
  after(() => kit.close())
  const events: RunEvent[] = []
  const result: RunResult<any> = await kit.run(steps, { onEvent: (event) => events.push(event) }).result
  return { result, events }
}

describe("hooks", () => {
  const preToolUse = (command: string) => ({ hooks: { PreToolUse: [{ matcher: "Bash", command }] } })

  test("a guard that comes to a person's own settings judges the next call; one of a project waits", async () => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    place.put("project", rules({ allow: ["Bash(make)"] }))
    const guard = place.script("guard.sh", "echo no more >&2; exit 1")
    const { said, notices } = await callAll(
      place,
      [
        two,
        { ...two, change: () => place.put("hooks", preToolUse(guard)) },
        { ...two, change: () => place.put("userHooks", preToolUse(guard)) },
      ],
      { opened: await place.open({ trust: true }) },
    )
    expect(said[1]).not.toContain("no more")
    expect(said[2]).toContain("no more")
    expect(notices).toEqual([
      expect.stringMatching(/next start on: PreToolUse hook for "Bash" \(.*project\/\.hooks\.json:\d+\)$/),
      expect.stringMatching(/this holds: PreToolUse hook for "Bash" \(.*sous\/\.hooks\.json:\d+\)$/),
    ])
  })

  test("a hook that comes may refuse and not allow", async () => {
    const place = createPlace()
    const answer = JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" } })
    const yes = place.script("yes.sh", `echo '${answer}'`)
    const nested = { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: yes }] }] } }
    const there = createPlace()
    there.put("user", nested)
    expect((await callAll(there, [two])).said[0]).not.toMatch(NOT_ALLOWED)
    const { said } = await callAll(place, [two, { ...two, change: () => place.put("user", nested) }])
    expect(said).toEqual([NOT_ALLOWED, NOT_ALLOWED].map((wanted) => expect.stringMatching(wanted)))
  })

  test.each([
    ["taken out", (place: Place) => place.put("userHooks", { hooks: {} })],
    ["gone with its file", (place: Place) => place.remove("userHooks")],
    ["in a file that is broken", (place: Place) => place.put("userHooks", "{")],
    ["switched off", (place: Place) => place.put("user", { ...rules({ allow: TOUCH }), disableAllHooks: true })],
  ])("a hook that is %s still guards", async (_, change) => {
    const place = createPlace()
    place.put("user", rules({ allow: TOUCH }))
    const guard = place.script("guard.sh", "echo no more >&2; exit 1")
    place.put("userHooks", preToolUse(guard))
    let calls = 0
    // A call that a guard refuses is told to no other event.
    const onCall = () => void (++calls === 1 && change(place))
    const plugins = [definePlugin({ name: "first", hooks: { PreToolUse: onCall } })]
    const { said, notices } = await callAll(place, [two, two, two], { plugins })
    expect(said).toEqual(["no more", "no more", "no more"].map((text) => expect.stringContaining(text)))
    expect(notices.length).toBeGreaterThanOrEqual(1)
    expect(notices.join()).toMatch(/\.hooks\.json/)
  })
})

describe("trust during a run", () => {
  const hook = (place: Place) => ({ hooks: { PreToolUse: [{ command: `touch ${place.at("ran")}` }] } })

  test("what widens in a project that nobody trusts does not count, and its guards do", async () => {
    const place = createPlace()
    place.put("project", {})
    const change = () => {
      place.put("project", { ...hook(place), ...rules({ allow: TOUCH, deny: ["Bash(true)"] }), env: { A: "b" } })
      place.put("hooks", hook(place))
    }
    const { said, notices } = await callAll(place, [two, { ...two, change }, { command: "true" }])
    expect(said.slice(0, 2)).toEqual([NOT_ALLOWED, NOT_ALLOWED].map((wanted) => expect.stringMatching(wanted)))
    expect(said[2]).toMatch(/denies/)
    expect(existsSync(place.at("ran"))).toBe(false)
    expect(notices.join()).toContain('deny rule "Bash(true)"')
  })

  test("a trusted project that changes keeps what it was trusted with, and adds guards alone", async () => {
    const place = createPlace()
    place.put("project", rules({ allow: TOUCH }))
    const opened = await place.open({ trust: true })
    const wide = rules({ allow: [...TOUCH, "Bash(rm *)"], deny: ["Bash(touch two)"] })
    const change = () => place.put("project", { ...wide, ...hook(place) })
    const { said } = await callAll(
      place,
      [{ command: "touch one" }, { ...two, change }, { command: "touch one" }, { command: "rm one" }],
      { opened },
    )
    expect(said.map((text) => /rule|allows/.test(text))).toEqual([false, true, false, true])
    expect(existsSync(place.at("ran"))).toBe(false)
    expect(opened.loads()).toBeLessThanOrEqual(2)
  })
})

describe("ConfigChange", () => {
  const configChange = (command: string, matcher?: string) => ({
    hooks: { ConfigChange: [{ ...(matcher ? { matcher } : {}), command }] },
  })
  const fired = (place: Place) =>
    existsSync(place.at("log"))
      ? readFileSync(place.at("log"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : []

  test("fires once for each scope that changed, before anything applies, with the scope in both protocols", async () => {
    const place = createPlace()
    place.put("userHooks", configChange(place.script("tell.sh", "exit 0")))
    const { notices } = await callAll(place, [
      { command: "true" },
      {
        command: "true",
        change: () => {
          place.put("project", rules({ deny: ["Bash(touch two)"] }))
          place.put("managed", rules({ deny: ["Bash(touch three)"] }))
        },
      },
      // Nothing but its place has changed.
      { command: "true", change: () => place.put("managed", JSON.stringify(rules({ deny: ["Bash(touch three)"] }))) },
    ])
    expect(fired(place)).toEqual([
      expect.objectContaining({
        hook_event_name: "ConfigChange",
        scope: "managed",
        source: "policy_settings",
        file_path: place.at("managed/settings.json"),
      }),
      expect.objectContaining({
        scope: "project",
        source: "project_settings",
        file_path: place.at("project/.sous/settings.json"),
        cwd: place.project,
      }),
    ])
    expect(notices).toHaveLength(1)
  })

  test.each([
    ["native", (command: string) => configChange(command, "user"), "exit 1"],
    [
      "claude-code",
      (command: string) => ({
        hooks: { ConfigChange: [{ matcher: "user_settings", hooks: [{ type: "command", command }] }] },
      }),
      "exit 2",
    ],
  ])("a block keeps what was allowed, and never a guard out (%s)", async (_, configure, end) => {
    const place = createPlace()
    place.put("userHooks", configure(place.script("block.sh", `echo not now >&2; ${end}`)))
    place.put("user", rules({ allow: ["Bash(touch *)", "Bash(mkdir *)"] }))
    place.put("project", {})
    const change = () => place.put("user", rules({ allow: ["Bash(touch *)"], deny: ["Bash(touch two)"] }))
    const { said, notices } = await callAll(place, [
      { command: "mkdir one" },
      { ...two, change },
      { command: "mkdir three" },
      { command: "touch four", change: () => place.put("project", rules({ deny: ["Bash(touch four)"] })) },
    ])
    expect(said.map((text) => /rule/.test(text))).toEqual([false, true, false, true])
    expect(fired(place).map(({ scope }) => scope)).toEqual(["user"])
    expect(notices[0]).toBe("A hook blocks the change of the user settings (not now); its guards apply all the same")
  })

  test("a block of the managed settings is ignored", async () => {
    const place = createPlace()
    place.put("userHooks", configChange(place.script("block.sh", "echo not now >&2; exit 1")))
    place.put("managed", rules({ allow: ["Bash(mkdir *)"] }))
    const change = () => place.put("managed", {})
    const { said, notices } = await callAll(place, [{ command: "mkdir a" }, { command: "mkdir b", change }])
    expect(said[0]).not.toMatch(NOT_ALLOWED)
    expect(said[1]).toMatch(NOT_ALLOWED)
    expect(notices[0]).toMatch(/managed settings \(not now\); managed settings apply all the same$/)
  })

  test("a hook that breaks or asks a model holds nothing up", async () => {
    const place = createPlace()
    place.put("userHooks", configChange(place.at("missing.sh")))
    const change = () => place.put("project", rules({ deny: ["Bash(touch two)"] }))
    const { said } = await callAll(place, [two, { ...two, change }])
    expect(said[1]).toMatch(DENIED)
    const other = createPlace()
    other.put("userHooks", { hooks: { ConfigChange: [{ type: "agent", prompt: "Fine? $ARGUMENTS" }] } })
    const { kit } = await other.open()
    const { bodies } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), tool: { Bash: { command: "touch one" } } },
          { when: { contains: "You judge one event" }, text: '{"ok": true}' },
          { when: asked("No rule"), tool: { Bash: { command: "touch two" } } },
          { when: asked("denies"), text: "done" },
        ],
      } as never,
      {
        cwd: other.project,
        kit,
        rewrites: true,
        plugins: [
          definePlugin({
            name: "changer",
            hooks: { PermissionDenied: () => void other.put("project", rules({ deny: ["Bash(touch two)"] })) },
          }),
        ],
      },
    )
    expect(lastResults(bodies.at(-1))[0]?.text).toMatch(DENIED)
  })
})

test("a thousand turns in which nothing changes read no settings, and what others write beside them is no change", async () => {
  const place = createPlace()
  place.put("user", rules({ allow: TOUCH }))
  place.put("project", rules({ deny: ["Bash(touch two)"] }))
  place.put("hooks", { hooks: {} })
  // File times lag behind the clock: a change just before the start would rightly be looked into.
  await sleep(50)
  const opened = await place.open()
  let turns = 0
  const noise = definePlugin({
    name: "noise",
    hooks: {
      PostToolUse: () => void (++turns % 100 === 0 && writeFileSync(place.at(`project/.sous/log-${turns}`), "")),
    },
  })
  const read = { tool: { Read: { file_path: place.at("project/.sous/settings.json") } } }
  writeFileSync(place.at("turns.json"), JSON.stringify({ turns: [{ ...read, times: 1000 }, { text: "done" }] }))
  const { result } = await runPrompt([], {
    cwd: place.project,
    kit: opened.kit,
    plugins: [noise],
    model: `script:${place.at("turns.json")}`,
    maxTurns: 2000,
  })
  expect(result).toMatchObject({ status: "ok" })
  expect(opened.loads()).toBe(0)
})
