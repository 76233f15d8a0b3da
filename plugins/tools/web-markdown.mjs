/**
 * A worker: HTML → the page's title and its readable part as markdown.
 *
 * It is JavaScript, since a worker of a checkout has no loader for anything else. Whoever starts it bounds its time and
 * memory: for a page made for it, these libraries take minutes.
 *
 * Invariant: it touches neither network nor disk; scripts are dropped, never run.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Readability } from "@mozilla/readability"
import { parseHTML } from "linkedom"
import Turndown from "turndown"

const NEVER_TEXT = "script, style, noscript, template, svg, iframe, object, canvas, dialog, [hidden]"
const FRAME = "nav, footer"
/** Shorter articles stand for their page only when there is little else. In characters. */
const SHORT_ARTICLE = 1000
/** Longer texts are cut: each link of a page may have a long address. In characters. */
const MOST_CHARS = 10_000_000

parentPort?.postMessage(readable(workerData))

function readable({ html, url }) {
  const { document } = parseHTML(/<html/i.test(html.slice(0, 2000)) ? html : `<html><body>${html}</body></html>`)
  const base = document.querySelector("base[href]")?.getAttribute("href") ?? ""
  for (const node of document.querySelectorAll(NEVER_TEXT)) node.remove()
  resolveLinks(document, URL.canParse(base, url) ? new URL(base, url) : url)
  dropFrame(document)
  const title = document.querySelector("title")?.textContent.trim() ?? ""
  for (const node of document.body.querySelectorAll("title")) node.remove()
  const whole = document.body.cloneNode(true)
  // It takes the document apart.
  const article = new Readability(document, { keepClasses: true, serializer: (element) => element }).parse()
  const text = whole.textContent.trim().length
  const isEnough = article !== null && (article.length >= SHORT_ARTICLE || article.length * 2 >= text)
  const chosen = isEnough ? article.content : mainPart(whole)
  prepareCode(chosen)
  prepareTables(chosen)
  const markdown = createTurndown().turndown(chosen)
  return { title: (article?.title || title).slice(0, 300), markdown: markdown.slice(0, MOST_CHARS) }
}

/** Menus go, unless they are most of the page. */
function dropFrame(document) {
  const frame = [...document.querySelectorAll(FRAME)]
  const framed = frame.reduce((sum, node) => sum + node.textContent.length, 0)
  if (framed * 2 < document.body.textContent.length) for (const node of frame) node.remove()
}

function mainPart(body) {
  const main = body.querySelector("main, [role=main]")
  return main !== null && main.textContent.trim().length > 200 ? main : body
}

/** Addresses become whole ones; what leads nowhere keeps its words only. */
function resolveLinks(document, base) {
  for (const link of document.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href").trim()
    const target = URL.canParse(href, base) ? new URL(href, base) : undefined
    if (target !== undefined && /^(?:https?|mailto):$/.test(target.protocol) && !href.startsWith("#")) {
      link.setAttribute("href", target.href)
    } else link.removeAttribute("href")
  }
  for (const image of document.querySelectorAll("img")) {
    const source = image.getAttribute("src") ?? ""
    const shown = (image.getAttribute("alt") ?? "").trim() !== "" && URL.canParse(source, base)
    const target = shown ? new URL(source, base) : undefined
    if (target !== undefined && /^https?:$/.test(target.protocol)) image.setAttribute("src", target.href)
    else image.remove()
  }
}

/** A block of code is its text, whatever colours it: so that white space survives. */
function prepareCode(root) {
  for (const block of root.querySelectorAll("pre")) {
    for (const line of block.querySelectorAll("br")) line.replaceWith("\n")
    const names = [block, ...block.querySelectorAll("code")].map((node) => node.getAttribute("class") ?? "").join(" ")
    block.setAttribute(
      "data-language",
      /(?:^|\s)(?:lang|language|highlight-source)-([\w+#-]{1,20})/.exec(names)?.[1] ?? "",
    )
  }
}

/** Tables with headings are data; others only place things. */
function prepareTables(root) {
  for (const table of root.querySelectorAll("table")) {
    if (table.querySelector("th") === null || table.querySelector("table, pre, ul, ol") !== null) continue
    for (const rows of table.querySelectorAll("thead, tbody, tfoot")) rows.setAttribute("data-rows", "")
    for (const [i, row] of table.querySelectorAll("tr").entries()) {
      const cells = row.querySelectorAll("th, td")
      row.setAttribute("data-row", i === 0 ? String(cells.length) : "0")
      for (const cell of cells) cell.setAttribute("data-cell", "")
    }
  }
}

function createTurndown() {
  const turndown = new Turndown({
    headingStyle: "atx",
    hr: "---",
    bulletListMarker: "-",
    codeBlockStyle: "fenced",
    emDelimiter: "*",
    blankReplacement: (_, node) => (node.hasAttribute?.("data-cell") ? " |" : node.isBlock ? "\n\n" : ""),
  })
  // It is read, not rendered again: `snake_case` stays as it is.
  turndown.escape = (text) => text
  turndown.addRule("code", { filter: "pre", replacement: (_, node) => fenced(node) })
  turndown.addRule("cell", {
    filter: (node) => node.hasAttribute("data-cell"),
    replacement: (content) =>
      ` ${content
        .trim()
        .split(/\s*\n\s*/)
        .join(" ")
        .replaceAll("|", "\\|")} |`,
  })
  turndown.addRule("rows", {
    filter: (node) => node.hasAttribute("data-rows"),
    replacement: (content) => `\n${content.trim()}\n`,
  })
  turndown.addRule("row", {
    filter: (node) => node.hasAttribute("data-row"),
    replacement: (content, node) => {
      const columns = Number(node.getAttribute("data-row"))
      return `\n|${content}${columns > 0 ? `\n|${" --- |".repeat(columns)}` : ""}`
    },
  })
  return turndown
}

function fenced(node) {
  const text = node.textContent.replace(/\n$/, "")
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2)
  const fence = "`".repeat(longest + 1)
  return `\n\n${fence}${node.getAttribute("data-language")}\n${text}\n${fence}\n\n`
}
