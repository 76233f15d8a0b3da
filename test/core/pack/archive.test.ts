/**
 * Archives and repositories that are made to do harm while a pack is fetched: too large, no file, links to elsewhere.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { unpackArchive } from "../../../core/pack/archive.ts"
import { fetchLocked } from "../../../core/pack/fetch.ts"
import { fetchPack, type Installing } from "../../../core/pack/install.ts"
import { parseSource } from "../../../core/pack/source.ts"
import { after, folder } from "../../harness.ts"
import { commit, writeFiles } from "./sources.ts"

const MANIFEST = "name: small\nversion: 1.0.0\napiVersion: 1\n"

function place(): Installing {
  const base = folder()
  const env = { PATH: process.env["PATH"], HOME: base }
  return { data: join(base, "data"), base, home: base, env, signal: new AbortController().signal, tell: () => {} }
}

async function reasonOf(source: string, at: Installing): Promise<string> {
  const pack = fetchPack(parseSource(source, { base: at.base, home: at.home, writtenFrom: at.base }), at)
  const reason = await pack.then(
    () => "it was taken",
    (error) => `${error.code}: ${error.message}`,
  )
  expect(readdirSync(join(at.data, "staging"))).toEqual([])
  return reason
}

describe("fetchPack()", () => {
  it("writes nothing of an archive that becomes too large when it is unpacked", async () => {
    const at = place()
    const bytes = gzipSync(Buffer.alloc(257 * 2 ** 20), { level: 1 })
    writeFileSync(join(at.base, "bomb.tgz"), bytes)
    expect(await reasonOf("./bomb.tgz", at)).toMatch(/PACK_FETCH_FAILED.*too large: unpacked, it may have 256 MiB/)
    const target = join(at.base, "target")
    await expect(unpackArchive(bytes, target, { staging: at.base, options: {} })).rejects.toThrow("too large")
    expect(existsSync(target)).toBe(false)
  })

  it("reads no more of an address than an archive may have", async () => {
    let sent = 0
    const piece = Buffer.alloc(2 ** 20, 1)
    const server = createServer((_, response) => {
      const send = () => {
        while (!response.destroyed && ++sent < 2000)
          if (!response.write(piece)) return void response.once("drain", send)
        response.end()
      }
      send()
    })
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
    after(() => {
      server.closeAllConnections()
      server.close()
    })
    const at = place()
    const resolved = `http://127.0.0.1:${(server.address() as AddressInfo).port}/endless.tgz`
    const integrity = `sha512-${"A".repeat(86)}==`
    const fetched = fetchLocked({ resolved, integrity }, join(at.base, "target"), { ...at, staging: at.base })
    await expect(fetched).rejects.toThrow("too large: packed, it may have 128 MiB")
    expect(sent).toBeLessThan(400)
  }, 30_000)

  it("reads package.json as a manifest is read, with comments and marks", async () => {
    const at = place()
    writeFiles(at.base, { "one/sous.pack.yaml": MANIFEST, "one/package.json": '\uFEFF{ // mine\n"dependencies": {} }' })
    expect(await reasonOf("./one", at)).toBe("it was taken")
    writeFiles(at.base, { "one/package.json": "{" })
    expect(await reasonOf("./one", at)).toContain("PACK_MANIFEST_INVALID")
  })

  it("waits for no pipe, and reads no device", async () => {
    const at = place()
    execFileSync("mkfifo", [join(at.base, "pipe.tgz")])
    symlinkSync("/dev/zero", join(at.base, "zero.tgz"))
    for (const name of ["pipe", "zero"]) expect(await reasonOf(`./${name}.tgz`, at)).toContain("it is no file")
  })

  it("follows no link of a repository out of it", async () => {
    const at = place()
    writeFiles(at.base, { "secret/sous.pack.yaml": MANIFEST, "secret/key": "x" })
    const repository = join(at.base, "repository")
    commit(repository, { "a.txt": "" })
    symlinkSync(join(at.base, "secret"), join(repository, "sub"))
    commit(repository, {})
    expect(await reasonOf(`git+file://${repository}#main::path:sub`, at)).toContain("a link that leads out of it")
  })
})
