/**
 * One process of an isolated plugin: asks go in, answers come out, until it ends or does what it may not.
 *
 * Invariant: an ask always settles; a process that breaks the protocol, hangs after an abort or does not read is killed
 * with its group, and every ask that is open then fails with the reason.
 */
import { Refusal } from "../call.ts"
import { SousError } from "../error.ts"
import { type ChannelProcess, startChannelProcess } from "../process-channel.ts"
import { createDecoder, encodeFrame } from "./isolate-frame.ts"
import { type Ask, type ChildMessage, childMessage, type SideQuestion, sideQuestion } from "./isolate-message.ts"
import { createPrinted } from "./isolate-printed.ts"

export interface AskOptions {
  /** Stops the work of this ask. */
  signal?: AbortSignal
  /** ms that the plugin has to end by itself after the signal, before its process is killed. Default 2,000. */
  graceMs?: number
  /** ms after which the process is killed. Left out: as long as it takes. */
  timeoutMs?: number
  /** What the work may tell and ask on its way. */
  call?: CallHandlers
}

/** What a tool's call does besides its result. */
export interface CallHandlers {
  progress(text: string): void
  setCwd(path: string): void
  defer(cleanup: number): void
  decide(question: Pick<SideQuestion, "about" | "value">): boolean
}

export interface IsolatedProcess {
  /** Rejects with a Refusal, a SousError, or an Error that says why there is no answer. */
  ask(ask: Ask, options?: AskOptions): Promise<unknown>
  /** Why it is no longer there; settles when it is gone. */
  readonly gone: Promise<string>
  readonly isGone: boolean
  /** Ends it, gently first; returns when it is gone. */
  close(): Promise<void>
}

export interface IsolatedStart {
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Told each line that it prints. */
  printed(line: string): void
}

/** Bytes that wait for a process that does not read. */
const MOST_WAITING = 4 * 2 ** 20 + 2 * 8 * 2 ** 20

/** How long a process whose channel was closed is given to end, ms. */
const CLOSE_MS = 500

const DEFAULT_GRACE_MS = 2000

interface Open {
  resolve(value: unknown): void
  reject(error: Error): void
  call: CallHandlers | undefined
}

/** Starts the process. */
export async function startIsolatedProcess(start: IsolatedStart): Promise<IsolatedProcess> {
  const child = await startChannelProcess(start, { cwd: start.cwd, env: start.env, channels: 2 })
  const printed = createPrinted(child, start.printed)
  const open = new Map<number, Open>()
  const life = { last: 0, isGone: false, reason: undefined as string | undefined }
  const kill = (reason: string) => {
    life.reason ??= reason
    child.kill()
  }
  listen(child, { open, life, kill })
  const gone = child.ended.then(({ code, signal }) => {
    const said = printed.lastWords()
    const how = signal === null ? `ended with exit ${code}` : `was ended by ${signal}`
    const reason = life.reason ?? `its process ${how}${said === "" ? "" : `: ${said}`}`
    life.isGone = true
    for (const one of open.values()) one.reject(new Error(reason))
    return reason
  })
  return {
    gone,
    get isGone() {
      return life.isGone || life.reason !== undefined
    },
    ask: (ask, options = {}) => askProcess(ask, options, { child, open, life, kill }),
    async close() {
      life.reason ??= "its process was closed"
      child.stdin.end()
      const timer = setTimeout(child.kill, CLOSE_MS)
      await gone
      clearTimeout(timer)
    },
  }
}

interface Running {
  open: Map<number, Open>
  life: { last: number; isGone: boolean; reason: string | undefined }
  kill(reason: string): void
}

