/**
 * What was asked for on the command line → how a run is shown: which renderer, what goes to stdout, what is said last.
 *
 * Invariant: stdout gets the answer, or with `--json` the events, and nothing else.
 */
import type { RunEvent, RunResult } from "sous"
import { createJsonRenderer } from "./json.ts"
import { type Detail, printCommon, type Renderer } from "./renderer.ts"
import type { Screen } from "./screen.ts"
import { answerText, breakLines, type CacheBreak, failureLines, summaryLine } from "./summary.ts"

export interface ShowOptions {
  kind: "run" | "prompt"
  /** Writes to stdout. */
  write: (text: string) => void
  /** Stdout is a terminal: a prompt's text may be streamed to it. */
  isTerminal: boolean
  print?: boolean | undefined
  json?: boolean | undefined
  quiet?: boolean | undefined
  verbose?: boolean | undefined
}

/** A run as it is shown. */
export interface Show extends Renderer {
  /** Prints the answer, what failed, and the summary. */
  conclude(result: RunResult<unknown>): void
}

/** Opens the way of showing that fits; only that one is loaded. */
export async function openShow(screen: Screen, options: ShowOptions): Promise<Show> {
  const detail: Detail = options.verbose
    ? "verbose"
    : options.quiet || options.print || options.json
      ? "quiet"
      : "normal"
  const isStreamed = options.kind === "prompt" && options.isTerminal && !options.print && !options.json
  const renderer = await openRenderer(screen, { ...options, detail, isStreamed })
  const breaks: CacheBreak[] = []
  return {
    ...renderer,
    handle(event) {
      if (event.type === "cache_break") breaks.push(event)
      renderer.handle(event)
    },
    conclude(result) {
      if (!options.json && !isStreamed) options.write(answerText(result.output))
      for (const line of failureLines(result)) screen.print(line)
      if (detail === "quiet") return
      for (const line of breakLines(breaks, screen)) screen.print(line)
      screen.print(summaryLine(result, screen))
    },
  }
}

async function openRenderer(
  screen: Screen,
  options: ShowOptions & { detail: Detail; isStreamed: boolean },
): Promise<Renderer> {
  const { detail, write } = options
  if (options.json) {
    const json = createJsonRenderer(write)
    const handle = (event: RunEvent) => {
      json.handle(event)
      printCommon(screen, event, detail)
    }
    return { handle, close: json.close }
  }
  if (options.kind === "run") return (await import("./tree.ts")).createTreeRenderer(screen, { detail })
  const { createTextRenderer } = await import("./text.ts")
  return createTextRenderer(screen, options.isStreamed ? { detail, answer: write } : { detail })
}
