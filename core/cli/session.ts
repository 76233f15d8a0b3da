/**
 * A command line and the process → the settings of all scopes, a kit with the plugins of all scopes, options of a run.
 *
 * Invariant: whatever comes of the work, the kit that was opened for it is closed.
 */
import { isSousError } from "../error.ts"
import { createKit, type Kit, type RunOptions } from "../kit.ts"
import type { OpenedPacks } from "../pack/load.ts"
import { loadModule } from "../recipe/load.ts"
import { optionsOfFlags, settingsOfFlags } from "../settings/flag.ts"
import { checkBypass } from "../settings/flag-bypass.ts"
import { given } from "../settings/given.ts"
import { type LoadedSettings, loadSettings } from "../settings/load.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { SettingsReload } from "../settings/watch.ts"
import type { CommandLine } from "./command-line.ts"
import type { Asker, Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import type { PackStart } from "./pack-start.ts"
import { openEntries } from "./plugin-start.ts"

/** What stands before anything runs. */
export interface Session {
  line: CommandLine
  host: Host
  loaded: LoadedSettings
  /** Reads them again, as they were read before. */
  readAgain: SettingsReload["load"]
  /** Left out where nobody can be asked. */
  asker: Asker | undefined
  cwd: string
  home: string | undefined
  /** Left out where settings name none. */
  packs?: OpenedPacks
}

/**
 * Reads the settings, and finds out whether somebody can be asked. `isSurvey`: to look at the place, so that no pack can
 * stop it. Throws SETTINGS_…, PACK_… and CLI_… errors; no agent trusts a project by a start of its own.
 */
export async function openSession(line: CommandLine, host: Host, { isSurvey = false } = {}): Promise<Session> {
  const { values } = line
  const { env } = host
  const [cwd, home] = [await host.cwd(), homeFolder(env)]
  const { settings, trust } = values
  if (trust) refuseInside(host, "--trust")
  const load = (file: string) => loadModule(file, host.loadOptions())
  const options = { cwd, env, flags: settingsOfFlags(values), home, settings, trust, load }
  const open = async (read: LoadedSettings) => await openPacks(read, { env, home, strict: isStrict(line, host) })
  const read = await loadSettings(options)
  const { loaded, packs } = await open(read).catch((error) => {
    if (!isSurvey) throw error
    return { loaded: read, packs: undefined }
  })
  const readAgain: Session["readAgain"] = async (more) => {
    const read = await loadSettings({ ...options, ...more })
    // A pack that is in disorder is a matter of the next start; it keeps no new guard of a file out.
    return (await open(read).catch(() => ({ loaded: read }))).loaded
  }
  const user = { isRoot: host.isRoot, isSandbox: env.IS_SANDBOX === "1" }
  checkBypass(loaded.settings.permissions.defaultMode, values, user)
  return { line, host, loaded, readAgain, asker: await host.openAsker(), cwd, home, ...given({ packs }) }
}

async function openPacks(loaded: LoadedSettings, start: PackStart) {
  if (loaded.settings.packs.length === 0) return { loaded, packs: undefined }
  return await (await import("./pack-start.ts")).addPacks(loaded, start)
}

/** What is wrong with a plugin or a pack stops the start: what is so in CI. */
function isStrict({ values }: CommandLine, { env }: Host): boolean {
  return values.strict ?? !["", "0", "false"].includes(env.CI ?? "")
}

/**
 * Opens a kit with the shipped plugins and those of the scopes, and closes it whatever comes of the work. `isSurvey`: to
 * look at the plugins, so that none of them can stop it.
 */
export async function withKit<T>(
  session: Session,
  work: (kit: Kit) => Promise<T>,
  { isSurvey = false } = {},
): Promise<T> {
  const { line, host, loaded, cwd, home } = session
  const { env } = host
  const strict = isStrict(line, host)
  const strays = followStrays(host)
  try {
    // What loads or is set up cannot end the command.
    const kit = await host.withoutExit(async () =>
      createKit({
        plugins: await openEntries(session),
        settings: loaded.settings,
        hooks: loaded.hooks.sources,
        reload: { loaded, load: session.readAgain },
        warnings: loaded.warnings,
        cwd,
        env: { ...env },
        strict,
        isSurvey,
        ...given({ home, projectDir: loaded.folders.root }),
      }),
    )
    try {
      strays.handTo(kit)
      return await work(kit)
    } finally {
      await kit.close().catch((error) => host.tell(`! ${isSousError(error) ? error.message : String(error)}`))
    }
  } finally {
    strays.leave()
  }
}

/** What nobody catches while plugins load waits until there is a kit that can tell of it. */
function followStrays(host: Host): { handTo(kit: Kit): void; leave(): void } {
  const early: { error: unknown; isException: boolean }[] = []
  let take = (error: unknown, isException: boolean) => early.push({ error, isException }) > 0
  return {
    leave: host.onStray((error, isException) => take(error, isException)),
    handTo(kit) {
      take = (error, isException) => kit.tellStray(error, { isException })
      for (const { error, isException } of early) if (!take(error, isException)) throw error
    },
  }
}

/** What the flags say about a run of this session. */
export function runOptions({ line, host, loaded, asker, cwd, home }: Session): RunOptions {
  const options = optionsOfFlags(line.values, loaded.settings, { cwd, home })
  return { ...options, signal: host.signal, ...given({ ask: asker?.ask, offerPlanMode: asker?.offerPlanMode }) }
}
