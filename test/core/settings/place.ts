/**
 * A project, a home and an organisation in a folder of their own, for tests that load settings.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { type LoadedSettings, type LoadSettingsOptions, loadSettings } from "../../../core/settings/load.ts"

export interface SettingsPlace {
  /** Absolute, real; a fresh one for each test. */
  readonly folder: string
  /** Writes a file below `folder`, an object as JSON; returns its path. */
  put(path: string, content: string | object): string
  /** Loads what the project in it goes by. */
  load(options?: Partial<LoadSettingsOptions>): Promise<LoadedSettings>
}

/** Makes a place before each test of a file and takes it away after it. `usual`: what every load of the file says. */
export function useSettingsPlace(usual: Partial<LoadSettingsOptions> = {}): SettingsPlace {
  let folder = ""
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-settings-")))
    mkdirSync(join(folder, "project/.git"), { recursive: true })
    mkdirSync(join(folder, "home"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  return {
    get folder() {
      return folder
    },
    put(path, content) {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
      return file
    },
    load: (options = {}) =>
      loadSettings({
        cwd: join(folder, "project"),
        env: {},
        home: join(folder, "home"),
        managed: join(folder, "etc"),
        managedClaude: join(folder, "etc-claude"),
        state: join(folder, "state"),
        data: join(folder, "data"),
        ...usual,
        ...options,
      }),
  }
}
