/**
 * What small files held when they were read or written, by their hash: what a later change is told against.
 *
 * Invariant: bounded, and nothing depends on it: a content that is no longer here is only a shorter reminder.
 */
import type { Stamp } from "./ledger.ts"

/** A file beyond this, bytes, is not kept. */
export const KEPT_BYTES = 100_000
/** All of them together. */
const ALL_BYTES = 4_000_000

/** The one used last at the end. */
const contents = new Map<string, Buffer>()
let bytes = 0

/** Keeps the whole content of a file that is small enough. */
export function keepContent({ hash }: Stamp, content: Buffer): void {
  if (hash === undefined || content.length > KEPT_BYTES) return
  forget(hash)
  contents.set(hash, content)
  bytes += content.length
  for (const oldest of contents.keys()) {
    if (bytes <= ALL_BYTES) break
    forget(oldest)
  }
}

/** The content with that hash, if it is still here. */
export function keptContent(hash: string | undefined): Buffer | undefined {
  return hash === undefined ? undefined : contents.get(hash)
}

function forget(hash: string): void {
  bytes -= contents.get(hash)?.length ?? 0
  contents.delete(hash)
}
