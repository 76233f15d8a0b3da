/**
 * Where packs come from in tests: a registry on loopback that speaks npm's protocol, real archives, real repositories.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** Files by path. */
export type Files = Record<string, string>

/** A registry; `publish` adds a version, or changes one that is there. */
export interface Registry {
  url: string
  /** `isOld`: with the weak sum of old registries; `dist`: what is said of the archive instead of the truth. */
  publish(name: string, version: string, files: Files, more?: { isOld?: boolean } & Record<string, unknown>): void
  /** Paths that were asked for, in order. */
  asked: string[]
  /** Answers nothing from now on. */
  stall(): void
  close(): Promise<void>
}

export async function createRegistry(): Promise<Registry> {
  const packages = new Map<string, Map<string, { manifest: object; archive: Buffer }>>()
  const asked: string[] = []
  let stalled = false
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/")
    asked.push(path)
    if (stalled) return
    const [, name = "", version] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+)\.tgz)?$/.exec(path) ?? []
    const found = packages.get(name)
    if (found === undefined) return void response.writeHead(404).end("{}")
    if (version !== undefined) {
      const archive = found.get(version)?.archive
      return void (archive ? response.end(archive) : response.writeHead(404).end())
    }
    const versions = Object.fromEntries([...found].map(([one, { manifest }]) => [one, manifest]))
    const latest = [...found.keys()].at(-1)
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ name, "dist-tags": { latest }, versions }))
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    url,
    asked,
    publish(name, version, files, { isOld = false, ...more }: { isOld?: boolean } & Record<string, unknown> = {}) {
      const archive = packArchive({ "package.json": JSON.stringify({ name, version, ...more }), ...files })
      const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`
      const shasum = createHash("sha1").update(archive).digest("hex")
      const dist = { tarball: `${url}${name}/-/${version}.tgz`, ...(isOld ? { shasum } : { integrity }) }
      const known = packages.get(name) ?? new Map()
      packages.set(
        name,
        known.set(version, { manifest: { name, version, ...more, dist: { ...dist, ...Object(more.dist) } }, archive }),
      )
    },
    stall() {
      stalled = true
    },
    close: () =>
      new Promise((closed) => {
        server.closeAllConnections()
        server.close(() => closed())
      }),
  }
}

/** An archive as `npm pack` makes one. */
export function packArchive(files: Files): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "sous-archive-"))
  try {
    writeFiles(join(folder, "package"), files)
    execFileSync("tar", ["-czf", "pack.tgz", "package"], { cwd: folder })
    return readFileSync(join(folder, "pack.tgz"))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Commits the files in a repository, which is made when it is missing; returns the commit. */
export function commit(folder: string, files: Files, tag?: string): string {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], {
      cwd: folder,
      encoding: "utf8",
      stdio: "pipe",
    })
  mkdirSync(folder, { recursive: true })
  git("init", "--quiet", "--initial-branch=main")
  writeFiles(folder, files)
  git("add", "--all")
  git("commit", "--quiet", "--allow-empty", "--message", "a change")
  if (tag !== undefined) git("tag", tag)
  return git("rev-parse", "HEAD").trim()
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}
