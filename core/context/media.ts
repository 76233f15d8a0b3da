/**
 * An image or a document → the tokens that it takes.
 *
 * Invariant: it reads the head of the data and no more; what it cannot read counts as the most that it may be.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/vision (tokens = width × height / 750)
 */

/** Tokens of an image whose size cannot be read: the largest that is sent without being made smaller. */
const UNKNOWN_IMAGE = 1_600

/** Tokens of one image or document block. */
export function mediaTokens(block: { type: string; source?: unknown }): number {
  return block.type === "image" ? UNKNOWN_IMAGE : UNKNOWN_IMAGE * 2
}
