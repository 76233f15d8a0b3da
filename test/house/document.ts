/**
 * The code blocks of a document, each with the test that its author named for it in a comment just above:
 *
 *     <!-- test: save review.ts -->      the block becomes this file in the document's folder
 *     <!-- test: run -->                 each line is a command there; all must succeed
 *     <!-- test: run exit=2 turns=answer.yaml -->
 *     <!-- test: repository -->          each line is a command in the repository, as .ci/run runs it
 *
 * Invariant: the blocks of one document share one folder, in reading order, so that what a reader does works too.
 */

/** One fenced block. */
export interface Block {
  language: string
  code: string
  /** Line of its fence, from 1. */
  line: number
  test: BlockTest | undefined
}

/** What to do with a block: a verb, a file for `save`, and options. */
export interface BlockTest {
  verb: string
  file: string | undefined
  options: Readonly<Record<string, string>>
}

/** Languages whose blocks claim to work as they stand. */
const EXECUTABLE = ["sh", "bash", "ts", "js", "yaml", "yml", "json", "jsonc"]

/** All fenced blocks of a Markdown text that claim to work. */
export function parseBlocks(text: string): Block[] {
  return [...text.matchAll(/(?:<!--\s*test:\s*(.*?)\s*-->\n+)?^ *```(\w+)[^\n]*\n([\s\S]*?)^ *```/gm)]
    .filter((match) => EXECUTABLE.includes(match[2]!))
    .map((match) => ({
      language: match[2]!,
      code: match[3]!,
      line: text.slice(0, match.index + match[0].indexOf("```")).split("\n").length,
      test: match[1] === undefined ? undefined : parseTest(match[1]),
    }))
}

function parseTest(marker: string): BlockTest {
  const [verb = "", ...words] = marker.split(/\s+/)
  const options = words.filter((word) => word.includes("=")).map((word) => word.split(/=(.*)/).slice(0, 2))
  return { verb, file: words.find((word) => !word.includes("=")), options: Object.fromEntries(options) }
}

/** The commands of a `sh` block: prompts taken off, lines that end in a backslash joined, comments left out. */
export function commandsOf(code: string): string[] {
  return code
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\$ /, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
}
