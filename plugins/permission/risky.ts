/**
 * A call → what is risky about it, by the list of shapes and by where it reaches; nothing when nothing is.
 *
 * Invariant: pure; what nobody can say before it runs counts as risky, and so does a tool that shows nothing of what it
 * touches.
 */
import { resolve } from "node:path"
import type { SafetyCall, SafetyCommand, SafetyPath } from "sous"
import { DEV_TOOLS, DISPOSABLE, SECRETS, TURNING, VALUED } from "./lists.ts"
import { SHAPES } from "./shapes.ts"

/** Why the call is to be stopped, as the end of a sentence. */
export function findRisk(call: SafetyCall): string | undefined {
  return (
    riskOfTool(call) ??
    firstOf(call.commands, (command) => riskOfCommand(command, call)) ??
    firstOf(call.paths, (path) => riskOfPath(path)) ??
    firstOf(call.targets, (target) => (target.kind === "url" ? riskOfUrl(target.url) : undefined))
  )
}

/** Tools that do nothing by themselves: what a subagent does is judged call by call. */
const HARMLESS_ROLES = new Set(["subagent", "exitPlan", "memory"])

function riskOfTool({ role, sideEffects, targets, tool }: SafetyCall): string | undefined {
  if (sideEffects === "external") return "what it does cannot be taken back"
  if (role !== undefined && HARMLESS_ROLES.has(role)) return undefined
  const shown = targets.some(({ kind }) => kind !== "name")
  return shown ? undefined : `${tool} does not show what it touches`
}

const TEMPORARY = /^(?:\/private)?(?:\/tmp|\/var\/tmp|\/var\/folders)\/./

function riskOfPath({ access, change, written, exact, places, inside }: SafetyPath): string | undefined {
  const secret = places.some(isSecret) || isSecret(written)
  if (secret && (access === "read" || !inside)) return `it touches "${written}", where secrets are kept`
  if (access === "read" || inside) return undefined
  const temporary = exact && places.length > 0 && places.every((place) => TEMPORARY.test(place))
  if (temporary && !change) return undefined
  return `it ${change ? "removes or changes" : "writes"} "${written}", which is not known to lie in the folders of the work`
}

function isSecret(path: string): boolean {
  return SECRETS.some((pattern) => pattern.test(path))
}

function riskOfCommand(command: SafetyCommand, call: SafetyCall): string | undefined {
  const { program, words, sets, opaque, readOnly } = command
  const secret = words.find(isSecret)
  if (secret !== undefined && program !== "echo") return `it names "${secret}", where secrets are kept`
  const turned = [...sets, ...(/^(?:export|declare|typeset)$/.test(program) ? words.slice(1) : [])]
    .map((word) => word.replace(/\+?=.*$/s, ""))
    .find((name) => TURNING.test(name))
  if (turned !== undefined) return `it sets ${turned}, which changes what programs do`
  if (opaque !== undefined && !testsNode(command)) return opaque
  if (readOnly || program === "") return undefined
  return (
    firstOf(SHAPES, (shape) => fits(shape, command)) ??
    riskOfRemoval(command) ??
    riskOfTransfer(command) ??
    riskOfPlace(command, call)
  )
}

/** `node --test` finds its files by itself. */
function testsNode({ program, words }: SafetyCommand): boolean {
  return program === "node" && words.includes("--test") && !words.some((word) => /^-(?:-?e|-?p)/.test(word))
}

function fits({ program, words, unless, why }: (typeof SHAPES)[number], command: SafetyCommand): string | undefined {
  const [name, text] = nameAndWords(command)
  if (!program.test(name) || (words && !words.test(text)) || unless?.test(text)) return undefined
  return isDevTool(name, text) ? undefined : why
}

/** The program and its words; `python -m pip` is pip, options in front of the first operand are left out. */
function nameAndWords({ program, words }: SafetyCommand): [string, string] {
  const args = words.slice(1)
  if (/^(?:python|pypy)[\d.]*$/.test(program) && args[0] === "-m" && args[1] !== undefined)
    return [args[1], args.slice(2).join(" ")]
  const valued = Object.hasOwn(VALUED, program) ? VALUED[program]! : undefined
  let at = 0
  while (valued && at < args.length && args[at]!.startsWith("-")) at += valued.includes(args[at]!) ? 2 : 1
  const skipped = args.slice(0, at).join(" ")
  const rest = args.slice(at).join(" ")
  // Options in front stay in sight of the shapes, behind the words.
  return [program, skipped === "" ? rest : `${rest} ${skipped}`]
}

