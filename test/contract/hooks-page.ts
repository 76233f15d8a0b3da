/**
 * The tables of core/HOOKS.md, written from the same data that runs: events, exit codes, and every row of the contract.
 *
 * Invariant: nothing stands here that the data does not say; the text around the tables is the page's own.
 */
import { HOOKS, type HookSpec } from "../../core/hook.ts"
import type { HookDialect } from "../../core/hook-source.ts"
import { CLAUDE_ROWS, EXITS } from "../../core/hook-table.ts"
import { HOOK_ROWS, type HookEnding, type HookMeaning } from "./hooks.ts"

/** The page with the part behind each `<!-- table: name -->` replaced, up to `<!-- end -->`. */
export function renderPage(page: string): string {
  return page.replace(/(<!-- table: (\w[\w-]*) -->\n)[\s\S]*?(<!-- end -->)/g, (_, start, name, end) => {
    const render = TABLES[name]
    if (render === undefined) throw new Error(`there is no table "${name}"`)
    return `${start}\n${render()}\n\n${end}`
  })
}

const TABLES: Readonly<Record<string, () => string>> = {
  events: eventTable,
  exits: exitTable,
  native: () => contractTable("native"),
  "claude-code": () => contractTable("claude-code"),
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}

function eventTable(): string {
  const rows = Object.entries(HOOKS).map(([event, row]) => {
    const spec: HookSpec = row
    const kind = spec.kind === "gate" ? `gate, ${spec.fails}` : spec.kind
    const { exit2, stop } = CLAUDE_ROWS[event as keyof typeof HOOKS]
    return [event, kind, spec.matches ?? "", spec.answers.join(", "), exit2, stop]
  })
  return table(
    ["event", "kind, fails", "matcher reads", "may answer", "claude-code: exit 2", "`continue: false`"],
    rows,
  )
}

function exitTable(): string {
  const meaning = (dialect: HookDialect, code: string) =>
    EXITS[dialect][code as unknown as number] ?? EXITS[dialect].other
  const rows = ["0", "1", "2", "other"].map((code) => [
    code === "other" ? "any other code" : `exit ${code}`,
    meaning("native", code),
    meaning("claude-code", code),
  ])
  return table(["ending", "native", "claude-code"], rows)
}

function contractTable(dialect: HookDialect): string {
  const rows = HOOK_ROWS.filter((row) => row.dialect === dialect).map((row) => [
    row.event,
    row.where,
    `${endingText(row.ends)}${row.onFailure ? `, \`onFailure: "${row.onFailure}"\`` : ""}`,
    meaningText(row.means),
    row.because ?? "",
  ])
  return table(["event", "where", "the handler", "what comes of it", "because"], rows)
}

function endingText(ends: HookEnding): string {
  if ("exit" in ends) return [`exit ${ends.exit}`, said("prints", ends.stdout), said("says", ends.stderr)].join("")
  if ("prints" in ends)
    return `prints ${ends.prints.toLocaleString("en-US")} bytes${said("that start with", ends.start)}`
  if ("signal" in ends) return `is ended by ${ends.signal}`
  if ("hangs" in ends) return `never ends${said("prints", ends.stdout)}`
  if ("launch" in ends) return `does not start: ${ends.launch}`
  if ("status" in ends) return `answers ${ends.status}${said("with", ends.body)}`
  if ("unreachable" in ends) return "cannot be reached"
  if ("throws" in ends) return `throws${said("with", ends.throws)}`
  return `returns ${code(JSON.stringify(ends.returns) ?? "undefined")}`
}

function said(verb: string, text: string | undefined): string {
  return text === undefined || text === "" ? "" : `, ${verb} ${code(text)}`
}

function meaningText(means: HookMeaning): string {
  const parts = Object.entries(means).map(([what, value]) => {
    if (value === true) return what
    return `${what}: ${typeof value === "string" ? value : code(JSON.stringify(value))}`
  })
  return parts.length === 0 ? "goes on" : parts.join("; ").replaceAll("|", "\\|")
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``
}
