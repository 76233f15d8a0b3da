/**
 * The events of a recipe → its steps as a tree: what is done stays, what runs is redrawn below with counts, tokens, cost.
 *
 * Invariant: a fan-out is one line with counts, however many items it has; a step that failed is never folded away.
 */
import type { RunEvent } from "sous"
import { clip, formatCount, formatDuration, formatUsd, oneLine, summarizeInput } from "./display.ts"
import { type Detail, printCommon, type Renderer } from "./renderer.ts"
import type { Screen } from "./screen.ts"

interface Node {
  path: string
  /** The last part of its path. */
  name: string
  /** What it does, in words. */
  title: string
  parent: Node | undefined
  depth: number
  started: number
  /** What its agent does right now. */
  activity: string
  turn: number
  items?: number
  /** Of a pipeline: steps that each item goes through; its last one is what counts. */
  stages?: number
  done: number
  failed: number
  running: Set<Node>
  /** Items done when a line about them was last printed. */
  told: number
}

type Finished = RunEvent & { type: "step_finished" }

const SPINNER = ["◐", "◓", "◑", "◒"]

/** Shows a run's steps on a screen. */
export function createTreeRenderer(screen: Screen, options: { detail: Detail }): Renderer {
  const nodes = new Map<string, Node>()
  const roots = new Set<Node>()
  const spent = { input: 0, output: 0, usd: 0, started: 0 }
  let ticks = 0
  const draw = () => {
    if (options.detail === "quiet" || !screen.live) return
    const spinner = SPINNER[ticks++ % SPINNER.length]!
    const lines = [...roots].flatMap((node) => runningLines(screen, node, spinner))
    screen.draw(lines.length === 0 ? [] : [...lines, spentLine(screen, spent)])
  }
  const timer = screen.live && options.detail !== "quiet" ? setInterval(draw, 120).unref() : undefined
  const start = (event: RunEvent & { type: "step_started" }) => {
    const node = addNode(nodes, event)
    ;(node.parent?.running ?? roots).add(node)
    if (!screen.live && options.detail !== "quiet" && !isItem(node)) screen.print(startLine(screen, node))
  }
  const finish = (event: Finished) => {
    const node = nodes.get(event.id)
    if (!node) return
    nodes.delete(event.id)
    ;(node.parent?.running ?? roots).delete(node)
    countItem(node, event.ok)
    if (options.detail !== "quiet" || !event.ok) printFinished(screen, node, event, options.detail)
  }
  return {
    handle(event) {
      if (event.type === "run_started") spent.started = Date.parse(event.ts)
      if (event.type === "usage") addUsage(spent, event)
      if (event.type === "step_started") start(event)
      else if (event.type === "step_finished") finish(event)
      else noteActivity(nodes.get(event.step ?? ""), event)
      printCommon(screen, event, options.detail)
      draw()
    },
    close() {
      clearInterval(timer)
      screen.draw([])
    },
  }
}

function addNode(nodes: Map<string, Node>, event: RunEvent & { type: "step_started" }): Node {
  const parent = parentOf(nodes, event.id)
  const node: Node = {
    name: oneLine(parent ? event.id.slice(parent.path.length + 1) : event.id),
    title: event.items === undefined ? oneLine(event.title) : "",
    path: event.id,
    parent,
    depth: parent ? parent.depth + 1 : 0,
    started: Date.parse(event.ts),
    activity: "",
    turn: 0,
    done: 0,
    failed: 0,
    running: new Set(),
    told: 0,
    ...(event.items === undefined ? {} : { items: event.items }),
    ...(event.stages === undefined ? {} : { stages: event.stages }),
  }
  nodes.set(event.id, node)
  return node
}

/** The running step whose path this one continues; item keys may hold slashes themselves. */
function parentOf(nodes: ReadonlyMap<string, Node>, id: string): Node | undefined {
  for (let end = id.lastIndexOf("/"); end > 0; end = id.lastIndexOf("/", end - 1)) {
    const node = nodes.get(id.slice(0, end))
    if (node) return node
  }
  return undefined
}

function noteActivity(node: Node | undefined, event: RunEvent): void {
  if (!node) return
  if (event.type === "turn_started") node.turn = event.turn
  if (event.type === "tool_use") node.activity = `${event.name} ${summarizeInput(event.input)}`
  if (event.type === "approval_requested") node.activity = `waits for an answer about ${event.request.tool}`
  if (event.type === "turn_started" || event.type === "approval_settled") node.activity = ""
}

