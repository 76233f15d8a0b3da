/**
 * What every way of showing a run has in common, and the lines that all of them show alike.
 *
 * Invariant: a renderer only reads events; it never changes the run.
 */
import type { RunEvent } from "sous"
import { formatCount, formatUsd, oneLine } from "./display.ts"
import type { Screen } from "./screen.ts"

/** Shows a run, event by event. */
export interface Renderer {
  handle(event: RunEvent): void
  /** Takes back what was drawn; called once, after the last event. */
  close(): void
}

/** How much is shown: warnings and failures; what happens; everything. */
export type Detail = "quiet" | "normal" | "verbose"

/** Prints what every renderer shows alike: warnings, denials, hooks that stepped in, plugins left out. */
export function printCommon(screen: Screen, event: RunEvent, detail: Detail): void {
  const { red, yellow, dim } = screen.colors
  switch (event.type) {
    case "run_started":
      for (const warning of event.warnings) screen.print(`${yellow("!")} ${oneLine(warning)}`)
      for (const plugin of event.plugins) {
        if (plugin.ok) continue
        const mend = plugin.mend === undefined ? "" : `; ${plugin.mend}`
        screen.print(`${yellow("!")} Plugin left out: ${oneLine(`${plugin.error ?? plugin.from}${mend}`)}`)
      }
      return
    case "notice":
      if (event.level === "warning") screen.print(`${yellow("!")} ${oneLine(event.message)}`)
      else if (detail !== "quiet") screen.print(dim(`· ${oneLine(event.message)}`))
      return
    case "permission":
      if (event.decision.behavior === "deny") {
        screen.print(`${red("✗")} ${event.name} denied: ${oneLine(event.decision.reason)}`)
      } else if (detail === "verbose") {
        const { behavior, source, reason } = event.decision
        screen.print(dim(`· ${event.name}: ${behavior} (${source}) ${oneLine(reason)}`))
      }
      return
    case "hook":
      if (event.outcome === "block" || detail === "verbose" || isFirstFailure(screen, event)) {
        const why = event.reason === undefined ? "" : `: ${oneLine(event.reason)}`
        screen.print(dim(`· hook ${event.event} of ${event.owner}: ${event.outcome}${why}`))
      }
      return
    case "usage":
      if (detail === "verbose") screen.print(dim(`· turn ${event.turn}: ${usageOf(event)}`))
      return
    case "compaction":
      // One that was asked for and failed is told as a warning, too.
      if (detail === "verbose" || (detail === "normal" && (event.ok || event.trigger !== "manual")))
        screen.print(dim(compactionLine(event)))
      return
  }
}

function compactionLine({ ok, trigger, strategy, reason = "" }: RunEvent & { type: "compaction" }): string {
  return ok ? `· compaction (${trigger}, ${strategy}) done` : `· compaction (${trigger}) failed: ${oneLine(reason)}`
}

function usageOf({ usage, usd, model }: RunEvent & { type: "usage" }): string {
  const { input, output, cacheRead, cacheWrite } = usage
  const tokens = `${formatCount(input + cacheRead + cacheWrite)} in (${formatCount(cacheRead)} cached), ${formatCount(output)} out`
  return [oneLine(model), tokens, ...(usd === undefined ? [] : [formatUsd(usd)])].join(" · ")
}

/** Hooks whose failure a screen has shown. */
const shown = new WeakMap<Screen, Set<string>>()

/** True for the first failure of each hook: one that is broken fails at every call. */
function isFirstFailure(screen: Screen, { outcome, owner, hook }: Extract<RunEvent, { type: "hook" }>): boolean {
  if (outcome !== "failed") return false
  const known = shown.get(screen) ?? new Set()
  shown.set(screen, known)
  const isFirst = !known.has(`${owner} ${hook}`)
  known.add(`${owner} ${hook}`)
  return isFirst
}