function isDevTool(name: string, text: string): boolean {
  if (!/^(?:npx|bunx|pnpx|uvx|npm|pnpm|yarn|bun)$/.test(name)) return false
  if (/(?:^|\s)(?:-p|--package|-c|--call|-y|--yes|--with|--from)(?:[\s=]|$)/.test(text)) return false
  const [first = "", second = ""] = text.split(/\s+/)
  return DEV_TOOLS.has(/^(?:npx|bunx|pnpx|uvx)$/.test(name) ? first : /^(?:exec|x)$/.test(first) ? second : "")
}

function riskOfRemoval({ program, words, open }: SafetyCommand): string | undefined {
  if (program !== "rm" && program !== "unlink" && program !== "rmdir") return undefined
  const operands = words.flatMap((word, at) =>
    at > 0 && !/^-./.test(word) ? [{ word, known: !open.includes(at) }] : [],
  )
  if (operands.length === 0) return "it deletes what other output names"
  if (!words.some((word) => /^-[A-Za-z]*[rR]|^--recursive/.test(word))) return undefined
  const lost = operands.find(({ word, known }) => !known || !isDisposable(word))
  return lost && `it deletes "${lost.word}" with all that is in it`
}

function isDisposable(path: string): boolean {
  const parts = path.split("/")
  return !parts.includes("..") && parts.some((part) => DISPOSABLE.has(part))
}

const SENDS =
  /(?:^|\s)(?:-[A-Za-z]*[dFTK](?:\s|\S|$)|--(?:data\S*|json|form\S*|upload-file|config|post-data|post-file|body-data|body-file|method)(?:[\s=]|$)|-X\s?(?!GET|HEAD|OPTIONS)\w|--request[\s=](?!GET|HEAD|OPTIONS))/
const LOCAL =
  /^(?:[a-z]+:\/\/)?(?:[^@/\s]*@)?(?:localhost|[\w-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|$)/i

function riskOfTransfer({ program, words, open }: SafetyCommand): string | undefined {
  if (!/^(?:curl|wget|wget2|http|https|xh|aria2c|fetch)$/.test(program)) return undefined
  const urls = words.slice(1).filter((word) => /^[a-z]+:\/\/|^[\w.-]+\.[a-z]{2,}(?:[:/]|$)|^localhost/i.test(word))
  if (urls.length > 0 && urls.every((url) => LOCAL.test(url))) return undefined
  if (open.length > 0) return "it sends another machine what nobody knows before it runs"
  const text = words.slice(1).join(" ")
  if (SENDS.test(text) || /^(?:http|https|xh)$/.test(program)) return "it sends data to another machine"
  return firstOf(urls, (url) => riskOfUrl(/:\/\//.test(url) ? url : `https://${url}`))
}

/** Characters of a query that may well be a search; longer ones could carry a file away. */
const MAX_QUERY_CHARS = 300

function riskOfUrl(text: string): string | undefined {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return "its address cannot be read"
  }
  if (!/^https?:$/.test(url.protocol)) return `it uses ${url.protocol.slice(0, -1)}`
  if (url.username !== "" || url.password !== "") return "its address holds a password"
  if (/^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|\[f[cd]|\[fe80|metadata\.)/i.test(url.hostname))
    return `it asks "${url.hostname}", a machine of the inner network`
  return url.search.length > MAX_QUERY_CHARS ? "its address carries much more than a question" : undefined
}

const SYSTEM_PROGRAMS = /^(?:\/usr(?:\/local)?|\/opt\/(?:homebrew|local))?\/s?bin\//
const INTERPRETER =
  /^(?:(?:ba|da|z|k|mk|a|fi)?sh|python|pypy|perl|ruby|node|nodejs|deno|bun|tsx|ts-node|php|lua|luajit|rscript|tclsh|source|\.)[\d.]*$/

/** Where it runs, and where what it runs comes from. */
function riskOfPlace(command: SafetyCommand, { roots }: SafetyCall): string | undefined {
  const { program, words, open, bases, inside } = command
  if (program === "cd") return undefined
  if (!inside) return "it runs outside of the folders of the work"
  const isOwn = (file: string) =>
    (bases ?? []).every((base) => roots.some((root) => `${resolve(base, file)}/`.startsWith(`${root}/`)))
  const [first = ""] = words
  if (first.includes("/") && !SYSTEM_PROGRAMS.test(first) && !isOwn(first))
    return `it runs "${first}", a program from outside of the work`
  if (!INTERPRETER.test(program)) return undefined
  const at = words.findIndex((word, index) => index > 0 && !word.startsWith("-"))
  // `python -m NAME`, `deno test`: a name, no file.
  if (at < 0 || words[at - 1] === "-m" || (/^(?:deno|bun)$/.test(program) && !/[./]/.test(words[at]!))) return undefined
  if (open.includes(at)) return "it runs a file that nobody knows before it runs"
  return isOwn(words[at]!) ? undefined : `it runs "${words[at]}", a script from outside of the work`
}

function firstOf<T>(list: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of list) {
    const found = find(one)
    if (found !== undefined) return found
  }
  return undefined
}
