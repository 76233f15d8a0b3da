/**
 * The processes of one isolated plugin, one after another → one that can always be asked, until it has died too often.
 *
 * Invariant: a process that is started again describes itself exactly as the first one did, or is not used; after three
 * new starts there is no fourth.
 */
import type { Ask } from "./isolate-message.ts"
import type { AskOptions, IsolatedProcess } from "./isolate-process.ts"

/** Times that a plugin's process is started again in the life of a kit. */
const MOST_RESTARTS = 3

export interface Link {
  /** Starts the process again when it died. Rejects like `IsolatedProcess.ask`. */
  ask(ask: Ask, options?: AskOptions): Promise<unknown>
  /** Ends the process until something is asked again; that start is not counted. */
  rest(): Promise<void>
  /** Ends it for good. */
  close(): Promise<void>
  /** The process that is asked at the moment; it may have died. */
  readonly current: IsolatedProcess
  readonly restarts: number
  /** Why nothing is answered any more. */
  readonly fault: string | undefined
}

/** `start`: a new process that is as far as the first one came. */
export function createLink(
  first: IsolatedProcess,
  { start, plugin, notice }: { plugin: string; start(): Promise<IsolatedProcess>; notice(text: string): void },
): Link {
  let current = first
  let starting: Promise<IsolatedProcess> | undefined
  let restarts = 0
  let fault: string | undefined
  let isResting = false

  async function restart(): Promise<IsolatedProcess> {
    const reason = await current.gone
    if (isResting) {
      isResting = false
      current = await start()
      return current
    }
    if (restarts >= MOST_RESTARTS) {
      fault ??= `it was started again ${MOST_RESTARTS} times, and ended each time; the last time ${reason}`
      throw new Error(fault)
    }
    restarts++
    notice(`plugin "${plugin}" is started again (${restarts} of ${MOST_RESTARTS}): ${reason}`)
    current = await start()
    return current
  }
  async function living(): Promise<IsolatedProcess> {
    if (fault !== undefined) throw new Error(fault)
    if (!current.isGone) return current
    starting ??= restart().finally(() => {
      starting = undefined
    })
    return await starting
  }
  return {
    ask: async (ask, options) => await (await living()).ask(ask, options),
    get current() {
      return current
    },
    get restarts() {
      return restarts
    },
    get fault() {
      return fault
    },
    async rest() {
      isResting = true
      await current.close()
    },
    async close() {
      fault ??= "it was closed"
      // One that is just being started is closed as well.
      await starting?.catch(() => {})
      await current.close()
    },
  }
}
