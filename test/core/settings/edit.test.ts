import fc from "fast-check"
import * as jsonc from "jsonc-parser"
import { parse } from "jsonc-parser"
import { expect, test } from "vitest"
import { parseDocument } from "yaml"
import { afterEdit, type TextEdit } from "../../../core/settings/change.ts"
import { editJson } from "../../../core/settings/edit-json.ts"
import { editYaml } from "../../../core/settings/edit-yaml.ts"

/** Every comment has a number of its own. */
let comments = 0

/** Between two tokens: nothing, white space, or comments. */
const gap = fc.constantFrom(" ", "", "\n  ", "/**/", " /**/ ", " //\n", "\n  //\n    ")
const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "long name", "@x/y", "d.e"), { maxLength: 4 })
const scalar = fc.oneof(
  fc.integer({ min: 0, max: 99 }),
  fc.boolean(),
  fc.constantFrom("", "x", "Bash(rm *)", "a: #b", "é,"),
)

/** JSON with comments and trailing commas, of a list or an object. */
const { json } = fc.letrec<{ json: string; value: string; list: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    scalar.map((value) => JSON.stringify(value)),
    tie("json"),
    tie("list"),
  ),
  list: fc
    .tuple(fc.array(fc.tuple(gap, tie("value"), gap), { maxLength: 3 }), gap, fc.boolean())
    .map(([entries, end, trailing]) => {
      const inner = entries.map(([before, value, after]) => before + value + after).join(",")
      return `[${inner}${trailing && entries.length > 0 ? "," : ""}${end}]`
    }),
  json: fc
    .tuple(names, fc.array(fc.tuple(gap, gap, tie("value"), gap), { minLength: 4, maxLength: 4 }), gap, fc.boolean())
    .map(([keys, parts, end, trailing]) => {
      const inner = keys.map((key, index) => {
        const [before, between, value, after] = parts[index]!
        return `${before}${JSON.stringify(key)}:${between}${value}${after}`
      })
      return `{${inner.join(",")}${trailing && keys.length > 0 ? "," : ""}${end}}`
    }),
}))

/** Every path of a value. */
function pathsOf(value: unknown): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[]]
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [[], ...entries.flatMap(([name, below]) => pathsOf(below).map((path) => [name, ...path]))]
}

function at(value: any, path: readonly (string | number)[]): unknown {
  return path.reduce((fields, name) => fields?.[name], value)
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Edits that fit a value: those that the writer may ask for. */
function editsOf(value: unknown, fresh: unknown): TextEdit[] {
  const isNamed = (path: (string | number)[]): path is string[] => path.every((name) => typeof name === "string")
  const paths = pathsOf(value)
  const below = paths.filter((path) => path.length > 0)
  const objects = paths.filter((path) => isObject(at(value, path)))
  return [
    ...below.filter(isNamed).map((path) => ({ how: "put" as const, path, value: fresh })),
    ...objects.filter(isNamed).map((path) => ({ how: "put" as const, path: [...path, "new", "deep"], value: fresh })),
    ...paths
      .filter((path) => path.length > 0 && Array.isArray(at(value, path)))
      .filter(isNamed)
      .map((path) => ({ how: "append" as const, path, value: fresh })),
    ...below.filter((path) => isNamed(path.slice(0, -1))).map((path) => ({ how: "drop" as const, path })),
  ]
}

const fresh = fc.constantFrom<unknown>(7, "new", ["new", "er"], { new: [1] }, [], {})

test("editJson() makes every edit of every text, and every comment outside of what it replaces survives", async () => {
  await fc.assert(
    fc.asyncProperty(json, fresh, async (drawn, value) => {
      comments = 0
      const text = drawn.replace(/\/\*\*\/|\/\/(?=\n)/g, (mark) =>
        mark === "//" ? `// c${comments++};` : `/* c${comments++}; */`,
      )
      const before = parse(text, [], { allowTrailingComma: true }) as unknown
      for (const edit of editsOf(before, value)) {
        const edited = await editJson(text, edit)
        const errors: never[] = []
        expect(parse(edited, errors, { allowTrailingComma: true }), edited).toEqual(afterEdit(before, edit))
        expect(errors, edited).toEqual([])
        const gone = edit.how === "append" ? [] : commentsIn(text, edit.path)
        for (let index = 0; index < comments; index++) {
          if (!gone.includes(`c${index};`)) expect(edited.split(`c${index};`), edited).toHaveLength(2)
        }
      }
    }),
    { numRuns: runs(80) },
  )
}, 300_000)

test("editYaml() makes every edit of every plain text, and every comment outside of what it replaces survives", async () => {
  const yaml = fc.tuple(
    fc.jsonValue({ depthSize: "small", maxDepth: 3 }),
    fc.boolean(),
    fc.boolean(),
    fc.constantFrom(2, 4),
  )
  await fc.assert(
    fc.asyncProperty(names, yaml, yaml, fresh, async (keys, one, other, value) => {
      // No setting is a list of lists; an edit of one may be refused.
      fc.pre(!isListOfLists(one[0]) && !isListOfLists(other[0]))
      const content = Object.fromEntries(
        keys.map((key, index) => [key, [one[0], other[0], 1, { x: [1, 2], y: "z" }][index]]),
      )
      const [, flow, indentSeq, indent] = one
      const document = new (await import("yaml")).Document(content)
      for (const { value } of (document.contents as any).items) if (flow && value) value.flow = true
      const printed = document.toString({ indentSeq, indent, lineWidth: 0 })
      let count = 0
      // On every line that ends with an entry, and on lines between them.
      const text = printed.replace(
        /^( *(?:- )*(?:[a-c]|- [\w ]+): (?:\d+|true|false|x))$/gm,
        (line) => `# c${count++};\n${line} # c${count++};`,
      )
      const parsed = parseDocument(text)
      const before = (parsed.errors.length === 0 ? parsed.toJS() : undefined) as unknown
      fc.pre(typeof before === "object" && before !== null)
      for (const edit of editsOf(before, value)) {
        const edited = await editYaml(text, edit)
        expect(edited, `${text}\n${JSON.stringify(edit)}`).toBeDefined()
        expect(parseDocument(edited!).toJS() ?? {}).toEqual(afterEdit(before, edit))
        if (edit.path.length > 1 || edit.how === "append") continue
        const all = [...text.matchAll(/c\d+;/g)].map(([comment]) => comment)
        const kept = all.filter((comment) => edited!.includes(comment))
        if (typeof at(before, edit.path) !== "object") expect(kept, edited).toEqual(all)
      }
    }),
    { numRuns: runs(25) },
  )
}, 300_000)

/** True where a list stands in a list, at any depth. */
function isListOfLists(value: unknown): boolean {
  const inner = typeof value === "object" && value !== null ? Object.values(value) : []
  return (Array.isArray(value) && inner.some(Array.isArray)) || inner.some(isListOfLists)
}

/** Comments within the value, or between the name and the value, that an edit replaces or takes out. */
function commentsIn(text: string, path: readonly (string | number)[]): string[] {
  let [start, end] = [0, 0]
  const { findNodeAtLocation, parseTree } = jsonc
  const node = findNodeAtLocation(parseTree(text, [], { allowTrailingComma: true })!, [...path])
  if (node) {
    const whole = node.parent?.type === "property" ? node.parent : node
    ;[start, end] = [whole.offset, whole.offset + whole.length]
  }
  return [...text.slice(start, end).matchAll(/c\d+;/g)].map(([comment]) => comment)
}

function runs(count: number): number {
  return process.env["SOUS_TEST_FULL"] === "1" ? count * 30 : count
}
