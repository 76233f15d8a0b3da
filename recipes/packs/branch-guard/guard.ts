/** Refuses commits on a protected branch, and pushes that rewrite or reach one, with what to do instead. */
import { readFile } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { block, definePlugin, type HookAnswer, type HookPayload, z } from "sous"

const settings = z.strictObject({
  /** Branches that nobody commits or pushes to directly. */
  branches: z.array(z.string()).default(["main", "master"]),
})

export default definePlugin({
  name: "branch-guard",
  settings: settings.default(() => settings.parse({})),
  setup({ settings: given, cwd }) {
    const { branches } = given as z.output<typeof settings>
    return {
      hooks: {
        PreToolUse: {
          matcher: "Bash",
          description: "protected branches",
          handler: (event) => judge(event, { branches, cwd }),
        },
      },
    }
  },
})

interface Guarded {
  branches: readonly string[]
  cwd: string
}

async function judge({ tool_input }: HookPayload<"PreToolUse">, guarded: Guarded): Promise<HookAnswer | undefined> {
  const { command } = (tool_input ?? {}) as { command?: unknown }
  if (typeof command !== "string") return undefined
  for (const words of gitCalls(command)) {
    const [verb = "", ...args] = words
    const problem = verb === "push" ? pushProblem(args, guarded.branches) : undefined
    if (problem !== undefined) return block(problem)
    if (!COMMITTING.includes(verb) && verb !== "push") continue
    const branch = await currentBranch(guarded.cwd)
    if (branch === undefined || !guarded.branches.includes(branch)) continue
    if (verb === "push" && pushTargets(args).length > 0) continue
    return block(`"${branch}" is protected: create a branch first (git switch -c NAME), then git ${verb}`)
  }
  return undefined
}

/** Commands that put something new on the branch that is checked out. */
const COMMITTING = ["commit", "merge", "rebase", "cherry-pick", "revert", "am"]

/** What each `git` in a command line is told to do: its verb and the words behind it. */
function gitCalls(command: string): string[][] {
  return command.split(/&&|\|\||[;|&\n()]/).flatMap((part) => {
    const words = part.trim().split(/\s+/).map(unquote)
    const at = words.findIndex((word) => /(?:^|\/)git$/.test(word))
    if (at === -1) return []
    let rest = words.slice(at + 1)
    while (rest[0]?.startsWith("-")) rest = rest.slice(/^-[cC]$/.test(rest[0]) ? 2 : 1)
    return [rest]
  })
}

function unquote(word: string): string {
  return word.replace(/^(["'])(.*)\1$/, "$2")
}

function pushTargets(args: readonly string[]): string[] {
  return args.filter((arg) => !arg.startsWith("-")).slice(1)
}

function pushProblem(args: readonly string[], branches: readonly string[]): string | undefined {
  const isForced = args.some((arg) => /^--force$|^--mirror$|^-[a-z]*f[a-z]*$/.test(arg))
  const targets = pushTargets(args)
  if (isForced || targets.some((target) => target.startsWith("+")))
    return "This push would overwrite what others have: use --force-with-lease on a branch of your own"
  const reached = targets.map((target) => target.replace(/^.*:/, "").replace(/^refs\/heads\//, ""))
  const branch = reached.find((name) => branches.includes(name))
  if (branch !== undefined) return `"${branch}" is protected: push a branch of your own and open a pull request`
  return args.includes("--all") ? "This push would reach protected branches: name the branch to push" : undefined
}

/** The branch that is checked out; undefined: none is, or this is no repository. */
async function currentBranch(cwd: string): Promise<string | undefined> {
  try {
    const head = await readFile(join(isAbsolute(cwd) ? cwd : ".", ".git/HEAD"), "utf8")
    return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  } catch {
    return undefined
  }
}
