/**
 * The words after `sous` → a command with its arguments and flags, or the fault in them.
 *
 * Invariant: nothing unknown is taken for something else: a flag that is not in the table and a word that is no command
 * are refused with the nearest right one.
 */
import type { Command } from "commander"
import { nearestName, SousError } from "../error.ts"
import { FLAGS, type Flag, type FlagValues, LIST_FLAGS, WITHOUT_LIST } from "../settings/flag.ts"
import { SESSION_FLAG_NAMES } from "../settings/flag-session.ts"
import { isRecipePath } from "../settings/recipe-file.ts"
import { COMMANDS, type CommandName, type CommandValues } from "./command.ts"
import type { CommandRow } from "./command-row.ts"

/** What was asked for. */
export interface CommandLine {
  command: CommandName
  args: string[]
  /** Flags of `run` that are not ours: parameters of the recipe, if it has them. */
  own: OwnFlag[]
  values: CommandValues
  /** The command's help, ready to print. */
  help(): string
}

/** A flag as it was given; without a value when nothing that could be one came after it. */
export interface OwnFlag {
  flag: string
  value?: string
}

/** Reads a command line. Throws CLI_… errors. */
export async function parseCommandLine(argv: readonly string[]): Promise<CommandLine> {
  const { CommanderError } = await import("commander")
  let line: CommandLine | undefined
  const program = await createProgram((command, args) => {
    const name = nameOf(command)
    const values = { ...program.opts(), ...command.opts() }
    line = {
      command: name,
      ...(name === "run" ? cutOwnFlags(args) : { args, own: [] }),
      values,
      help: () => helpOf(command),
    }
  })
  const words = argv.map((word) => (LIST_FLAGS.includes(word) ? `${word}=${WITHOUT_LIST}` : word))
  try {
    program.parse(words, { from: "user" })
  } catch (error) {
    throw error instanceof CommanderError ? refusalOf(error, argv) : error
  }
  if (line!.command !== "help") return checkLine(line!)
  const [word] = line!.args
  const commands = program.commands.map((one) => one.name())
  if (word !== undefined && word !== "prompt" && !commands.includes(word)) {
    const near = nearestName(word, commands)
    throw new SousError("CLI_COMMAND_UNKNOWN", { word, mend: `write "sous help${near ? ` ${near}` : ""}"` })
  }
  const topic = program.commands.find((one) => one.name() === word) ?? program
  return { ...line!, help: () => helpOf(topic) }
}

/**
 * The recipe's own flags as `name=value` pairs: `--dry-run` is `dryRun=true`. `known` are its parameters. Throws
 * CLI_FLAG_UNKNOWN.
 */
export function pairsOfFlags(own: readonly OwnFlag[], known: readonly string[]): string[] {
  return own.map(({ flag, value = "true" }) => {
    const name = [flag.slice(2), camelCase(flag.slice(2))].find((one) => known.includes(one))
    if (name === undefined)
      throw unknownFlag(
        flag,
        "run",
        known.map((one) => `--${one}`),
      )
    return `${name}=${value}`
  })
}

/** The recipe comes first; what follows it and is no flag of ours is one of the recipe's. */
function cutOwnFlags(words: readonly string[]): { args: string[]; own: OwnFlag[] } {
  const first = words.findIndex((word) => word.startsWith("-"))
  if (first === -1) return { args: [...words], own: [] }
  if (first === 0) throw unknownFlag(words[0]!, "run")
  const args = words.slice(0, first)
  const own: OwnFlag[] = []
  for (const word of words.slice(first)) {
    const [, flag, value] = /^(--[A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const last = own.at(-1)
    if (flag !== undefined) own.push(value === undefined ? { flag } : { flag, value })
    else if (last && last.value === undefined && !/^-\D/.test(word)) last.value = word
    else if (word.startsWith("-")) throw unknownFlag(word, "run")
    else args.push(word)
  }
  return { args, own }
}

type Chosen = (command: Command, args: string[]) => void

async function createProgram(chosen: Chosen): Promise<Command> {
  const { Command, Option } = await import("commander")
  const create = (name: CommandName) => {
    const { args, usage, sentence } = COMMANDS[name]
    const command = new Command(name === "prompt" ? "sous" : name).description(sentence).argument(args).usage(usage)
    command.configureHelp({ subcommandTerm: termOf })
    command
      .exitOverride()
      .helpOption(false)
      .helpCommand(false)
      .configureOutput({ writeErr: () => {} })
    for (const flag of flagsOf(name)) {
      const option = new Option(flag.notation, flag.sentence).helpGroup(`${flag.group}:`)
      command.addOption(flag.parse ? option.argParser(flag.parse) : option)
    }
    // What a recipe takes is known once it is loaded.
    command.allowUnknownOption(name === "run")
    return command.action((given: string | string[] | undefined) => chosen(command, [given ?? []].flat()))
  }
  const program = create("prompt").enablePositionalOptions()
  for (const name of Object.keys(COMMANDS) as CommandName[]) if (name !== "prompt") program.addCommand(create(name))
  return program
}

/** What stands before a command's sentence in the list of them: its first way to be used, and no more. */
function termOf(command: Command): string {
  const [first = ""] = command.usage().split("\n")
  return `${command.name()} ${first.replace(/ ?\[flags\]$/, "")}`.trimEnd()
}

function nameOf(command: Command): CommandName {
  return command.parent ? (command.name() as CommandName) : "prompt"
}

function helpOf(command: Command): string {
  const examples = COMMANDS[nameOf(command)].examples.map((example) => `  ${example}\n`)
  return `${command.helpInformation()}\nExamples:\n${examples.join("")}`
}

function flagsOf(command: CommandName): readonly Flag[] {
  const help: Flag = { group: "Help", notation: "-h, --help", sentence: "show this" }
  const version: Flag = { group: "Help", notation: "-V, --version", sentence: "show the version" }
  return [...COMMANDS[command].flags, help, ...(command === "prompt" ? [version] : [])]
}

/** The faults that the library finds, as ours. */
function refusalOf(error: { code: string; message: string }, argv: readonly string[]): Error {
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? ""
  const command = argv.find((word): word is CommandName => word in COMMANDS) ?? "prompt"
  switch (error.code) {
    case "commander.unknownOption":
      return unknownFlag(quoted, command)
    case "commander.optionMissingArgument":
      return new SousError("CLI_VALUE_MISSING", { flag: longFlag(quoted) })
    default:
      return new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: quoted, mend: `run "sous ${command} --help"` })
  }
}

