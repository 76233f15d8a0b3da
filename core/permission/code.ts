/**
 * Code on a command line (of awk, sed, an interpreter, an editor) → the files that it opens, the commands that it runs.
 *
 * Invariant: a rough look for guards alone; code is never understood well enough to be allowed.
 */
import { type Operand, operand } from "./file-operand.ts"
import { textOf } from "./program/match.ts"
import type { Program } from "./program/table.ts"
import { literalWord, type ShellWord } from "./shell-word.ts"

const CALLS =
  /\b(?:system|exec\w*|popen\w*|spawn\w*|Popen|run|call|check_\w+|getoutput|getstatusoutput|shell_exec|passthru|shell|qx|do shell script)\b\s*[({[]?\s*\[?\s*((?:["'`](?:[^"'`\\\n]|\\.){1,2000}["'`]\s*,?\s*){1,50})/g
const MAX_CODE_CHARS = 10_000

/** Commands that stand in the code as texts: `system("rm x")`, `` `rm x` ``, `!rm x`, `spawn rm x`, `name=rm x`. */
export function commandsInCode(text: string): string[] {
  if (text.length > MAX_CODE_CHARS) return []
  const code = squeeze(text)
  const quoted = [...code.matchAll(CALLS)].map(([, list]) =>
    list!.replace(/["'`]\s*,\s*["'`]/g, " ").replace(/^["'`]|["'`]\s*,?\s*$/g, ""),
  )
  const ticked = [...code.matchAll(/`([^`]{1,2000})`/g)].map(([, text]) => text!)
  const piped = [...code.matchAll(/\|\s*"([^"\n]{1,2000})"|"([^"\n]{1,2000})"\s*\|\s*getline/g)].map(
    ([, to, from]) => to ?? from!,
  )
  const shouted = /^[\s:+\\]*(?:sil(?:ent)?!?\s+)?!+(.*)$/s.exec(code)?.[1]
  const spoken = /\b(?:spawn|exec|system|send|shell)\s+(?:-\w+\s+)*["{]?([^"}\n]+)/.exec(code)?.[1]
  const set = /^\s*[A-Za-z_.][\w.-]*\s*[=:]\s*(.+)$/s.exec(code)?.[1] ?? /^\s*[A-Z]\w*Command\s+(.+)$/s.exec(code)?.[1]
  const executed = /^\s*(?:\d+|\$|\/[^/]*\/)?\s*e\s+(.+)$/m.exec(code)?.[1]
  return [...quoted, ...ticked, ...piped, shouted, spoken, set?.replace(/^(?:exec|system)[=:]/i, ""), executed].filter(
    (text): text is string => text !== undefined && text.trim() !== "",
  )
}

/** Each run of blanks as one, so that no pattern tries every way to cut it. */
export function squeeze(code: string): string {
  return code.replace(/\s{2,}/g, (run) => (run.includes("\n") ? "\n" : " "))
}

const WRITES = /(?:^|[\s;}/0-9$!gpiIeM])[wW][ \t]+([^\n;}]+)/g
const READS = /(?:^|[\s;}/0-9$!])[rR][ \t]+([^\n;}]+)/g

/** The files that the script of `sed` or `awk` names. */
export function codeFiles({ name, match, row }: Program, words: readonly ShellWord[]): Operand[] {
  if (words.length === 0 || row.operands !== "pattern" || !/^(?:sed|[gmn]?awk)$/.test(name)) return []
  const given = match.hits.flatMap(({ option, value }) => (option.pattern && value ? [textOf(value)] : []))
  const code = given.length > 0 ? given : [textOf(match.operands[0])]
  return code.flatMap((text) => {
    if (text.length > MAX_CODE_CHARS) return []
    const plain = squeeze(text)
    const found = (pattern: RegExp) => [...plain.matchAll(pattern)].map(([, file]) => literalWord(file!.trim()))
    if (name === "sed")
      return [
        ...found(WRITES).map((word) => operand(word, "write")),
        ...found(READS).map((word) => operand(word, "read")),
      ]
    return [
      ...found(/>>?\s*"([^"\n]+)"/g).map((word) => operand(word, "write")),
      ...found(/<\s*"([^"\n]+)"/g).map((word) => operand(word, "read")),
    ]
  })
}