function addUsage(spent: { input: number; output: number; usd: number }, event: RunEvent & { type: "usage" }): void {
  const { usage } = event
  spent.input += usage.input + usage.cacheRead + usage.cacheWrite
  spent.output += usage.output
  spent.usd += event.usd ?? 0
}

function isItem(node: Node): boolean {
  return node.parent?.items !== undefined
}

function countItem({ parent, path }: Node, ok: boolean): void {
  if (!parent) return
  const isLast = parent.stages === undefined || path.endsWith(`/${parent.stages}`)
  if (ok && !isLast) return
  parent.done++
  if (!ok) parent.failed++
}

function runningLines(screen: Screen, node: Node, spinner: string): string[] {
  const { cyan, dim } = screen.colors
  const indent = "  ".repeat(node.depth)
  const time = dim(formatDuration(Math.max(0, Date.now() - node.started)))
  const what = node.items === undefined ? activityOf(node) : countsOf(node)
  const room = Math.max(8, screen.columns() - indent.length - 12)
  const head = `${indent}${cyan(spinner)} ${clip([node.name, what || node.title].filter(Boolean).join("  "), room)} ${time}`
  const children = [...node.running]
  const shown = node.items === undefined ? children : children.slice(0, 4)
  return [head, ...shown.flatMap((child) => runningLines(screen, child, spinner))]
}

function activityOf({ turn, activity }: Node): string {
  return [turn === 0 ? "" : `turn ${turn}`, activity].filter(Boolean).join(" · ")
}

/** `37/400 · 2 failed · 4 running · about 3m left`. */
function countsOf({ items = 0, done, failed, running, started }: Node): string {
  const left = done < 3 || done >= items ? 0 : ((Date.now() - started) / done) * (items - done)
  return [
    `${done}/${items}`,
    failed > 0 ? `${failed} failed` : "",
    running.size > 0 ? `${running.size} running` : "",
    left > 1000 ? `about ${formatDuration(left)} left` : "",
  ]
    .filter(Boolean)
    .join(" · ")
}

function spentLine(screen: Screen, spent: { input: number; output: number; usd: number; started: number }): string {
  const facts = [`${formatCount(spent.input)} in, ${formatCount(spent.output)} out`]
  if (spent.usd > 0) facts.push(formatUsd(spent.usd))
  if (spent.started > 0) facts.push(formatDuration(Math.max(0, Date.now() - spent.started)))
  return screen.colors.dim(`  ${facts.join(" · ")}`)
}

function startLine(screen: Screen, node: Node): string {
  const items = node.items === undefined ? "" : screen.colors.dim(` ${node.items} items`)
  return `${"  ".repeat(node.depth)}${screen.colors.cyan("▸")} ${nameAndTitle(screen, node, 0)}${items}`
}

/** On a terminal cut to what `taken` columns leave of the line. */
function nameAndTitle(screen: Screen, { name, title }: Node, taken: number): string {
  if (title === "" || title === name) return name
  const room = Math.max(10, screen.columns() - taken - name.length - 2)
  return `${name}  ${screen.colors.dim(screen.live ? clip(title, room) : title)}`
}

function printFinished(screen: Screen, node: Node, event: Finished, detail: Detail): void {
  const { green, red, dim } = screen.colors
  const indent = "  ".repeat(node.depth)
  if (isItem(node) && event.ok && detail !== "verbose") {
    printCounts(screen, node.parent!)
    return
  }
  if (screen.live && node.depth > 1 && event.ok && detail !== "verbose") return
  const facts = [formatDuration(event.durationMs)]
  if (event.usd !== undefined && event.usd > 0) facts.push(formatUsd(event.usd))
  const counts =
    node.items === undefined ? "" : ` ${node.done}/${node.items}${node.failed > 0 ? ` · ${node.failed} failed` : ""}`
  const head = `${indent}${event.ok ? green("✓") : red("✗")} ${nameAndTitle(screen, node, indent.length + 20)}${counts} ${dim(facts.join(" · "))}`
  const why = event.failure ? [`${indent}  ${red(event.failure.cause)} ${oneLine(event.failure.error)}`] : []
  screen.print([head, ...why].join("\n"))
}

/** Without a terminal: a line about a fan-out each time another twentieth of it is done. */
function printCounts(screen: Screen, parent: Node): void {
  const step = Math.max(1, Math.floor((parent.items ?? 0) / 20))
  if (screen.live || parent.done - parent.told < step) return
  parent.told = parent.done
  screen.print(`${"  ".repeat(parent.depth + 1)}${screen.colors.dim(countsOf(parent))}`)
}