function unknownFlag(given: string, command: CommandName, more: readonly string[] = []): SousError {
  const [flag = given] = given.split("=")
  if (command === "run" && SESSION_FLAG_NAMES.includes(flag)) return new SousError("CLI_FLAG_OF_PROMPT", { flag })
  const known = [...more, ...flagsOf(command).map(({ notation }) => longFlag(notation))]
  const help = command === "prompt" ? "sous --help" : `sous ${command} --help`
  return new SousError("CLI_FLAG_UNKNOWN", { flag, known, help })
}

function longFlag(notation: string): string {
  return /--[\w-]+/.exec(notation)?.[0] ?? notation
}

/** Refuses what the library lets through: foreign flags, flags that exclude each other, words that are no prompt. */
function checkLine(line: CommandLine): CommandLine {
  const { command, args, values } = line
  const { flags, takes }: CommandRow = COMMANDS[command]
  const own = flags.map(nameOfFlag)
  const foreign = FLAGS.find((flag) => !own.includes(nameOfFlag(flag)) && nameOfFlag(flag) in values)
  if (foreign) throw unknownFlag(longFlag(foreign.notation), command)
  for (const [one, other] of EXCLUSIVE) {
    if (values[one] !== undefined && values[other] !== undefined) {
      throw new SousError("CLI_FLAGS_CONFLICT", { one: `--${one}`, other: `--${other}` })
    }
  }
  if (values.help || values.version) return line
  if (command === "prompt") checkPromptWords(args, values)
  if (args.length < takes.least) throw new SousError("CLI_ARGUMENT_MISSING", takes)
  const beyond = args[takes.most]
  if (beyond !== undefined) {
    const mend = mendBeyond(line, takes)
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: beyond, mend })
  }
  return line
}

function mendBeyond({ command, values }: CommandLine, takes: CommandRow["takes"]): string {
  const bare = mendBareList(values)
  if (bare !== undefined) return bare
  if (command === "explain") return `put the whole call into quotes: ${takes.example}`
  return takes.most === 1 ? `give one ${takes.what}: ${takes.example}` : `run "sous help ${command}"`
}

/** For a word that goes astray beside a flag that was given no list: it was probably meant for that flag. */
function mendBareList(values: FlagValues): string | undefined {
  const given: Readonly<Record<string, unknown>> = { ...values }
  const flag = FLAGS.find((one) => LIST_FLAGS.includes(longFlag(one.notation)) && given[nameOfFlag(one)] === true)
  return flag && `write its list behind an equals sign: ${longFlag(flag.notation)}=…`
}

const EXCLUSIVE = [
  ["model", "replay"],
  ["record", "replay"],
  ["quiet", "verbose"],
  ["continue", "resume"],
] as const satisfies [keyof FlagValues, keyof FlagValues][]

function nameOfFlag({ notation }: Flag): string {
  return camelCase(longFlag(notation).slice(2))
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * A bare word is a command that was misspelt, or a recipe without `run`; `-p` makes it a prompt, and so does going on with a
 * session, unless it is nearly a command.
 */
function checkPromptWords(args: readonly string[], values: FlagValues): void {
  const [first, second] = args
  const goesOn = values.continue ? "--continue" : values.resume !== undefined ? "--resume" : undefined
  if (first === undefined) {
    const example = goesOn ? `sous "and now the tests" ${goesOn}` : COMMANDS.prompt.examples[0]!
    if (!values.print) throw new SousError("CLI_ARGUMENT_MISSING", { what: "prompt", example })
    return
  }
  const near = nearestName(first, Object.keys(COMMANDS))
  const isWord = /^[A-Za-z][\w-]*$/.test(first)
  if (second !== undefined && !(isWord && near)) {
    const mend = mendBareList(values) ?? "put the whole prompt into quotes"
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: second, mend })
  }
  if ((values.print || (goesOn && !(isWord && near))) && second === undefined) return
  const isRecipe = !/\s/.test(first) && isRecipePath(first)
  if (!isWord && !isRecipe) return
  const mend =
    first === "/compact"
      ? 'write "sous compact", or sous /compact --continue'
      : isRecipe
        ? `write "sous run ${first}"`
        : near
          ? `write "sous ${near}"`
          : `write sous -p "${first}" to use it as a prompt`
  throw new SousError("CLI_COMMAND_UNKNOWN", { word: first, mend })
}
