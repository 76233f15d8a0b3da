/**
 * A case of a table → the tool's name and the whole input of the call that it stands for.
 *
 * Invariant: which field a command, path or address goes into is told by what the tool says it touches, never by a name.
 */
import { isReadOnly, type Target, type Tool } from "../tool.ts"
import { exampleOf, fieldsOf } from "./explain-input.ts"
import type { TableCase } from "./table.ts"

/** The call of a case; fields that the tool needs beside are filled in. */
export function callOfCase(
  { tool: name, command, path, url, input = {} }: TableCase,
  tools: ReadonlyMap<string, Tool>,
): { tool: string; input: Record<string, unknown> } {
  const given: [Target["kind"], string | undefined][] = [
    ["command", command],
    ["path", path],
    ["url", url],
  ]
  const [kind, value] = given.find(([, text]) => text !== undefined) ?? []
  const tool = name === undefined ? defaultTool(kind ?? "command", tools) : tools.get(name)
  if (kind === undefined) return { tool: name ?? tool?.name ?? "", input }
  const field = (tool && fieldFor(tool, kind)) ?? kind
  return { tool: name ?? tool?.name ?? kind, input: { ...(tool ? fill(tool) : {}), [field]: value, ...input } }
}

/** The tool that a case without one means: the shell, the first that fetches, the first that reads a file. */
function defaultTool(kind: Target["kind"], tools: ReadonlyMap<string, Tool>): Tool | undefined {
  const all = [...tools.values()]
  const shell = kind === "command" ? all.find(({ role }) => role === "shell") : undefined
  return shell ?? all.find((tool) => fieldFor(tool, kind) !== undefined && (kind !== "path" || isReader(tool)))
}

function isReader(tool: Tool): boolean {
  return isReadOnly(tool, fill(tool))
}

const HERE = "the-text-of-this-field"

/** The field whose text the tool names as a target of that kind. */
function fieldFor(tool: Tool, kind: Target["kind"]): string | undefined {
  const texts = fieldsOf(tool).filter(({ schema }) => schema["type"] === "string")
  return texts.find(({ name }) => {
    const targets = tool.targets?.({ ...fill(tool), [name]: HERE } as never, { cwd: "/" }) ?? []
    return targets.some((target) => target.kind === kind && Object.values(target).includes(HERE))
  })?.name
}

/** The least that the tool's schema asks for. */
function fill(tool: Tool): Record<string, unknown> {
  const required = fieldsOf(tool).filter((field) => field.required)
  return Object.fromEntries(required.map(({ name, schema }) => [name, exampleOf(schema, "x")]))
}
