/**
 * An address or a file on this disk → the bytes of an archive, and the files of it in a folder.
 *
 * Invariant: however large an archive is, or becomes when it is unpacked, only so much of it is read, and none of one that
 * is too large is written; a pipe or a device is no archive.
 */
import { createHash } from "node:crypto"
import { readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createGunzip } from "node:zlib"

/** Bytes of an archive, packed and unpacked: a tree of that size is refused afterwards anyway. */
const MOST = { packed: 128 * 2 ** 20, unpacked: 256 * 2 ** 20 }

/** The bytes at an address, checked against the integrity where one is given. Throws an Error that says why not. */
export async function downloadArchive(
  { resolved, integrity }: { resolved: string; integrity?: string },
  options: Record<string, unknown>,
): Promise<Buffer> {
  const { pacote } = await import("./npm.ts")
  // Kept on its way, all of it would be read before the first of it comes here.
  const { cache: _, ...own } = options
  const more = integrity === undefined ? own : { ...own, integrity }
  return await pacote.tarball.stream(resolved, collect, more)
}

/** The bytes of a file (absolute). Throws an Error for what is no file, or too large. */
export async function readArchive(file: string): Promise<Buffer> {
  const found = await stat(file)
  if (!found.isFile()) throw new Error("it is no file")
  if (found.size > MOST.packed) throw tooLarge("packed")
  return await readFile(file)
}

/** Unpacks into `target`, which is made; returns the integrity. Throws an Error for what is no archive, or too large. */
export async function unpackArchive(
  bytes: Buffer,
  target: string,
  { staging, options }: { staging: string; options: Record<string, unknown> },
): Promise<string> {
  const sum = createHash("sha512").update(bytes)
  const integrity = `sha512-${sum.copy().digest("base64")}`
  await checkUnpacked(bytes)
  const file = join(staging, `${sum.digest("hex")}.tgz`)
  await writeFile(file, bytes)
  const { pacote } = await import("./npm.ts")
  await pacote.extract(`file:${file}`, target, { ...options, integrity }).catch((error) => {
    // The library wants a package.json, which a pack need not have; all that there is lies there.
    if (!String(error.message).startsWith("Could not read package.json") || error.code !== "ENOENT") throw error
  })
  return integrity
}

async function collect(stream: NodeJS.ReadableStream): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let left = MOST.packed
    stream.on("error", reject).on("end", () => resolve(Buffer.concat(pieces)))
    stream.on("data", (piece: Buffer) => {
      left -= piece.length
      if (left >= 0) return void pieces.push(piece)
      stream.pause()
      reject(tooLarge("packed"))
    })
  })
}

/** Unpacks it once and keeps nothing. */
async function checkUnpacked(bytes: Buffer): Promise<void> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw new Error("it is no archive of gzip")
  await new Promise<void>((resolve, reject) => {
    let left = MOST.unpacked
    const gunzip = createGunzip().on("error", reject).on("end", resolve)
    gunzip.on("data", (piece: Buffer) => {
      left -= piece.length
      if (left < 0) gunzip.destroy(tooLarge("unpacked"))
    })
    gunzip.end(bytes)
  })
}

function tooLarge(what: keyof typeof MOST): Error {
  return new Error(`it is too large: ${what}, it may have ${MOST[what] / 2 ** 20} MiB`)
}
