import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { bareWords, convertPage } from "../../../plugins/tools/web-convert.ts"
import { createWebFetch, webFetchTool } from "../../../plugins/tools/web-fetch.ts"
import type { TestContext } from "../../contract/tool.ts"
import { createSite, fetchPage, page, type Site, webContext } from "./web-site.ts"

let site: Site
let context: TestContext
beforeAll(async () => {
  site = await createSite()
  context = webContext()
})
afterAll(async () => {
  await context.release()
  await site.close()
})

let pages = 0
/** Serves a body, fetches it, and returns the result with the text of the page alone. */
async function shown(type: string, body: string | Buffer, tool = webFetchTool) {
  const path = `/docs/page-${pages++}`
  site.pages[path] = page(type, body)
  const result = await fetchPage(tool, site.origin + path, context)
  return { ...result, page: result.text.split("\n\n").slice(1).join("\n\n") }
}

const WORDS = "The words of this article go on for a while, and a comma follows each of them. "
const ARTICLE = `<!doctype html><html><head><title>A guide | Site</title><style>p { color: red }</style></head><body>
  <nav><a href="/home">Home</a> <a href="/about">About us</a></nav>
  <script>document.write("never run")</script>
  <article><h1>A guide</h1><h2>First part</h2>
  <p>${WORDS.repeat(20)}</p>
  <p>See <a href="../api?x=1#top">the interface</a>, <a href="javascript:alert(1)">this</a> and <em>snake_case_name</em>.</p>
  <ul><li>one</li><li>two <code>a_b</code></li></ul>
  <pre class="lang"><code class="language-ts"><span>const x</span> = 1 &lt; 2
    indented\`\`\`</code></pre>
  <table><thead><tr><th>Name</th><th>What</th></tr></thead><tbody><tr><td>a|b</td><td><p>first</p><p>second</p></td></tr><tr><td></td><td>last</td></tr></tbody></table>
  <p><img src="/logo.png" alt="The logo"><img src="/pixel.gif"><img src="data:image/png;base64,AAAA" alt="x"></p>
  <noscript>Switch it on</noscript><p hidden>Not to be seen</p></article>
  <footer>Imprint and such</footer></body></html>`

