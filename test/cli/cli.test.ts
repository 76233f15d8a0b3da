/**
 * The command line from outside: what it prints where, and the code it ends with.
 */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { finished, type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

/** A recipe of one command; `head` is more YAML on top. YAML loads faster than TypeScript. */
function shRecipe(text: string, head = ""): string {
  return `name: one
description: Runs a command
${head}
steps:
  - id: run
    sh: ${JSON.stringify(text)}
output: "\${{ run.stdout }}"
`
}

const ANSWER = "turns:\n  - text: Forty-two\n"
const BASH = (line: string) => `turns:\n  - tool: { Bash: { command: ${JSON.stringify(line)} } }\n  - text: done\n`

describe("--version and --help", () => {
  it("prints the version without loading anything but Node's own modules", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    expect(await place.run(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" })
    const imports = [...readFileSync(place.file, "utf8").matchAll(/(?:\bfrom|\bimport)\s*"([^"]+)"/g)]
    const loaded = imports.map(([, name]) => name).filter((name) => !name!.startsWith("node:"))
    expect(loaded).toEqual([])
  })

  it("lists the commands in lines that fit a terminal, each with its sentence beside it", async () => {
    const { stdout } = await place.run(["--help"])
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([])
    expect(stdout).toMatch(/^ {2}config \[explain KEY\] {2,}Shows the settings/m)
    expect(stdout).toMatch(/^ {2}doctor {2,}Says whether/m)
  })

  it.each([["--help"], ["help"], ["run", "--help"], ["help", "run"], ["check", "-h"]])(
    "prints help for %j",
    async (...args) => {
      const { code, stdout, stderr } = await place.run(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout).toMatch(/^Usage: sous[\s\S]*Examples:\n {2}sous/)
    },
  )

  it("shows the parameters of a recipe", async () => {
    place.put(
      "project/one.yaml",
      shRecipe("true", "params: { base: { type: string, default: main, description: branch } }"),
    )
    const { code, stdout } = await place.run(["run", "one.yaml", "--help"])
    expect(code).toBe(0)
    expect(stdout).toContain(`--param base=string  branch (default "main")`)
  })
})

describe("a prompt", () => {
  beforeEach(() => void place.put("project/turns.yaml", ANSWER))

  it("with -p prints the answer and nothing else", async () => {
    expect(await place.run(["-p", "What is it?", "--model", "script:turns.yaml"])).toEqual({
      code: 0,
      stdout: "Forty-two\n",
      stderr: "",
    })
  })

  it("without -p says on stderr how it went", async () => {
    const { code, stdout, stderr } = await place.run(["What is it?", "--model", "script:turns.yaml"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Forty-two\n" })
    expect(stderr).toMatch(/^✓ prompt ok · 1 turn · /)
  })

  it("takes what is piped in, after the argument", async () => {
    const turn = (text: string) =>
      `turns:\n  - expect: { last_user_contains: ${JSON.stringify(text)} }\n    text: good\n`
    place.put("project/turns.yaml", turn("Explain\n\nthe log"))
    const both = await place.run(["-p", "Explain", "--model", "script:turns.yaml"], { stdin: "the log\n" })
    expect(both).toEqual({ code: 0, stdout: "good\n", stderr: "" })
    place.put("project/turns.yaml", turn("only this"))
    const alone = await place.run(["-p", "--model", "script:turns.yaml"], { stdin: "only this" })
    expect(alone).toEqual({ code: 0, stdout: "good\n", stderr: "" })
  })

  it("takes what is piped in without -p too", async () => {
    const turns = `turns:\n  - expect: { last_user_contains: ${JSON.stringify("Explain this\n\nthe log")} }\n    text: good\n`
    place.put("project/turns.yaml", turns)
    const { code, stdout } = await place.run(["Explain this", "--model", "script:turns.yaml"], { stdin: "the log\n" })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "good\n" })
  })

  it("says that it waits for a pipe which nobody writes to, and reads on", () => {
    const script = 'sleep 4 | "$0" "$1" -p "What is it?" --model script:turns.yaml'
    const { status, stdout, stderr } = spawnSync("sh", ["-c", script, process.execPath, place.file], {
      cwd: place.project,
      env: place.env,
      encoding: "utf8",
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: "Forty-two\n" })
    expect(stderr).toContain("Reading stdin to its end")
  })

  it("does not wait for a stdin that nobody writes to", async () => {
    const child = place.start(["-p", "What is it?", "--model", "script:turns.yaml"])
    expect((await finished(child)).stdout).toBe("Forty-two\n")
  })

  it("with --output-schema answers with JSON of that form", async () => {
    place.put("project/turns.yaml", "structured_output: true\nturns:\n  - json: { sum: 3 }\n")
    const schema = `{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}`
    const { code, stdout } = await place.run(["-p", "Add", "--model", "script:turns.yaml", "--output-schema", schema])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ sum: 3 })
  })

  it("with --system and --append-system-prompt says them to the model", async () => {
    place.put(
      "project/turns.yaml",
      "turns:\n  - expect: { system_contains: [Be a pirate, And brief] }\n    text: Arr\n",
    )
    const flags = ["--system", "Be a pirate", "--append-system-prompt", "And brief"]
    expect(await place.run(["-p", "Hello you", "--model", "script:turns.yaml", ...flags])).toMatchObject({
      stdout: "Arr\n",
    })
  })

  it("is recorded and replayed", async () => {
    const recorded = await place.run(["-p", "What is it?", "--model", "script:turns.yaml", "--record", "tape.json"])
    expect(recorded).toMatchObject({ code: 0, stderr: "" })
    expect(await place.run(["-p", "What is it?", "--replay", "tape.json"])).toEqual({
      code: 0,
      stdout: "Forty-two\n",
      stderr: "",
    })
    expect(await place.run(["-p", "Something else", "--replay", "tape.json"])).toMatchObject({ stdout: "" })
  })
})

