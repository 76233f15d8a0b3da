/**
 * Write: text → a whole file, new or in the place of an old one.
 *
 * Invariant: a model never overwrites what it has not read to the end; a recipe may, since a person wrote it.
 */
import { defineTool, type ToolContext, z } from "sous"
import { findTarget, makeParents, readWhole, replaceFile, stampOf, withFile } from "./file.ts"
import { keepContent } from "./known-content.ts"
import { checkRead, ledgerOf, noteWritten } from "./ledger.ts"
import { answering, Refused } from "./refusal.ts"
import { count } from "./text.ts"

/** An old file beyond this is not compared with what was read, and so not overwritten by a model. */
const COMPARE_BYTES = 64_000_000

const input = z.strictObject({
  file_path: z.string().min(1),
  content: z.string().describe("The whole new content"),
})
type Input = z.output<typeof input>

/** Writes one file. */
export const writeTool = defineTool({
  name: "Write",
  description:
    "Create a file (and its folders) or replace all of one. An existing file must have been Read to its end; for changes prefer Edit.",
  input,
  ruleName: "Edit",
  role: "write",
  targets: ({ file_path }) => [{ kind: "path", access: "write", path: file_path }],
  execute: answering(async ({ file_path: path, content }: Input, context) => {
    const target = await findTarget(path, context)
    const before = target.stats === undefined ? undefined : await checkOverwrite(path, context)
    if (before === undefined) await makeParents(path, target.real)
    const bytes = Buffer.from(content)
    const stats = await replaceFile(
      { path, real: target.real, ...(before === undefined ? {} : { before: before.stats }) },
      bytes,
    )
    const stamp = stampOf(stats, bytes)
    noteWritten(context, target.real, stamp)
    keepContent(stamp, bytes)
    const did = before === undefined ? "Created" : "Replaced"
    const lines = count(content.split("\n").length - (content.endsWith("\n") || content === "" ? 1 : 0), "line")
    return {
      content: `${did} "${path}" (${lines})${lostEndings(before?.bytes, content)}`,
      data: { path: target.real, created: before === undefined, bytes: bytes.length },
    }
  }),
})

/** The old file, once it is certain that the caller knows what it overwrites. */
async function checkOverwrite(path: string, context: ToolContext) {
  return await withFile(path, context, async (file) => {
    if (context.caller === "recipe") return { stats: file.stats, bytes: undefined }
    const bytes = await readWhole(file, COMPARE_BYTES)
    checkRead(context, { path, real: file.real, stamp: stampOf(file.stats, bytes) })
    const { whole, upTo } = ledgerOf(context).get(file.real)!
    if (!whole) {
      const seen = upTo === 0 ? "not from its start" : `up to line ${upTo}`
      throw new Refused(`"${path}" was read only in part (${seen}): Read it to its end first, or use Edit`)
    }
    return { stats: file.stats, bytes }
  })
}

/** Read shows no carriage returns, so a model cannot know that it dropped them. */
function lostEndings(before: Buffer | undefined, content: string): string {
  const lost = before?.includes("\r\n") === true && content.includes("\n") && !content.includes("\r\n")
  return lost ? ". The old file had CRLF line endings, the new one has LF" : ""
}
