/**
 * A command line and the process → the settings of all scopes, a kit with the plugins of all scopes, options of a run.
 *
 * Invariant: whatever comes of the work, the kit that was opened for it is closed.
 */
import { createKit, type Kit, type RunOptions } from "../kit.ts"
import { loadModule } from "../recipe/load.ts"
import { checkBypass, optionsOfFlags, settingsOfFlags } from "../settings/flag.ts"
import { given } from "../settings/given.ts"
import { type LoadedSettings, loadSettings } from "../settings/load.ts"
import { loadScopePlugins } from "../settings/plugin-file.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import type { Asker, Host } from "./host.ts"

/** What stands before anything runs. */
export interface Session {
  line: CommandLine
  host: Host
  loaded: LoadedSettings
  /** Left out where nobody can be asked. */
  asker: Asker | undefined
  cwd: string
  home: string | undefined
}

/** Reads the settings, and finds out whether somebody can be asked. Throws SETTINGS_… and CLI_… errors. */
export async function openSession(line: CommandLine, host: Host): Promise<Session> {
  const { values } = line
  const { env } = host
  const [cwd, home] = [await host.cwd(), homeFolder(env)]
  const { settings, trust } = values
  const load = (file: string) => loadModule(file, host.loadOptions())
  const loaded = await loadSettings({ cwd, env, flags: settingsOfFlags(values), home, settings, trust, load })
  const user = { isRoot: host.isRoot, isSandbox: env.IS_SANDBOX === "1" }
  checkBypass(loaded.settings.permissions.defaultMode, values, user)
  return { line, host, loaded, asker: await host.openAsker(), cwd, home }
}

/** Opens a kit with the shipped plugins and those of the scopes, and closes it whatever comes of the work. */
export async function withKit<T>(session: Session, work: (kit: Kit) => Promise<T>): Promise<T> {
  const { line, host, loaded, cwd, home } = session
  const { env } = host
  const { strict = !["", "0", "false"].includes(env.CI ?? "") } = line.values
  const optional = await host.optionalPlugins()
  const load = async (file: string) => await (optional[file]?.() ?? loadModule(file, host.loadOptions()))
  const [shipped, own] = await Promise.all([
    host.shippedPlugins(),
    loadScopePlugins(loaded, load, { home, strict, shipped: Object.keys(optional) }),
  ])
  const kit = await createKit({
    plugins: [...shipped, ...own.plugins],
    reports: own.reports,
    settings: loaded.settings,
    hooks: loaded.hooks.sources,
    warnings: loaded.warnings,
    cwd,
    env: { ...env },
    strict,
    ...given({ home, projectDir: loaded.folders.root }),
  })
  try {
    return await work(kit)
  } finally {
    await kit.close()
  }
}

/** What the flags say about a run of this session. */
export function runOptions({ line, host, loaded, asker, cwd, home }: Session): RunOptions {
  const options = optionsOfFlags(line.values, loaded.settings, { cwd, home })
  return { ...options, signal: host.signal, ...given({ ask: asker?.ask, offerPlanMode: asker?.offerPlanMode }) }
}