describe("permissions of the command line", () => {
  it("denies what nobody can be asked about, and names the flag", async () => {
    place.put("project/turns.yaml", BASH("touch made"))
    const { code, stdout, stderr } = await place.run(["-p", "Do it now", "--model", "script:turns.yaml"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" })
    expect(stderr).toMatch(/^✗ Bash denied: .*--allow-run/)
    expect(existsSync(join(place.project, "made"))).toBe(false)
  })

  it.each([[["--allow-run=node"]], [["--allow-run"]], [["-A"]], [["--allowed-tools", "Bash(node -e 0)"]]])(
    "runs a program with %j",
    async (flags) => {
      place.put("project/turns.yaml", BASH("node -e 0"))
      expect(await place.run(["-p", "Do it now", "--model", "script:turns.yaml", ...flags])).toEqual({
        code: 0,
        stdout: "done\n",
        stderr: "",
      })
    },
  )

  it("lets a deny rule stand above -A", async () => {
    place.put("project/turns.yaml", BASH("touch made"))
    const flags = ["-A", "--disallowed-tools", "Bash(touch *)"]
    const { stderr } = await place.run(["-p", "Do it now", "--model", "script:turns.yaml", ...flags])
    expect(stderr).toMatch(/^✗ Bash denied: /)
    expect(existsSync(join(place.project, "made"))).toBe(false)
  })
})

describe("run", () => {
  it("runs a recipe with its parameters: the output on stdout, the steps on stderr", async () => {
    const text = `import { recipe, sh, z } from "sous"
export default recipe({ name: "one", description: "d", params: z.object({ who: z.string(), n: z.number() }) })
  .step("run", ({ params }) => sh\`printf %s-%s \${params.who} \${params.n}\`)
  .output(({ run }) => run.stdout)`
    place.put("project/typed.ts", text)
    const { code, stdout, stderr } = await place.run([
      "run",
      "typed.ts",
      "--param",
      "who=you & me",
      "--n=3",
      "--allow-run=printf",
    ])
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: "you & me-3\n" })
    expect(stderr).toMatch(/▸ run[\s\S]*✓ run[\s\S]*✓ one ok/)
  })

  it("takes parameters from a file, and --param before them", async () => {
    place.put(
      "project/one.yaml",
      shRecipe("printf '%s' ${{ params.a + params.b }}", "params: { a: { type: string }, b: { type: string } }"),
    )
    place.put("project/params.yaml", "a: from file\nb: also\n")
    const { stdout } = await place.run([
      "run",
      "one.yaml",
      "--params",
      "params.yaml",
      "--param",
      "b= and flag",
      "--quiet",
    ])
    expect(stdout).toBe("from file and flag\n")
  })

  it("finds a recipe of the user by its name, and grants what it asks for", async () => {
    place.put(
      "home/.config/sous/recipes/mine.yaml",
      'name: mine\ndescription: d\npermissions: { allow: ["Bash(touch made)"] }\nsteps:\n  - id: run\n    sh: touch made\n',
    )
    expect(await place.run(["run", "mine"])).toMatchObject({ code: 0 })
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })

  it("grants a recipe that is named by its path nothing without --grant", async () => {
    place.put("project/one.yaml", shRecipe("touch made", `permissions: { allow: ["Bash(touch made)"] }`))
    const refused = await place.run(["run", "one.yaml"])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toMatch(/^! Not granted to recipe "one": Bash\(touch made\) \(--grant grants it\)\n/)
    expect(await place.run(["run", "one.yaml", "--grant"])).toMatchObject({ code: 0 })
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })

  it.each(["green", "review", "migrate"])("knows the shipped recipe %s", async (name) => {
    expect(await place.run(["run", name, "--help"])).toMatchObject({ code: 0, stderr: "" })
  })

  it("with --json writes one event a line", async () => {
    place.put("project/one.yaml", shRecipe("printf hi"))
    const { code, stdout, stderr } = await place.run(["run", "one.yaml", "--json", "--allow-run"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(events[0]).toMatchObject({ v: 1, type: "run_started", recipe: "one" })
    expect(events.at(-1)).toMatchObject({ v: 1, type: "run_finished", result: { status: "ok", exit: 0, output: "hi" } })
    expect(new Set(events.map(({ run }) => run)).size).toBe(1)
  })

  it("ends with the code of what went wrong", async () => {
    place.put("project/one.yaml", shRecipe("exit 3"))
    const { code, stdout, stderr } = await place.run(["run", "one.yaml", "--allow-run"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain('Failed in step "run" (tool)')
  })
})

describe("a start that cannot be", () => {
  it.each([
    [["rnu"], "CLI_COMMAND_UNKNOWN"],
    [["run", "none.yaml"], "RECIPE_FILE_MISSING"],
    [["run", "reveiw"], "RECIPE_UNKNOWN"],
    [["run", "bad.ts"], "RECIPE_EXPORT_INVALID"],
    [["run", "broken.ts"], "MODULE_SYNTAX_INVALID"],
    [["run", "twice.yaml"], "STEP_ID_DUPLICATE"],
    [["run", "names.yaml"], "EXPRESSION_NAME_UNKNOWN"],
    [["run", "./turns.txt"], "RECIPE_ENDING_UNKNOWN"],
    [["run", "one.yaml"], "PARAM_MISSING"],
    [["run", "one.yaml", "--param", "n"], "PARAM_PAIR_INVALID"],
    [["run", "one.yaml", "--n", "many"], "PARAM_INVALID"],
    [["run", "one.yaml", "--param", "b=1"], "PARAM_UNKNOWN"],
    [["run", "one.yaml", "--b=1"], "CLI_FLAG_UNKNOWN"],
    [["run", "one.yaml", "--params", "none.json"], "PARAM_FILE_INVALID"],
    [["-p", "x y", "--settings", "none.json"], "SETTINGS_FILE_UNREADABLE"],
    [["-p", "x y", "--settings", `{ "modle": "x" }`], "SETTINGS_KEY_UNKNOWN"],
    [["-p", "x y", "--mode", "bypassPermissions"], "CLI_BYPASS_REFUSED"],
    [["-p", "x y", "--plugin", "none.yaml"], "PLUGIN_NOT_FOUND"],
    [["-p", "x y", "--model", "nonsense"], "MODEL_UNKNOWN"],
    [["-p", "x y", "--model", "sonnet"], "MODEL_KEY_MISSING"],
    [["-p", "x y", "--model", "script:none.yaml"], "MODEL_SCRIPT_UNREADABLE"],
    [["-p", "x y", "--model", "script:turns.yaml", "--disallowed-tools", "Bash(rm"], "PERMISSION_RULE_INVALID"],
    [["-p"], "CLI_ARGUMENT_MISSING"],
  ])("%j ends with 2, three lines and %s", async (args, code) => {
    place.put("project/one.yaml", shRecipe("true", "params: { n: { type: number } }"))
    place.put("project/broken.ts", "export default {")
    place.put("project/turns.txt", "")
    place.put("project/twice.yaml", shRecipe("true").replace("output:", "  - id: run\n    value: 1\noutput:"))
    place.put("project/names.yaml", shRecipe("true").replace("run.stdout", "rnu.stdout"))
    place.put("project/bad.ts", "export default {}")
    place.put("project/turns.yaml", ANSWER)
    const ended = await place.run(args)
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toMatch(new RegExp(`^\\S.*\\n  mend  \\S.*\\n  code  ${code}\\n$`))
  })

  it("without a key for a model that nothing uses is none", async () => {
    place.put("home/.config/sous/settings.json", `{ "model": "sonnet" }`)
    place.put("project/one.yaml", shRecipe("echo fine"))
    expect(await place.run(["run", "one.yaml", "-A"])).toMatchObject({ code: 0, stdout: "fine\n" })
    const agent = "name: two\ndescription: d\nsteps: [{ id: a, agent: hello }]\n"
    place.put("project/two.yaml", agent)
    expect((await place.run(["run", "two.yaml"])).stderr).toContain("code  MODEL_KEY_MISSING")
  })

  it("without a model names the ways to go on", async () => {
    const { code, stdout, stderr } = await place.run(["-p", "hello there"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain("code  MODEL_NOT_CONFIGURED")
    expect(stderr).toContain("ANTHROPIC_API_KEY")
    expect(stderr).toContain("script:")
  })
})

describe("a folder that was deleted", () => {
  it("is named, with the way on", () => {
    const gone = join(place.folder, "gone")
    const script = 'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$2" "$3" run one.yaml'
    const args = ["-c", script, "sh", gone, process.execPath, place.file]
    const { status, stderr } = spawnSync("sh", args, { env: place.env, encoding: "utf8" })
    expect({ status, code: /CLI_\w+/.exec(stderr)?.[0] }).toEqual({ status: 2, code: "CLI_FOLDER_GONE" })
  })
})

describe("check", () => {
  it("says of each recipe whether it loads", async () => {
    place.put("project/one.yaml", shRecipe("true"))
    place.put("project/bad.yaml", "name: bad\ndescription: d\nsteps: [{ id: a, value: 1 }]\nstpes: []\n")
    const { code, stdout } = await place.run(["check", "one.yaml", "bad.yaml"])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^error {4}bad\.yaml:4:1 {2}.*\(RECIPE_YAML_KEY_UNKNOWN\)$/m)
    expect(stdout).toContain("ok       one.yaml  recipe one, 1 step\n")
    const json = await place.run(["check", "one.yaml", "bad.yaml", "--json"])
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      files: [{ as: "recipe one, 1 step" }, { as: "a recipe" }],
      findings: [{ level: "error", code: "RECIPE_YAML_KEY_UNKNOWN", line: 4 }],
    })
  })
})

describe("trust", () => {
  it("leaves what a project widens out and says so once; --trust applies it", async () => {
    place.put("project/turns.yaml", BASH("touch made"))
    place.put(
      "project/.sous/settings.json",
      `{ "model": "script:turns.yaml", "permissions": { "allow": ["Bash(touch made)"] } }`,
    )
    const refused = await place.run(["-p", "Do it now"])
    expect(refused.code).toBe(2)
    expect(refused.stderr.match(/nobody has trusted/g)).toHaveLength(1)
    expect(await place.run(["-p", "Do it now", "--trust"])).toEqual({ code: 0, stdout: "done\n", stderr: "" })
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })

  it("runs no code of a project that nobody trusts", async () => {
    const ran = join(place.folder, "ran")
    const code = `import { writeFileSync } from "node:fs"\nwriteFileSync(${JSON.stringify(ran)}, "")\nexport default { name: "evil" }\n`
    for (const file of [".sous/plugins/evil.ts", ".sous/recipes/evil.ts", ".config/config.js", "sous.config.ts"])
      place.put(`project/${file}`, code)
    place.put("project/.sous/settings.json", `{ "plugins": ["./.sous/plugins/evil.ts"] }`)
    place.put("project/turns.yaml", ANSWER)
    await place.run(["-p", "What is it?", "--model", "script:turns.yaml"])
    await place.run(["run", "evil"])
    expect(existsSync(ran)).toBe(false)
    await place.run(["-p", "What is it?", "--model", "script:turns.yaml", "--trust"])
    expect(existsSync(ran)).toBe(true)
  })
})

describe("plugins", () => {
  const GREETER = `import { definePlugin, defineTool, z } from "sous"
const greet = defineTool({ name: "Greet", description: "Greets", input: z.object({}), readOnly: true, execute: async () => "hello from the plugin" })
export default definePlugin({ name: "greeter", tools: [greet], recipes: [] })
`
  const TURNS = `turns:\n  - tool: { Greet: {} }\n  - expect: { last_user_contains: hello from the plugin }\n    text: greeted\n`

  it("loads those of the user, and goes on without one that throws", async () => {
    place.put("project/turns.yaml", TURNS)
    place.put("home/.config/sous/plugins/greeter.ts", GREETER)
    place.put("home/.config/sous/plugins/broken.ts", "throw new Error('boom')")
    const { code, stdout, stderr } = await place.run([
      "-p",
      "Greet me",
      "--model",
      "script:turns.yaml",
      "--allowed-tools",
      "Greet",
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "greeted\n" })
    expect(stderr).toMatch(/^! Plugin left out: .*broken\.ts.*boom; .+\n$/)
  })

  it.each([
    [["--strict"], {}],
    [[], { CI: "true" }],
    // Named for this start: a guard that does not load must not be left out.
    [[], {}],
  ])("stops the start with %j %j", async (flags, more) => {
    place.put("project/turns.yaml", TURNS)
    const broken = place.put("project/broken.ts", "export default 3")
    const ended = await place.run(["-p", "Greet me", "--model", "script:turns.yaml", "--plugin", broken, ...flags], {
      more,
    })
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toContain("code  PLUGIN_EXPORT_INVALID")
  })
})

describe("code that ends the process", () => {
  it("does not pass for a run that went well", async () => {
    place.put(
      "project/quits.ts",
      `import { recipe, value } from "sous"
      export default recipe({ name: "quits", description: "Quits" }).step("a", () => process.exit(0) ?? value(1))`,
    )
    const ended = await place.run(["run", "quits.ts"])
    expect(ended).toMatchObject({ code: 1, stdout: "" })
    expect(ended.stderr).toContain("it is not finished")
  })

  it("shows the mend of a failure inside the run", async () => {
    place.put("project/turns.yaml", "turns: []")
    place.put(
      "project/wrong.ts",
      `import { agent, recipe } from "sous"
      export default recipe({ name: "wrong", description: "Wrong" }).step("a", () => agent({ prompt: "p", tools: ["Raed"] }))`,
    )
    const ended = await place.run(["run", "wrong.ts", "--model", "script:turns.yaml"])
    expect(ended.stderr).toContain('mend  write "Read"\n  code  TOOL_UNKNOWN')
  })
})

describe("code that waits for ever", () => {
  it("at the top level of its file is said to", async () => {
    const recipe = `export default recipe({ name: "one", description: "d" }).step("a", () => value(1))\n`
    place.put("project/one.ts", `import { recipe, value } from "sous"\nawait new Promise(() => {})\n${recipe}`)
    const { code, stderr } = await place.run(["run", "./one.ts"])
    expect({ code, said: stderr.includes("code  CLI_STALLED") }).toEqual({ code: 1, said: true })
  })
})

describe("code that prints", () => {
  it("prints for people, never into the answer", async () => {
    const text = `import { recipe, value } from "sous"\nconsole.log("loading")\nexport default recipe({ name: "loud", description: "d" }).step("a", () => { console.info("making"); return value(1) }).output(() => "answer")\n`
    place.put("project/loud.ts", text)
    const { code, stdout, stderr } = await place.run(["run", "./loud.ts"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: "answer\n" })
    expect(stderr).toMatch(/loading\n[\s\S]*making\n/)
  })
})

describe("signals and streams", () => {
  /** Starts a recipe and waits until its command runs. */
  async function startSleeper(text: string) {
    place.put("project/one.yaml", shRecipe(`touch ready; ${text}`))
    const child = place.start(["run", "one.yaml", "--json", "-A"])
    const ended = finished(child)
    await expect.poll(() => existsSync(join(place.project, "ready")), { interval: 10, timeout: 10_000 }).toBe(true)
    return { child, ended }
  }

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s stops the run cleanly and ends with %i", async (signal, code) => {
    const { child, ended } = await startSleeper("echo $$ > pid; exec sleep 30")
    await expect.poll(() => existsSync(join(place.project, "pid"))).toBe(true)
    child.kill(signal)
    const { code: found, stdout } = await ended
    expect(found).toBe(code)
    expect(JSON.parse(stdout.trimEnd().split("\n").at(-1)!)).toMatchObject({
      type: "run_finished",
      result: { status: "cancelled" },
    })
    const pid = Number(readFileSync(join(place.project, "pid"), "utf8"))
    expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  })

  it("a second SIGINT ends it at once", async () => {
    const { child, ended } = await startSleeper("trap '' INT TERM; sleep 30; sleep 30")
    child.kill("SIGINT")
    await new Promise((resolve) => setTimeout(resolve, 50))
    const second = performance.now()
    child.kill("SIGINT")
    expect((await ended).code).toBe(130)
    expect(performance.now() - second).toBeLessThan(1000)
  })

  it("ends quietly when nobody reads stdout any more", async () => {
    const steps = ["sleep 0.2", "sleep 5", "touch late"].map((text, i) => `  - id: s${i}\n    sh: ${text}\n`)
    place.put("project/one.yaml", `name: one\ndescription: d\nsteps:\n${steps.join("")}`)
    const child = place.start(["run", "one.yaml", "--json", "-A"])
    const ended = finished(child)
    await once(child.stdout, "data")
    child.stdout.destroy()
    expect(await ended).toMatchObject({ code: 141, stderr: "" })
    expect(existsSync(join(place.project, "late"))).toBe(false)
  })

  it.runIf(existsSync("/dev/full"))("does not call it done when the answer could not be written", async () => {
    place.put("project/turns.yaml", ANSWER)
    const line = `${process.execPath} ${place.file} -p 'What is it?' --model script:turns.yaml > /dev/full`
    const { status, stderr } = spawnSync("/bin/sh", ["-c", line], {
      cwd: place.project,
      env: place.env,
      encoding: "utf8",
    })
    expect(status).toBe(1)
    expect(stderr).toContain("code  CLI_OUTPUT_LOST")
  })

  it("works without HOME, with a closed stdin and an empty PATH", async () => {
    place.put("project/turns.yaml", ANSWER)
    const line = `exec ${process.execPath} ${place.file} -p 'What is it?' --model script:turns.yaml <&-`
    const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", line], {
      cwd: place.project,
      env: { PATH: "", XDG_STATE_HOME: place.folder },
      encoding: "utf8",
    })
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "Forty-two\n", stderr: "" })
  })
})
