/**
 * What a pack may do, or what an update of it changes → shown to a person, who says yes or no; and kept after a yes.
 *
 * Invariant: nothing is kept before the yes; what runs with the person's rights stands out; without a terminal only
 * `--yes` is one.
 */
import { SousError } from "../error.ts"
import type { PackDifference } from "../pack/difference.ts"
import { type FetchedPack, keepPack } from "../pack/install.ts"
import { changeLock } from "../pack/lock.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import type { PackLine } from "../pack/words.ts"
import { writeSetting } from "../settings/write.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { isCode, type PackScope } from "./pack-place.ts"
import { keepProjectTrust } from "./pack-trust.ts"

const MARKS: Readonly<Record<PackLine["mark"], string>> = { alert: "!", guard: "-", plain: " ", note: "." }

/** A pack's lines for a terminal. */
export function packLines(lines: readonly PackLine[], sign = ""): string[] {
  // A line break in a text must not pass for a line of its own.
  return lines.map(({ mark, text }) => `  ${sign}${MARKS[mark]} ${text.replace(/[\r\n]+/g, "\\n")}`)
}

/** What an update changes, for a terminal. */
export function differenceLines({ added, removed, grows }: PackDifference): string[] {
  const sum = grows ? "It may do more than before:" : "It may do no more than before."
  return [sum, ...packLines(added, "+"), ...packLines(removed, "−")]
}

/** Shows lines and asks. Throws PACK_NOT_CONFIRMED where nobody can be asked and no `--yes` was given. */
export async function askFor(
  lines: readonly string[],
  { pack, command, question }: { pack: string; command: string; question: string },
  { line, host }: { line: CommandLine; host: Host },
): Promise<boolean> {
  if (line.values.yes) {
    for (const one of lines) host.tell(one)
    return true
  }
  const asker = await host.openAsker()
  if (asker === undefined) {
    for (const one of lines) host.tell(one)
    throw new SousError("PACK_NOT_CONFIRMED", { pack, command })
  }
  for (const one of lines) host.tell(one)
  const hint = "what it brings counts as it is now; a changed byte, and it is not loaded"
  const isAgreed = await asker.confirm({ text: question, hint, yes: "agreed", no: "left as it was" }, host.signal)
  // An interruption is no answer.
  host.signal.throwIfAborted()
  return isAgreed
}

/** Keeps a pack: its content, its lock and its place in the settings; a trusted project stays trusted. */
export async function keepInScope(
  fetched: FetchedPack,
  entry: LockEntry,
  { scope, host }: { scope: PackScope; host: Host },
): Promise<void> {
  const { name } = fetched
  await keepPack(fetched, entry, scope.data)
  await changeLock(scope.lock, (packs) => void packs.set(name, entry), {
    around: (change) => keepProjectTrust(scope, change, host),
    after: async () => {
      if (!isCode(scope)) await writeSetting(scope.settings, { how: "set", path: ["packs", name], value: entry.source })
    },
  })
}
