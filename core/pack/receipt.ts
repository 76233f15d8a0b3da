/**
 * An entry of a lock → whether this very entry was installed here by its person.
 *
 * Invariant: what a lock says and the content cannot confirm (where it came from, its integrity, that it runs in the
 * process) counts only as it was when somebody added or installed it; one changed letter, and it does not.
 */
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { replaceFile } from "../session/lock.ts"
import { createFolder } from "../session/store.ts"
import { inOrder } from "./lock.ts"
import type { LockEntry } from "./lock-shape.ts"

/** Keeps that this entry was installed; `data` is the data folder, absolute. */
export async function keepReceipt(name: string, entry: LockEntry, data: string): Promise<void> {
  const file = receiptFile(name, entry, data)
  await createFolder(join(file, ".."))
  await replaceFile(file, textOf(name, entry))
}

/** True when this very entry was installed here. */
export function hasReceipt(name: string, entry: LockEntry, data: string): boolean {
  return existsSync(receiptFile(name, entry, data))
}

function receiptFile(name: string, entry: LockEntry, data: string): string {
  const sum = createHash("sha256").update(textOf(name, entry)).digest("hex")
  return join(data, "packs", `${sum}.json`)
}

function textOf(name: string, entry: LockEntry): string {
  return `${JSON.stringify(inOrder({ [name]: entry }), null, 2)}\n`
}
