/**
 * Holds the code to the vocabulary: words that have a right name here are not called by another.
 *
 * Invariant: only words that can mean nothing else are listed; a place that must say one is excused by name.
 */
import { expect, it } from "vitest"
import { lineAt, listFiles, readSource } from "./source.ts"

/** The wrong word, and what it is called here. */
const WORDS: readonly { never: RegExp; say: string }[] = [
  { never: /middleware/i, say: "hook" },
  { never: /guardrail/i, say: "permission rule" },
  { never: /\btrust[ -]?level/i, say: "permission mode" },
  { never: /\bpruning\b/i, say: "compaction" },
  { never: /\bpreset\b/i, say: "pack" },
  { never: /\bverdict/i, say: "decision" },
  { never: /\btool[ -]function\b|\bfunction[ -]calling\b/i, say: "tool" },
  { never: /\bchat history\b|\bconversation history\b/i, say: "transcript" },
]

/** `file word`, where the word belongs to somebody else's format. */
const EXCUSED: readonly string[] = []

it("the code uses the vocabulary's words", () => {
  const found = listFiles(["cli.ts", "core", "plugins"], "").flatMap((file) => {
    const text = readSource(file)
    return WORDS.flatMap(({ never, say }) =>
      [...text.matchAll(new RegExp(never.source, "gi"))]
        .filter((match) => !EXCUSED.includes(`${file} ${match[0].toLowerCase()}`))
        .map((match) => `${file}:${lineAt(text, match.index)} says "${match[0]}": write "${say}"`),
    )
  })
  expect(found).toEqual([])
})
