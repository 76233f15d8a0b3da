/**
 * Edit: exact text of a file → other text, in the file as it is now.
 *
 * Invariant: nothing is changed that the model has not read as it is, and never a place it did not mean.
 */
import { defineTool, z } from "sous"
import { readWhole, replaceFile, stampOf, withFile } from "./file.ts"
import { keepContent } from "./known-content.ts"
import { checkRead, noteEdited } from "./ledger.ts"
import { answering, Refused } from "./refusal.ts"
import { replaceText } from "./replace.ts"
import { count } from "./text.ts"

/** Larger files are not read into memory. */
const EDIT_BYTES = 64_000_000

const input = z.strictObject({
  file_path: z.string().min(1),
  old_string: z.string().describe("Exact text of the file, without Read's line numbers"),
  new_string: z.string(),
  replace_all: z.boolean().optional().describe("Replace every occurrence"),
})
type Input = z.output<typeof input>

/** Replaces text in one file. */
export const editTool = defineTool({
  name: "Edit",
  description:
    "Replace exact text in a file that you have Read. Fails when old_string is missing, occurs more than once (without replace_all), or the file changed since.",
  input,
  targets: ({ file_path }) => [{ kind: "path", access: "write", path: file_path }],
  execute: answering(async (input: Input, context) => {
    checkStrings(input)
    const { file_path: path, old_string: oldText, new_string: newText, replace_all: all = false } = input
    const { file, bytes } = await withFile(path, context, async (file) => ({
      file,
      bytes: await readWhole(file, EDIT_BYTES),
    }))
    checkRead(context, { path, real: file.real, stamp: stampOf(file.stats, bytes) })
    const replaced = replaceText(bytes, { oldText, newText, all }, path)
    const stats = await replaceFile({ path, real: file.real, before: file.stats }, replaced.bytes)
    const stamp = stampOf(stats, replaced.bytes)
    noteEdited(context, file.real, stamp)
    keepContent(stamp, replaced.bytes)
    const { lines } = replaced
    const where = lines.length === 1 ? `at line ${lines[0]}` : `in ${count(lines.length, "place")}`
    return { content: `Edited "${path}" ${where}`, data: { path: file.real, replacements: lines.length, lines } }
  }),
})

function checkStrings(input: Input): void {
  if (input.old_string === input.new_string) {
    throw new Refused(
      "old_string and new_string are the same: nothing would change. Send the text that it should become",
    )
  }
  if (input.old_string === "") {
    throw new Refused("old_string is empty: name the text to replace, or make a new file with Write")
  }
}
