/**
 * A file as it stands and as it would be put back → a unified diff.
 *
 * Invariant: text is shown with its line endings, all else by its size; however large a file is, this ends soon.
 */
import { readFile } from "node:fs/promises"
import { readBytes } from "../session/checkpoint-content.ts"
import type { FileState } from "../session/checkpoint-state.ts"
import type { PlannedFile, RewindPlan } from "../session/rewind-plan.ts"

/** Larger files are told by their size, bytes. */
const MOST_BYTES = 2 ** 20
/** How long the lines of one file, and of all together, are compared for, ms. */
const PATIENCE_MS = { file: 1000, all: 3000 }

/** The diffs of all files of a plan, in order; once it has taken too long, the others are told by their sizes. */
export async function diffsOf(plan: RewindPlan, nameOf: (path: string) => string): Promise<string[]> {
  const end = performance.now() + PATIENCE_MS.all
  const diffs: string[] = []
  for (const file of plan.files) {
    const patienceMs = Math.max(0, Math.min(PATIENCE_MS.file, end - performance.now()))
    diffs.push(await diffOf(file, { name: nameOf(file.path), plan, patienceMs }))
  }
  return diffs
}

interface DiffOptions {
  /** As people know it. */
  name: string
  plan: RewindPlan
  patienceMs: number
}

/** Ends in a line break. */
async function diffOf(file: PlannedFile, { name, plan, patienceMs }: DiffOptions): Promise<string> {
  const { before, after } = file
  const notes = noteLines(before, after).map((line) => `${line}\n`)
  const [now, then] = [await bytesNow(file), await bytesThen(file, plan)]
  const isSame = now === undefined || then === undefined || now.equals(then)
  const [from, to] = [before, after].map(({ kind }) => (kind === "none" ? "/dev/null" : name))
  const head = `--- ${from}\n+++ ${to}\n`
  const body = isSame ? "" : await linesOf(now, then, { patienceMs })
  return `${head}${notes.join("")}${body}`
}

async function linesOf(now: Buffer, then: Buffer, { patienceMs }: Pick<DiffOptions, "patienceMs">): Promise<string> {
  if (patienceMs === 0 || !isText(now) || !isText(then)) return sizes(now, then)
  const { structuredPatch, formatPatch, OMIT_HEADERS } = await import("diff")
  const patch = structuredPatch("", "", shown(now), shown(then), "", "", { context: 3, timeout: patienceMs })
  return patch === undefined ? sizes(now, then) : formatPatch(patch, OMIT_HEADERS).replace(/^\n+/, "")
}

function sizes(now: Buffer, then: Buffer): string {
  return `Other content: ${now.length} bytes now, ${then.length} bytes then\n`
}

/** A carriage return is part of what is put back. */
function shown(bytes: Buffer): string {
  return bytes.toString("utf8").replaceAll("\r", "\\r")
}

function isText(bytes: Buffer): boolean {
  return bytes.length <= MOST_BYTES && !bytes.includes(0) && Buffer.from(bytes.toString("utf8")).equals(bytes)
}

async function bytesNow({ path, before }: PlannedFile): Promise<Buffer | undefined> {
  if (before.kind !== "file") return Buffer.alloc(0)
  return await readFile(path).catch(() => undefined)
}

async function bytesThen({ after }: PlannedFile, { subject }: RewindPlan): Promise<Buffer | undefined> {
  if (after.kind !== "file") return Buffer.alloc(0)
  return after.hash === undefined ? undefined : await readBytes(subject.checkpoints.content, after.hash)
}

/** What is no line of text. */
function noteLines(before: FileState, after: FileState): string[] {
  if (before.kind !== after.kind) return [`${words(before)} becomes ${words(after)}`]
  if (before.kind === "link" && after.kind === "link")
    return [`link to ${before.target} becomes link to ${after.target}`]
  const [from, to] = [modeOf(before), modeOf(after)]
  return from === to ? [] : [`mode ${from} becomes ${to}`]
}

function words(state: FileState): string {
  if (state.kind === "none") return "nothing"
  if (state.kind === "link") return `link to ${state.target}`
  return state.kind === "file" ? `file of mode ${modeOf(state)}` : state.kind
}

function modeOf(state: FileState): string {
  return "mode" in state ? state.mode.toString(8).padStart(4, "0") : ""
}
