/**
 * A session file of Claude Code → entries of ours that say the same.
 *
 * Invariant: the file is only read; what comes of it is a valid conversation: each call has its result right behind it.
 * Thinking is left out, whose signatures hold for its own model alone, and so is what subagents said.
 */
import { randomUUID } from "node:crypto"
import { open, readFile } from "node:fs/promises"
import { SousError } from "../error.ts"
import type { ContentBlockParam, MessageParam } from "../message.ts"
import { chosenLines, type Line } from "./claude-line.ts"
import { parseJson, reasonOf } from "./own-file.ts"
import { TRANSCRIPT_VERSION, type TranscriptEntry } from "./transcript.ts"

/** The first line of one of ours is shorter, bytes. */
const HEAD_BYTES = 2 ** 16
const INTERRUPTED = "Interrupted: this call has no result. Whether it did its work is not known"
const FIRST_WORDS = "The beginning of this conversation is missing."

/** True when a file is a transcript of ours, of whatever version. Throws SESSION_FILE_UNREADABLE. */
export async function isOwnFormat(file: string): Promise<boolean> {
  const head = await readHead(file).catch((cause) => {
    throw new SousError("SESSION_FILE_UNREADABLE", { file, reason: reasonOf(cause) }, { cause })
  })
  const first = parseJson(head.split("\n")[0] ?? "") as Partial<TranscriptEntry> | null | undefined
  return first?.type === "session" && "version" in first
}

/** Reads a session file of Claude Code. Throws SESSION_FILE_UNREADABLE or SESSION_FILE_FOREIGN. */
export async function readClaudeSession(file: string): Promise<{ entries: TranscriptEntry[]; warnings: string[] }> {
  const text = await readFile(file, "utf8").catch((cause) => {
    throw new SousError("SESSION_FILE_UNREADABLE", { file, reason: reasonOf(cause) }, { cause })
  })
  const messages = messagesOf(chosenLines(text))
  if (messages.length === 0) throw new SousError("SESSION_FILE_FOREIGN", { file })
  const entries: TranscriptEntry[] = []
  const add = (type: string, ts: string | undefined, fields: object) => {
    const parentUuid = entries.at(-1)?.uuid ?? null
    entries.push({ uuid: randomUUID(), parentUuid, ts: ts ?? EPOCH, type, ...fields })
  }
  add("session", messages[0]?.ts, { version: TRANSCRIPT_VERSION })
  for (const { ts, message, said } of messages) add(message.role, ts, { message, ...(said.length > 0 ? { said } : {}) })
  return { entries, warnings: [`The conversation of Claude Code in "${file}" goes on as a copy`] }
}

/** Where a line has no date. */
const EPOCH = new Date(0).toISOString()

async function readHead(file: string): Promise<string> {
  const handle = await open(file, "r")
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString("utf8", 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** An answer, and what came after it. */
interface Round {
  /** Of the answer; undefined before the first one. */
  id: string | undefined
  answer: ContentBlockParam[]
  /** Behind it, results left out. */
  words: { block: ContentBlockParam; isSaid: boolean }[]
  ts: string | undefined
}

interface Converted {
  ts: string | undefined
  message: MessageParam
  /** Blocks that a person said, by index. */
  said: number[]
}

function messagesOf(lines: readonly Line[]): Converted[] {
  const rounds: Round[] = [{ id: undefined, answer: [], words: [], ts: lines[0]?.timestamp }]
  const results = new Map<string, ContentBlockParam>()
  const asked = new Set<string>()
  for (const line of lines) {
    if (line.type === "assistant") addAnswer(rounds, line, asked)
    else for (const block of line.blocks) addWords(rounds.at(-1)!, { block, line, results })
  }
  return joined(rounds.flatMap((round) => convert(round, results)))
}

/** The blocks of one answer stand on a line each, with results between them. */
function addAnswer(rounds: Round[], { blocks, messageId, uuid, timestamp }: Line, asked: Set<string>): void {
  const id = messageId ?? uuid
  const last = rounds.at(-1)
  const round = last?.id === id ? last : { id, answer: [], words: [], ts: timestamp }
  if (round !== last) rounds.push(round)
  for (const block of blocks) {
    if (block.type === "text" && block.text !== "") round.answer.push({ type: "text", text: block.text })
    // A second call of the same id would leave its result in doubt.
    if (block.type !== "tool_use" || asked.has(block.id)) continue
    asked.add(block.id)
    round.answer.push({ type: "tool_use", id: block.id, name: block.name, input: block.input ?? {} })
  }
}

function addWords(
  round: Round,
  { block, line, results }: { block: ContentBlockParam; line: Line; results: Map<string, ContentBlockParam> },
): void {
  const { isSaid } = line
  if (block.type === "tool_result") {
    if (!results.has(block.tool_use_id)) results.set(block.tool_use_id, block)
  } else if (block.type === "text" && block.text !== "") {
    round.words.push({ block: { type: "text", text: block.text }, isSaid })
  } else if (block.type === "image" || block.type === "document") round.words.push({ block, isSaid })
}

function convert({ answer, words, ts }: Round, results: ReadonlyMap<string, ContentBlockParam>): Converted[] {
  const given = answer.flatMap((block) =>
    block.type === "tool_use" ? [results.get(block.id) ?? missing(block.id)] : [],
  )
  const content = [...given, ...words.map(({ block }) => block)]
  const said = words.flatMap(({ isSaid }, index) => (isSaid ? [given.length + index] : []))
  return [
    ...(answer.length > 0 ? [{ ts, message: { role: "assistant" as const, content: answer }, said: [] }] : []),
    ...(content.length > 0 ? [{ ts, message: { role: "user" as const, content }, said }] : []),
  ]
}

function missing(id: string): ContentBlockParam {
  return { type: "tool_result", tool_use_id: id, content: INTERRUPTED, is_error: true }
}

/** A person begins, and answers that follow each other are one. */
function joined(messages: readonly Converted[]): Converted[] {
  const whole: Converted[] = []
  for (const one of messages) {
    const last = whole.at(-1)
    if (last === undefined && one.message.role === "assistant") {
      const content: ContentBlockParam[] = [{ type: "text", text: FIRST_WORDS }]
      whole.push({ ts: one.ts, message: { role: "user", content }, said: [] })
    }
    if (last?.message.role === "assistant" && one.message.role === "assistant") {
      const content = [...last.message.content, ...one.message.content] as ContentBlockParam[]
      whole[whole.length - 1] = { ...last, message: { role: "assistant", content } }
    } else whole.push(one)
  }
  return whole
}
