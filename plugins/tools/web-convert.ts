/**
 * HTML → markdown, in a worker that is ended when it takes too long; then the page's bare words stand in.
 *
 * Invariant: whatever a page is made of, it holds up neither the run nor its memory: nothing here takes more than one
 * look at each of its characters.
 */
import { Worker } from "node:worker_threads"

/** What a person would read of a page. */
export interface Readable {
  title: string
  markdown: string
  /** Only the words between its tags: it was too large, or made to be a burden. */
  rough?: true
}

const CONVERT_MS = 10_000
const MEMORY_MB = 512
const MOST_ROUGH_CHARS = 2_000_000
/** Workers at once; further pages wait. */
const MOST_WORKERS = 2

/** The script lies beside this file; in a build this file lies in a folder of parts below it. */
const SCRIPT = import.meta.url.endsWith(".ts") ? "./web-markdown.mjs" : "../web-markdown.js"

/** Converts a page; `url` is what its links start from. Throws only when `signal` fires. */
export async function convertPage(
  page: { html: string; url: string },
  options: { signal: AbortSignal; timeoutMs?: number | undefined },
): Promise<Readable> {
  const { signal, timeoutMs = CONVERT_MS } = options
  await enter(signal)
  try {
    const { title, markdown } = await convertInWorker(page, { signal, timeoutMs })
    return { title, markdown: tidy(markdown) }
  } catch {
    signal.throwIfAborted()
    return { title: "", markdown: tidy(bareWords(page.html.slice(0, MOST_ROUGH_CHARS))), rough: true }
  } finally {
    leave()
  }
}

/** The text between the tags of a page, line by line. */
export function bareWords(html: string): string {
  let skipped: string | undefined
  const texts = html.split("<").map((part, i) => {
    if (i === 0) return part
    const name = /^\/?[a-z][a-z0-9]{0,15}/i.exec(part.slice(0, 20))?.[0].toLowerCase()
    if (skipped !== undefined && name !== `/${skipped}`) return ""
    skipped = name !== undefined && WORDLESS.has(name) ? name : undefined
    if (skipped !== undefined) return ""
    if (name === undefined && !/^[!?/]/.test(part)) return `<${part}`
    const end = part.indexOf(">")
    const text = end < 0 ? "" : part.slice(end + 1)
    return name !== undefined && INLINE.has(name.replace("/", "")) ? text : `\n${text}`
  })
  return texts.join("").replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (_, name: string) => ENTITIES[name]!)
}

const WORDLESS = new Set(["script", "style", "noscript", "template", "svg", "title"])
const INLINE = new Set([
  "a",
  "abbr",
  "b",
  "code",
  "em",
  "i",
  "kbd",
  "mark",
  "small",
  "span",
  "strong",
  "sub",
  "sup",
  "u",
])
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " ", "#39": "'" }

function convertInWorker(
  page: { html: string; url: string },
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<Readable> {
  // What reads a stranger's page gets no environment.
  const worker = new Worker(new URL(SCRIPT, import.meta.url), {
    workerData: page,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  })
  let onAbort = () => {}
  let timer: NodeJS.Timeout | undefined
  const converted = new Promise<Readable>((resolve, reject) => {
    worker.once("message", resolve).on("error", reject).once("exit", reject)
    onAbort = () => reject(signal.reason)
    signal.addEventListener("abort", onAbort, { once: true })
    timer = setTimeout(reject, timeoutMs, new Error("It took too long"))
  })
  return converted.finally(async () => {
    clearTimeout(timer)
    signal.removeEventListener("abort", onAbort)
    await worker.terminate()
  })
}

/** Ends of lines lose their blanks, and more than one empty line becomes one, outside of code. */
function tidy(text: string): string {
  const lines: string[] = []
  let fence: string | undefined
  for (const line of text.split("\n")) {
    const trimmed = fence === undefined ? line.trimEnd() : line
    const mark = /^`{3,}/.exec(trimmed.slice(0, 50))?.[0]
    if (mark !== undefined) fence = fence === undefined ? mark : trimmed.trimEnd() === fence ? undefined : fence
    if (fence !== undefined || trimmed !== "" || lines.at(-1) !== "") lines.push(trimmed)
  }
  return lines.join("\n").trim()
}

let free = MOST_WORKERS
const waiting: (() => void)[] = []

async function enter(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (free > 0) free--
  else await waitForTurn(signal)
}

function waitForTurn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener("abort", giveUp)
      resolve()
    }
    const giveUp = () => {
      waiting.splice(waiting.indexOf(go), 1)
      reject(signal.reason)
    }
    waiting.push(go)
    signal.addEventListener("abort", giveUp, { once: true })
  })
}

function leave(): void {
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
}