async function askProcess(
  ask: Ask,
  { signal, graceMs = DEFAULT_GRACE_MS, timeoutMs, call }: AskOptions,
  { child, open, life, kill }: Running & { child: ChannelProcess },
): Promise<unknown> {
  if (life.reason !== undefined) throw new Error(life.reason)
  if (signal?.aborted) throw signal.reason
  const id = ++life.last
  const { stdin } = child
  // A message that is too large fails here, before anything waits for its answer.
  const frame = encodeFrame({ id, ...ask })
  const timers: NodeJS.Timeout[] = []
  const onAbort = () => {
    stdin.write(encodeFrame({ type: "abort", id }))
    timers.push(setTimeout(() => kill("its process was ended, since it did not stop when it was told to"), graceMs))
  }
  try {
    return await new Promise((resolve, reject) => {
      open.set(id, { resolve, reject, call })
      keepAlive(child, open)
      stdin.write(frame)
      if (stdin.writableLength > MOST_WAITING) kill("its process was ended, since it did not read what it was sent")
      signal?.addEventListener("abort", onAbort, { once: true })
      if (timeoutMs === undefined) return
      const late = `its process was ended, since it did not answer within ${timeoutMs / 1000} s`
      timers.push(setTimeout(() => kill(late), timeoutMs))
    })
  } finally {
    for (const timer of timers) clearTimeout(timer)
    signal?.removeEventListener("abort", onAbort)
    open.delete(id)
    keepAlive(child, open)
  }
}

/** While something is asked, the channels keep this process alive. */
function keepAlive({ stdin, channels }: ChannelProcess, open: ReadonlyMap<number, Open>): void {
  for (const channel of [stdin, ...channels]) open.size === 0 ? channel.unref() : channel.ref()
}

/** Takes what comes on both channels (messages, questions), as long as it is what may come. */
function listen(child: ChannelProcess, running: Running): void {
  const { life, kill } = running
  const [main, side] = child.channels
  const guarded = (take: (piece: Buffer) => void) => (piece: Buffer) => {
    if (life.reason !== undefined) return
    try {
      take(piece)
    } catch (error) {
      kill(`its process was ended: ${(error as Error).message}`)
    }
  }
  const messages = createDecoder((message) => takeMessage(message, running))
  const questions = createDecoder((question) => {
    side!.write(encodeFrame({ answer: decideQuestion(question, running) }))
    if (side!.writableLength > MOST_WAITING) throw new Error("it did not read what it was sent")
  })
  main!.on(
    "data",
    guarded((piece) => messages.push(piece)),
  )
  side!.on(
    "data",
    guarded((piece) => questions.push(piece)),
  )
  main!.on("end", () => {
    // Its last words explain more than that it left; they come with its end.
    setTimeout(() => kill("its process was ended: it closed its channel"), CLOSE_MS).unref()
  })
}

/** Throws an Error for what no plugin may send. An answer to an ask that is settled came too late, and is left. */
function takeMessage(sent: unknown, { open, life }: Running): void {
  const message = childMessage.safeParse(sent)
  if (!message.success) throw new Error("it sent a message that no plugin may send")
  const { data } = message
  if (data.id < 1 || data.id > life.last) throw new Error(`it answered what it was not asked (${data.id})`)
  const one = open.get(data.id)
  if (one === undefined) return
  if (data.type === "answer") settle(open, data.id)?.resolve(data.value)
  else if (data.type === "fault") settle(open, data.id)?.reject(errorOf(data))
  else if (one.call === undefined) throw new Error(`it sent "${data.type}" for what is no call of a tool`)
  else if (data.type === "progress") one.call.progress(data.text)
  else if (data.type === "cwd") one.call.setCwd(data.path)
  else one.call.defer(data.cleanup)
}

/** From here on nothing that comes for it counts. */
function settle(open: Map<number, Open>, id: number): Open | undefined {
  const one = open.get(id)
  open.delete(id)
  return one
}

function errorOf({ kind, message, code, details = {} }: Extract<ChildMessage, { type: "fault" }>): Error {
  if (kind === "refusal") return new Refusal(message, "tool")
  return (code === undefined ? undefined : codedError(code, details)) ?? new Error(message)
}

/** Faults of a file of code and of a plugin, which a person can mend by their code. */
const CODED = /^(?:MODULE|PLUGIN|HOOK)_[A-Z_]+$/

function codedError(code: string, details: object): SousError | undefined {
  if (!CODED.test(code)) return undefined
  try {
    return new SousError(code as "PLUGIN_LOAD_FAILED", details as never)
  } catch {
    return undefined
  }
}

function decideQuestion(sent: unknown, { open }: Running): boolean {
  const question = sideQuestion.safeParse(sent)
  if (!question.success) throw new Error("it asked what no plugin may ask")
  const { id, about, value } = question.data
  const call = open.get(id)?.call
  // The call may have ended while its tool still looks around: then nothing may be read, and everything is guarded.
  return call?.decide({ about, value }) ?? about === "guardsUrl"
}
