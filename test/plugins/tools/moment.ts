/**
 * A tool's context → the moments that sources of context are told of, with what was told remembered as the kernel does.
 *
 * Invariant: the notes are those of the tool's context, so a source sees what the tools noted.
 */
import { join } from "node:path"
import type { ContextMoment, ContextSource } from "../../../core/plugin.ts"
import type { TestContext } from "../../contract/tool.ts"

/** The moment, and what its source says. */
export interface TestMoment extends ContextMoment {
  turn: number
  warned: string[]
  /** Texts of the reminders that were not told before; they are from now on. */
  remind(source: ContextSource): Promise<string[]>
  /** The texts of the scene. */
  scene(source: ContextSource): Promise<readonly string[]>
  /** What a compaction does to reminders. */
  compacted(): void
}

/** Makes a moment in the folder of a context. */
export function createMoment(context: TestContext, more: Partial<TestMoment> = {}): TestMoment {
  const told = new Set<string>()
  const { cwd } = context
  const moment: TestMoment = {
    ...{
      cwd,
      startedIn: cwd,
      roots: [cwd],
      signal: context.signal,
      agents: [],
      depth: 0,
      touched: [],
      turn: 1,
      notes: context.notes,
    },
    places: {
      ...{ home: join(cwd, "home"), project: cwd, managed: [], user: [], state: join(context.runFolder, "state") },
      ...{ claude: true, memory: { files: true, auto: true, exclude: [] } },
    },
    mayRead: () => true,
    warned: [],
    warn: (message) => void moment.warned.push(message),
    told: (key) => told.has(key),
    async remind(source) {
      const fresh = ((await source.remind?.(moment)) ?? []).filter(({ key }) => !told.has(key))
      for (const { key } of fresh) told.add(key)
      return fresh.map(({ text }) => text)
    },
    async scene(source) {
      const said = (await source.scene?.(moment)) ?? []
      return typeof said === "string" ? [said] : said
    },
    compacted: () => told.clear(),
    ...more,
  }
  return moment
}
