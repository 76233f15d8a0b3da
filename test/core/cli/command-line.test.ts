import { expect, test } from "vitest"
import { pairsOfFlags, parseCommandLine } from "../../../core/cli/command-line.ts"

test.each([
  [
    ["run", "r.ts", "--param", "a=b", "--param=c=d"],
    { command: "run", args: ["r.ts"], values: { param: ["a=b", "c=d"] } },
  ],
  [["--model", "x", "run", "r.ts", "--quiet"], { command: "run", args: ["r.ts"], values: { model: "x", quiet: true } }],
  [["fix the bug", "-p"], { command: "prompt", args: ["fix the bug"], values: { print: true } }],
  [["-p", "hello"], { command: "prompt", args: ["hello"], values: { print: true } }],
  [["-p"], { command: "prompt", args: [], values: { print: true } }],
  [["修复"], { command: "prompt", args: ["修复"], values: {} }],
  [["-p", "--", "--model is what?"], { command: "prompt", args: ["--model is what?"], values: { print: true } }],
  [["--allow-run", "do it now"], { command: "prompt", args: ["do it now"], values: { allowRun: true } }],
  [
    ["--allow-run=git,npm", "--allow-run=ls", "--deny-net", "do it now"],
    { command: "prompt", args: ["do it now"], values: { allowRun: ["git", "npm", "ls"], denyNet: true } },
  ],
  [["check", "a.ts", "b.yaml", "--json"], { command: "check", args: ["a.ts", "b.yaml"], values: { json: true } }],
  [
    ["compact", "id", "--try", "cut", "--focus=the end"],
    { command: "compact", args: ["id"], values: { try: "cut", focus: "the end" } },
  ],
  [["context", "--tools", "Read,Grep"], { command: "context", args: [], values: { tools: ["Read", "Grep"] } }],
])("parseCommandLine() reads %j", async (argv, expected) => {
  expect(await parseCommandLine(argv)).toMatchObject(expected)
})

test.each([
  [["contxt"], "CLI_COMMAND_UNKNOWN", 'write "sous context"'],
  [["context", "--try", "cut"], "CLI_FLAG_UNKNOWN", undefined],
  [["rnu"], "CLI_COMMAND_UNKNOWN", 'write "sous run"'],
  [["rnu", "r.ts"], "CLI_COMMAND_UNKNOWN", 'write "sous run"'],
  [["hello"], "CLI_COMMAND_UNKNOWN", 'write sous -p "hello" to use it as a prompt'],
  [["green.ts"], "CLI_COMMAND_UNKNOWN", 'write "sous run green.ts"'],
  [["fix", "the", "bug"], "CLI_ARGUMENT_UNEXPECTED", "put the whole prompt into quotes"],
  [["run", "a.ts", "b.ts"], "CLI_ARGUMENT_UNEXPECTED", "give one recipe: sous run ./green.ts"],
  [["run", "a.ts", "--allow-run", "ls"], "CLI_ARGUMENT_UNEXPECTED", undefined],
  [
    ["-p", "x y", "--allow-run", "ls"],
    "CLI_ARGUMENT_UNEXPECTED",
    "write its list behind an equals sign: --allow-run=…",
  ],
  [
    ["explain", "Bash", "git", "push"],
    "CLI_ARGUMENT_UNEXPECTED",
    "put the whole call into quotes: sous explain Bash 'git push'",
  ],
  [["help", "permissons"], "CLI_COMMAND_UNKNOWN", 'write "sous help permissions"'],
  [["help", "x"], "CLI_COMMAND_UNKNOWN", 'write "sous help"'],
  [["run"], "CLI_ARGUMENT_MISSING", "run, for example, sous run ./green.ts"],
  [[], "CLI_ARGUMENT_MISSING", 'run, for example, sous "explain what this project does"'],
  [["-p", "x y", "--modle=x"], "CLI_FLAG_UNKNOWN", 'write "--model"'],
  [["run", "--modle", "x", "r.ts"], "CLI_FLAG_UNKNOWN", 'write "--model"'],
  [["run", "r.ts", "-x"], "CLI_FLAG_UNKNOWN", 'run "sous run --help" for all flags'],
  [["run", "r.ts", "--a=1", "2"], "CLI_ARGUMENT_UNEXPECTED", "give one recipe: sous run ./green.ts"],
  [["-p", "x y", "--resum"], "CLI_FLAG_UNKNOWN", 'write "--resume"'],
  [["-p", "x y", "-c", "-r"], "CLI_FLAGS_CONFLICT", "leave one of the two out"],
  [["-p", "--resume", "go on"], "CLI_VALUE_INVALID", 'put the prompt first: sous "PROMPT" --resume'],
  [["run", "r.ts", "-c"], "CLI_FLAG_OF_PROMPT", 'leave it out, or write sous "PROMPT" -c'],
  [["--fork", "run", "r.ts"], "CLI_FLAG_OF_PROMPT", 'leave it out, or write sous "PROMPT" --fork'],
  [["--grant", "x y"], "CLI_FLAG_UNKNOWN", undefined],
  [["--system", "x", "run", "r.ts"], "CLI_FLAG_UNKNOWN", 'run "sous run --help" for all flags'],
  [["run", "r.ts", "--model"], "CLI_VALUE_MISSING", "give it one: --model VALUE"],
  [["x y", "--model", "a", "--replay", "b"], "CLI_FLAGS_CONFLICT", "leave one of the two out"],
  [["-c"], "CLI_ARGUMENT_MISSING", 'run, for example, sous "and now the tests" --continue'],
  [["-r"], "CLI_ARGUMENT_MISSING", 'run, for example, sous "and now the tests" --resume'],
  [["-c", "sesions"], "CLI_COMMAND_UNKNOWN", 'write "sous sessions"'],
  [["/compact"], "CLI_COMMAND_UNKNOWN", 'write "sous compact", or sous /compact --continue'],
  [["context", "--nope"], "CLI_FLAG_UNKNOWN", 'run "sous context --help" for all flags'],
  [["x y", "--max-turns", "1.5"], "CLI_VALUE_INVALID", "give --max-turns a whole number above 0"],
  [["x y", "--effort", "hihg"], "CLI_VALUE_INVALID", 'write "high"'],
  [["x y", "--allow-read=a,,b"], "CLI_VALUE_INVALID", undefined],
])("parseCommandLine() refuses %j with %s", async (argv, code, mend) => {
  await expect(parseCommandLine(argv)).rejects.toMatchObject({ code, ...(mend === undefined ? {} : { mend }) })
})

