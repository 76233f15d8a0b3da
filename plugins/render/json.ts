/**
 * Run events → one JSON object a line, for machines; the format is `RunEvent` with its version.
 *
 * Invariant: a line is written whole; nothing but events is.
 */
import type { RunEvent } from "sous"
import type { Renderer } from "./renderer.ts"

/** Writes each event as one line. */
export function createJsonRenderer(write: (text: string) => void): Renderer {
  return {
    handle: (event: RunEvent) => write(JSON.stringify(event) + "\n"),
    close() {},
  }
}