describe("WebFetch of HTML", () => {
  it("makes markdown of the article", async () => {
    const { text, page: markdown } = await shown("text/html", ARTICLE)
    expect(text.split("\n")[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/docs\/page-\d+ "A guide/)
    expect(markdown).toContain("## First part\n\nThe words of this article")
    expect(markdown).toContain(`[the interface](${site.origin}/api?x=1#top), this and *snake_case_name*.`)
    expect(markdown).toMatch(/^-\s+one\n-\s+two `a_b`$/m)
    expect(markdown).toContain("````ts\nconst x = 1 < 2\n    indented```\n````")
    expect(markdown).toMatch(/^\| Name \| What \|\n\| --- \| --- \|\n\| a\\\|b \| first second \|\n\|\s+\| last \|$/m)
    expect(markdown).toContain(`![The logo](${site.origin}/logo.png)`)
    for (const gone of [
      "never run",
      "color: red",
      "Imprint",
      "About us",
      "pixel",
      "base64",
      "Switch it on",
      "Not to be seen",
    ]) {
      expect(markdown).not.toContain(gone)
    }
  })

  it("shows a page that is no article without its frame", async () => {
    const list = Array.from({ length: 30 }, (_, i) => `<li><a href="p${i}">Part ${i}</a></li>`).join("")
    const { page: markdown } = await shown(
      "text/html",
      `<body><nav>Menu</nav><h1>Index</h1><ul>${list}</ul><footer>End</footer>`,
    )
    expect(markdown).toContain("# Index")
    expect(markdown).toContain(`[Part 29](${site.origin}/docs/p29)`)
    expect(markdown).not.toMatch(/Menu|End/)
  })

  it.each([
    ["a fragment", "<p>Just a <b>bit</b>", "Just a **bit**"],
    ["a layout table", "<table><tr><td>left</td><td>right</td></tr></table>", "left\n\nright"],
    ["a base", '<base href="https://base.test/a/"><p><a href="b">to</a></p>', "[to](https://base.test/a/b)"],
    ["plain text", "no tags at all", "no tags at all"],
    ["a title in the body", "<body><title>T</title><p>x", "x"],
  ])("reads %s", async (_, html, markdown) => {
    expect((await shown("text/html", html)).page).toBe(markdown)
  })

  it("recognises it without a type, and as XHTML", async () => {
    expect((await shown("", "<!DOCTYPE html><p>a <b>b</b>")).page).toBe("a **b**")
    expect((await shown("application/xhtml+xml", "<html><body><p>a <b>b</b></p></body></html>")).page).toBe("a **b**")
  })

  it("is read for its bare words when it takes too long, while the run goes on", async () => {
    const hostile = `<html><body>${"<div>".repeat(3000)}deep down`
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    const { text, page: words } = await shown("text/html", hostile, createWebFetch({ convertMs: 300 }))
    clearInterval(timer)
    expect(words).toBe("deep down")
    expect(text).toContain("The bare words of the page")
    expect(ticks).toBeGreaterThan(5)
  })
})

describe("convertPage()", () => {
  it("ends with the run", async () => {
    const controller = new AbortController()
    const page = { html: "<div>".repeat(5000), url: "https://a.test/" }
    const converting = convertPage(page, { signal: controller.signal })
    setImmediate(() => controller.abort(new Error("the run was aborted")))
    await expect(converting).rejects.toThrow("the run was aborted")
  })

  it("ends with the run while it waits for others, who go on", async () => {
    const page = { html: "<div>".repeat(5000), url: "https://a.test/" }
    const { signal } = new AbortController()
    const others = [1, 2].map(() => convertPage(page, { signal, timeoutMs: 2000 }))
    const controller = new AbortController()
    const waiting = convertPage({ html: "<p>short", url: page.url }, { signal: controller.signal })
    let finished = 0
    for (const other of others) void other.then(() => finished++)
    controller.abort(new Error("the run was aborted"))
    await expect(waiting).rejects.toThrow("the run was aborted")
    expect(finished).toBe(0)
    await Promise.all(others)
    expect((await convertPage({ html: "<p>short", url: page.url }, { signal })).markdown).toBe("short")
  })

  it("converts more pages than it has workers", async () => {
    const { signal } = new AbortController()
    const urls = Array.from({ length: 5 }, (_, i) => `https://a.test/${i}/`)
    const all = urls.map((url) => convertPage({ html: '<p><a href="x">y</a>', url }, { signal }))
    expect((await Promise.all(all)).map(({ markdown }) => markdown)).toEqual(urls.map((url) => `[y](${url}x)`))
  })
})

describe("bareWords()", () => {
  it("leaves out scripts and tags, and joins what stands in a line", () => {
    const html = "<p>a <b>b</b>&amp;c</p><script>if (1 < 2) x()</script><div>d</div> 1 < 2 e<style>p{}</style>f"
    expect(
      bareWords(html)
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean),
    ).toEqual(["a b&c", "d", "1 < 2 e", "f"])
  })

  it.each(["<", "<a", "<script>", "&", "<script><", "</"])("takes one look at each character of %j", (part) => {
    const started = performance.now()
    bareWords(part.repeat(400_000))
    expect(performance.now() - started).toBeLessThan(3000)
  })
})

describe("WebFetch of other types", () => {
  it.each([
    ["application/json", '{"a": 1}'],
    ["application/ld+json; charset=utf-8", '{"a": 1}'],
    ["text/markdown", "# Title\n\n<b>as it is</b>"],
    ["application/xml", "<a><b/></a>"],
    ["image/svg+xml", "<svg><path/></svg>"],
    ["application/octet-stream", "text after all: grüße"],
    ["application/x-unheard-of", "text after all"],
    ["", "no type"],
  ])("shows %j as it is", async (type, body) => {
    expect((await shown(type, body)).page).toBe(body)
  })

  it.each([
    ["text/plain; charset=iso-8859-1", Buffer.from("grüße", "latin1"), "grüße"],
    ['text/plain; charset="windows-1251"', Buffer.from([0xcf, 0xf0, 0xe8]), "При"],
    ["text/plain; charset=shift_jis", Buffer.from([0x93, 0xfa, 0x96, 0x7b]), "日本"],
    ["text/plain; charset=utf-16le", Buffer.from("grüße", "utf16le"), "grüße"],
    ["text/plain", Buffer.from("\ufeffgrüße", "utf16le"), "grüße"],
    ["text/plain; charset=iso-8859-1", Buffer.from("\ufeffgrüße"), "grüße"],
    ["text/plain; charset=nobody-knows", Buffer.from("grüße"), "grüße"],
    ["text/html", Buffer.from('<meta charset="iso-8859-1"><p>grüße', "latin1"), "grüße"],
    [
      "text/html",
      Buffer.from('<meta http-equiv="content-type" content="text/html; charset=iso-8859-1"><p>grüße', "latin1"),
      "grüße",
    ],
    ["text/xml", Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>grüße</a>', "latin1"), "grüße"],
  ])("respects the encoding of %s", async (type, body, text) => {
    expect((await shown(type, body)).page).toContain(text)
  })

  it("shows an image, whatever its type says", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    )
    const { output, data } = await shown("text/plain", png)
    expect(output.content).toEqual([
      { type: "text", text: expect.stringContaining(data.url) },
      { type: "image", source: { type: "base64", media_type: "image/png", data: png.toString("base64") } },
    ])
    const large = await shown("image/png", Buffer.concat([png, Buffer.alloc(4_000_000)]))
    expect(large).toMatchObject({ isError: true, text: expect.stringContaining("too large to be shown") })
  })

  it.each([
    ["application/pdf", "%PDF-1.7", "It is a PDF"],
    ["application/octet-stream", "%PDF-1.7", "It is a PDF"],
    ["application/zip", "PK", "data of type application/zip"],
    ["video/mp4", "x", "data of type video/mp4"],
    ["application/octet-stream", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff]), "data of type application/octet-stream"],
    ["text/plain", Buffer.from([0x61, 0, 0x62]), "data of type text/plain"],
    ["", Buffer.from([0xff, 0x00]), "data without a type"],
  ])("refuses %s that is no text", async (type, body, why) => {
    const { isError, text } = await shown(type, body)
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining(why) })
    expect(text).toContain("curl -o")
  })
})
