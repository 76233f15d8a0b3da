/**
 * An index of git → the folders in it that are repositories of their own, which git looks into with their configuration.
 *
 * Source: gitformat-index(5). Invariant: an index that is not understood to its end is undefined, not empty.
 */

/** What one index says. */
export interface IndexLinks {
  /** Repositories, relative to the top of the working tree. */
  paths: readonly string[]
  /** Folders outside of a sparse tree, which stand for all that is in them. */
  folders: readonly string[]
  /** The name of the file beside it that holds the rest of its entries. */
  shared?: string
}

/** Bytes before the sum of an entry. */
const BEFORE_SUM = 40
const MODE_AT = 24
const GITLINK = 0xe000
const FOLDER = 0x4000
/** One more pair of bytes stands before the name. */
const EXTENDED = 0x4000

/** `sumBytes`: 20, or 32 in a repository of SHA-256. */
export function readGitlinks(index: Buffer, sumBytes: number): IndexLinks | undefined {
  if (index.length < 12 + sumBytes || index.toString("latin1", 0, 4) !== "DIRC") return undefined
  const version = index.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  const found = { paths: [] as string[], folders: [] as string[] }
  const end = index.length - sumBytes
  let last: Buffer = Buffer.alloc(0)
  let at = 12
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + BEFORE_SUM + sumBytes
    if (flagsAt + 4 > end) return undefined
    const nameAt = flagsAt + (index.readUInt16BE(flagsAt) & EXTENDED ? 4 : 2)
    const named = version === 4 ? unpackName(index, nameAt, last) : plainName(index, nameAt)
    if (named === undefined || named.end > end) return undefined
    last = named.name
    const mode = index.readUInt32BE(at + MODE_AT) & 0xf000
    if (mode === GITLINK || mode === FOLDER) {
      // Without a name it stands for an entry of the shared file, and nobody here looks which.
      if (last.length === 0) return undefined
      found[mode === GITLINK ? "paths" : "folders"].push(last.toString("utf8"))
    }
    at = version === 4 ? named.end + 1 : at + ((named.end - at + 8) & ~7)
  }
  return withShared(index, { from: at, end, sumBytes, found })
}

interface Name {
  name: Buffer
  /** Where the zero stands that ends it. */
  end: number
}

function plainName(index: Buffer, from: number): Name | undefined {
  const end = index.indexOf(0, from)
  return end < 0 ? undefined : { name: index.subarray(from, end), end }
}

/** In version 4 a name begins with how many bytes of the last one it leaves out. */
function unpackName(index: Buffer, from: number, last: Buffer): Name | undefined {
  let at = from
  let byte = index[at++] ?? 0
  let dropped = byte & 127
  while (byte & 128) {
    byte = index[at++] ?? 0
    dropped = (dropped + 1) * 128 + (byte & 127)
  }
  const rest = plainName(index, at)
  if (rest === undefined || dropped > last.length) return undefined
  return { name: Buffer.concat([last.subarray(0, last.length - dropped), rest.name]), end: rest.end }
}

/** Looks among what follows the entries for the link to a shared index. */
function withShared(
  index: Buffer,
  { from, end, sumBytes, found }: { from: number; end: number; sumBytes: number; found: IndexLinks },
): IndexLinks | undefined {
  let at = from
  while (at + 8 <= end) {
    const size = index.readUInt32BE(at + 4)
    if (index.toString("latin1", at, at + 4) === "link") {
      const sum = index.toString("hex", at + 8, at + 8 + Math.min(size, sumBytes))
      if (sum.length !== sumBytes * 2) return undefined
      return /^0+$/.test(sum) ? found : { ...found, shared: `sharedindex.${sum}` }
    }
    at += 8 + size
  }
  return at === end ? found : undefined
}
