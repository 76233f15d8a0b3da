import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isPublic, parseAddress, upgradeAddress } from "../../../plugins/tools/web-address.ts"
import { createWebFetch } from "../../../plugins/tools/web-fetch.ts"
import type { TestContext } from "../../contract/tool.ts"
import { createSite, fetchPage, page, redirect, type Site, webContext } from "./web-site.ts"

const at = (address: string) => ({ address, family: address.includes(":") ? 6 : 4 })

let site: Site
const contexts: TestContext[] = []
beforeAll(async () => {
  site = await createSite({ "/": page("text/plain", "here"), "/a": redirect("/b"), "/b": redirect("/") })
})
afterAll(async () => {
  await site.close()
  for (const context of contexts) await context.release()
})

function contextOf(...given: Parameters<typeof webContext>): TestContext {
  const context = webContext(...given)
  contexts.push(context)
  return context
}

describe("isPublic()", () => {
  it.each([
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "this network"],
    ["10.0.0.1", "private"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.100.100.200", "a cloud's metadata"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["168.63.129.16", "a cloud's metadata"],
    ["169.254.0.1", "link-local"],
    ["169.254.169.254", "a cloud's metadata"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.0.0.192", "a cloud's metadata"],
    ["192.0.2.1", "documentation"],
    ["192.88.99.1", "6to4 relay"],
    ["192.168.1.1", "private"],
    ["198.18.0.1", "benchmark"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["::7f00:1", "IPv4-compatible"],
    ["::ffff:127.0.0.1", "IPv4-mapped loopback"],
    ["::ffff:8.8.8.8", "IPv4-mapped, even of a public address"],
    ["::ffff:0:127.0.0.1", "IPv4-translated"],
    ["64:ff9b::7f00:1", "NAT64"],
    ["64:ff9b:1::a00:1", "local NAT64"],
    ["100::1", "discard"],
    ["2001::1", "Teredo"],
    ["2001:db8::1", "documentation"],
    ["2002:7f00:1::", "6to4 of loopback"],
    ["3fff::1", "documentation"],
    ["fc00::1", "unique local"],
    ["fd00:ec2::254", "a cloud's metadata"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local of an interface"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
  ])("refuses %s: %s", (address) => {
    expect(isPublic(at(address))).toBe(false)
  })

  it.each([
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001::1",
  ])("lets %s pass", (address) => {
    expect(isPublic(at(address))).toBe(true)
  })

  it("refuses what is of neither family", () => {
    expect([isPublic({ address: "1.1.1.1", family: 6 }), isPublic({ address: "", family: 4 })]).toEqual([false, false])
  })
})

describe("parseAddress()", () => {
  it.each([
    ["ftp://example.com/x", "not http or https"],
    ["file:///etc/passwd", "not http or https"],
    ["javascript:alert(1)", "not http or https"],
    ["data:text/html,x", "not http or https"],
    ["example.com/x", "no web address"],
    ["//example.com/x", "no web address"],
    ["https://", "no web address"],
    ["https://exa mple.com/", "blanks"],
    ["https://example.com/a b", "blanks"],
    ["https://example.com\t.evil.com/", "blanks"],
    ["https://example.com/\u0000", "control characters"],
    ["https://example.com/\u0085x", "control characters"],
    ["https://evil.com\\@example.com/", "backslashes"],
    ["https://example.com/%00", "encoded NUL"],
    ["https://example.com%00.evil.com/", "encoded NUL"],
    ["https://example.com@evil.com/", "user name"],
    ["https://user:pw@example.com/", "user name"],
    ["https://@example.com/", "user name"],
    ["https:/user@example.com/", "user name"],
    ["https:user@example.com/", "user name"],
    [`https://example.com/${"x".repeat(2000)}`, "more than 2000 characters"],
  ])("refuses %j: %s", (text, why) => {
    expect(() => parseAddress(text)).toThrow(why)
  })

  it.each([
    [" https://example.com/x ", "https://example.com/x"],
    ["https://EXAMPLE.com./x#part", "https://example.com/x"],
    ["https://example.com/@name?mail=a@b.c", "https://example.com/@name?mail=a@b.c"],
    ["http://2130706433/", "http://127.0.0.1/"],
    ["http://0x7f.1/", "http://127.0.0.1/"],
    ["http://127.0.0.1./", "http://127.0.0.1/"],
    ["http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"],
    ["http://ⓔxample.com/", "http://example.com/"],
  ])("reads %j as %s", (text, href) => {
    expect(parseAddress(text).href).toBe(href)
  })
})

describe("upgradeAddress()", () => {
  const rules = {
    names: (host: string) => ["127.0.0.1", "localhost", "named.test"].includes(host),
    guards: () => false,
  }

  it.each([
    ["http://example.com/x", "https://example.com/x"],
    ["http://example.com:8080/x", "https://example.com:8080/x"],
    ["https://example.com/", "https://example.com/"],
    ["http://named.test/", "https://named.test/"],
    ["http://127.0.0.2/", "https://127.0.0.2/"],
    ["http://127.0.0.1:3000/", "http://127.0.0.1:3000/"],
    ["http://localhost:3000/", "http://localhost:3000/"],
  ])("%s becomes %s", (text, href) => {
    expect(upgradeAddress(new URL(text), rules).href).toBe(href)
  })
})

describe("WebFetch and the addresses of a host", () => {
  it.each([
    "http://127.0.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://0:PORT/",
    "http://localhost:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://169.254.169.254/latest/meta-data/",
  ])("does not reach %s when nothing names it", async (url) => {
    const before = site.seen.length
    const tool = createWebFetch({ timeoutMs: 3000 })
    const { isError, text } = await fetchPage(tool, url.replace("PORT", String(site.port)), contextOf([]))
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining("--allow-net=") })
    expect(site.seen).toHaveLength(before)
  })

  it("reaches the very address that a rule names, and no other spelling of it", async () => {
    const context = contextOf(["127.0.0.1"])
    const tool = createWebFetch()
    expect((await fetchPage(tool, `${site.origin}/`, context)).text).toContain("here")
    const mapped = await fetchPage(tool, `http://[::ffff:127.0.0.1]:${site.port}/`, context)
    expect(mapped.text).toContain("WebFetch(domain:[::ffff:7f00:1])")
  })

  it("reaches localhost by its name, and by no other host that is there", async () => {
    const find = async () => [at("127.0.0.1")]
    const tool = createWebFetch({ find })
    const named = contextOf(["localhost", "inner.test"])
    expect((await fetchPage(tool, `http://localhost:${site.port}/`, named)).text).toContain("here")
    const { isError, text } = await fetchPage(tool, `http://inner.test:${site.port}/`, named)
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining('"inner.test" is at 127.0.0.1') })
  })

  it("refuses a host of which one address is private", async () => {
    const tool = createWebFetch({ find: async () => [at("93.184.215.14"), at("10.0.0.5")] })
    const { text } = await fetchPage(tool, "https://half.test/", contextOf())
    expect(text).toContain("--allow-net=10.0.0.5")
  })

  it("resolves a host once for all of its redirects, and connects to what was checked", async () => {
    const answers = ["127.0.0.1", "169.254.169.254"]
    let lookups = 0
    const find = async () => [at(answers[lookups++]!)]
    const before = site.seen.length
    const url = `http://rebind.localhost:${site.port}/a`
    const { text } = await fetchPage(createWebFetch({ find }), url, contextOf(["rebind.localhost"]))
    expect(text).toContain("here")
    expect(site.seen.slice(before)).toEqual(["GET /a", "GET /b", "GET /"])
    expect(lookups).toBe(1)
  })

  it("says https to a host that only its address names", async () => {
    const bytes: Buffer[] = []
    const server = createServer((socket) => {
      socket.once("data", (data) => {
        bytes.push(data)
        socket.destroy()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as { port: number }
    const tool = createWebFetch({ find: async () => [at("127.0.0.1")] })
    const { isError } = await fetchPage(tool, `http://plain.test:${port}/`, contextOf())
    server.close()
    expect(isError).toBe(true)
    // A TLS handshake that asks for the host by its name.
    expect(bytes[0]?.[0]).toBe(0x16)
    expect(bytes[0]?.toString("latin1")).toContain("plain.test")
  })

  it("says when a host is not known, and when nothing listens", async () => {
    const unknown = createWebFetch({
      find: () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })),
    })
    expect((await fetchPage(unknown, "https://nowhere.test/", contextOf())).text).toContain("no such host is known")
    const closed = await createSite()
    await closed.close()
    expect((await fetchPage(createWebFetch(), `${closed.origin}/`, contextOf())).text).toContain("nothing listens")
  })

  it("leaves a lookup that does not end", async () => {
    const tool = createWebFetch({ find: () => new Promise(() => {}), timeoutMs: 50 })
    expect((await fetchPage(tool, "https://slow.test/", contextOf())).text).toContain("no whole answer within 0.05 s")
  })
})