test("parseCommandLine() leaves flags that are not ours to the recipe", async () => {
  const line = await parseCommandLine([
    "run",
    "r.ts",
    "--base",
    "dev",
    "--quiet",
    "--n=-1",
    "--m",
    "-2",
    "--dry-run",
    "--model",
    "x",
  ])
  expect(line.values).toEqual({ quiet: true, model: "x" })
  expect(line.args).toEqual(["r.ts"])
  expect(pairsOfFlags(line.own, ["base", "n", "m", "dryRun"])).toEqual(["base=dev", "n=-1", "m=-2", "dryRun=true"])
})

test("pairsOfFlags() refuses what neither the recipe nor the command has, naming the nearest of both", () => {
  const refused = (mend: string) => expect.objectContaining({ code: "CLI_FLAG_UNKNOWN", mend })
  expect(() => pairsOfFlags([{ flag: "--bse" }], ["base"])).toThrow(refused('write "--base"'))
  expect(() => pairsOfFlags([{ flag: "--resume" }], ["base"])).toThrow(
    expect.objectContaining({ code: "CLI_FLAG_OF_PROMPT" }),
  )
  expect(pairsOfFlags([{ flag: "--resume", value: "x" }], ["resume"])).toEqual(["resume=x"])
  expect(() => pairsOfFlags([{ flag: "--system", value: "x" }], ["base"])).toThrow(
    refused('run "sous run --help" for all flags'),
  )
  expect(() => pairsOfFlags([{ flag: "--modle", value: "x" }], ["base"])).toThrow(refused('write "--model"'))
})

test.each([
  [["/compact", "-c"], "/compact"],
  [["-c", "continue"], "continue"],
  [["retry", "-r", "4f9a"], "retry"],
])("parseCommandLine() takes the one word of %j as what a session goes on with", async (argv, word) => {
  expect(await parseCommandLine(argv)).toMatchObject({ command: "prompt", args: [word] })
})

test("parseCommandLine() shows the help of a command whose further word is asked about too", async () => {
  expect((await parseCommandLine(["help", "sessions", "rm"])).help()).toContain("sous sessions rm SESSION…")
})

test.each(["run", "check", "hooks", "help"])("parseCommandLine() has help with an example for %s", async (command) => {
  const { help } = await parseCommandLine(["help", command])
  expect(help()).toContain(`Usage: sous ${command}`)
  expect(help()).toMatch(/Examples:\n {2}sous /)
})

test("parseCommandLine() lists commands and flags in the help of all", async () => {
  const text = (await parseCommandLine(["--help"])).help()
  for (const word of ["run RECIPE", "check [FILE…]", "--allow-run [list]", "--budget", "Examples:"])
    expect(text).toContain(word)
})
