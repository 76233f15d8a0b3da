/**
 * `sous trust`: what a project would add → a person's yes, kept outside of the project; `status` and `revoke`.
 *
 * Invariant: what was shown is what is trusted; without a yes nothing is; it refuses to run inside of a run, so that no
 * agent trusts anything.
 */
import { nearestName, SousError } from "../error.ts"
import { stateFolderFor } from "../session/store.ts"
import type { Tree } from "../session/tree.ts"
import { printsOf, removeTrust, saveTrust } from "../session/trust.ts"
import { loadSettings } from "../settings/load.ts"
import type { ProjectTrust } from "../settings/project-trust.ts"
import { findProjectRoot, homeFolder } from "../settings/scopes.ts"
import { readSubject } from "../settings/trust-settle.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { listTrust } from "./trust-listing.ts"
import { listingForMachines, listingForPeople, statusForMachines, statusForPeople } from "./trust-text.ts"

/** Returns 0, or 1 after a no. Throws CLI_INSIDE_RUN, CLI_ARGUMENT_…, TRUST_…, TREE_… and SETTINGS_… errors. */
export async function trust(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "trust")
  const [word] = line.args
  checkFlags(line, word)
  if (word === undefined) return await ask(line, host)
  if (word === "status") return await status(line, host)
  if (word === "revoke") return await revoke(line, host)
  const near = nearestName(word, ["status", "revoke"])
  const mend = near ? `write "sous trust ${near}"` : 'write "sous trust", "sous trust status" or "sous trust revoke"'
  throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend })
}

function checkFlags({ values }: CommandLine, word: string | undefined): void {
  const flag = (["yes", "follow"] as const).find((name) => values[name])
  if (word === undefined || flag === undefined) return
  throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: `--${flag}`, mend: `write "sous trust --${flag}"` })
}

/** The project as it lies there; nothing of it runs. */
async function look(host: Host): Promise<ProjectTrust> {
  const { env } = host
  const [cwd, home] = [await host.cwd(), homeFolder(env)]
  return (await loadSettings({ cwd, env, home, load: async () => ({ default: {} }) })).trust
}

/** A project that was looked at and brings something, or is to be followed. */
interface Subject {
  trust: ProjectTrust
  root: string
  tree: Tree
}

async function ask(line: CommandLine, host: Host): Promise<number> {
  const { values } = line
  for (let first = true; ; first = false) {
    const found = await show(line, host)
    if (found === undefined) return 0
    if (!(values.yes || (await isConfirmed(found, line, host)))) return 1
    if (await isSame(found, host)) {
      await keep(found, { follow: values.follow === true })
      tellDone(found, line, host)
      return 0
    }
    if (values.yes || !first) throw new SousError("TRUST_CHANGED", { file: found.root })
    host.tell("! It changed while you looked at it; this is how it is now")
  }
}

/** Undefined: there is nothing to say yes to, and the person was told. */
async function show({ values }: CommandLine, host: Host): Promise<Subject | undefined> {
  const trust = await look(host)
  const { root } = trust.question
  if (root === undefined && values.follow) throw new SousError("TRUST_PROJECT_MISSING", { folder: await host.cwd() })
  if (root === undefined || (trust.state === "nothing" && !values.follow)) {
    const why = root === undefined ? "this folder belongs to no project" : `"${root}" brings nothing that needs it`
    if (values.json) host.print(`${JSON.stringify(statusForMachines(trust))}\n`)
    else host.print(host.escape(`Nothing to trust: ${why}\n`))
    return undefined
  }
  const { tree } = await readSubject(trust.question, root)
  const entries = listTrust(trust.question, tree)
  if (values.json) host.print(`${JSON.stringify(listingForMachines(trust, tree, entries))}\n`)
  else host.print(host.escape(listingForPeople(trust, entries)))
  if (trust.state !== "trusted" || values.follow) return { trust, root, tree }
  host.tell("It is trusted already")
  return undefined
}

async function isConfirmed({ root }: Subject, { values }: CommandLine, host: Host): Promise<boolean> {
  const asker = await host.openAsker()
  if (asker === undefined) throw new SousError("TRUST_NOT_ASKED", { project: root })
  const text = values.follow ? `Trust "${root}", whatever will lie there?` : `Trust "${root}" as it is?`
  const hint = values.follow
    ? "any change there counts at once, and nobody asks again"
    : "its code and commands run with your rights; one byte changed, and this is asked again"
  return await asker.confirm({ text, hint, yes: "trusted", no: "not trusted" }, host.signal)
}

async function isSame({ root, tree }: Subject, host: Host): Promise<boolean> {
  const { question } = await look(host)
  return question.root === root && (await readSubject(question, root)).tree.hash === tree.hash
}

async function keep({ trust, root, tree }: Subject, { follow }: { follow: boolean }): Promise<void> {
  const { state } = trust.question
  const record = { at: new Date().toISOString(), hash: tree.hash, files: printsOf(tree) }
  await saveTrust(state, root, follow ? { ...record, follow: true } : record)
}

function tellDone({ root, tree }: Subject, { values }: CommandLine, host: Host): void {
  if (values.follow) host.tell(`"${root}" is trusted whatever lies there, until "sous trust revoke"`)
  else host.tell(`"${root}" is trusted: ${filesInWords(tree.files.size)} now`)
}

function filesInWords(count: number): string {
  return count === 1 ? "1 file as it is" : `${count} files as they are`
}

async function status({ values }: CommandLine, host: Host): Promise<number> {
  const trust = await look(host)
  if (values.json) host.print(`${JSON.stringify(statusForMachines(trust))}\n`)
  else host.print(host.escape(statusForPeople(trust)))
  return 0
}

async function revoke({ values }: CommandLine, host: Host): Promise<number> {
  const home = homeFolder(host.env)
  // Settings that are broken keep nobody from taking trust back.
  const root = findProjectRoot(await host.cwd(), { home })
  const revoked = root !== undefined && (await removeTrust(stateFolderFor(host.env, home), root))
  if (values.json) host.print(`${JSON.stringify({ revoked })}\n`)
  else host.tell(revoked ? `"${root}" is not trusted any more` : "There was nothing to revoke")
  return 0
}
