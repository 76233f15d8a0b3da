/**
 * A settings file as a tree → every file that one slip with one key makes of it.
 *
 * Invariant: a slip is what a person may do without noticing: a wrong letter, a wrong case, a lost or doubled key, a
 * value of another type, a key one level too high.
 */

/** A tree whose maps may have the same key twice. */
export type Tree =
  | { kind: "map"; entries: [string, Tree][] }
  | { kind: "list"; items: Tree[] }
  | { kind: "value"; value: unknown }

export type Path = readonly (string | number)[]

export interface Mutation {
  how: "typo" | "case" | "delete" | "retype" | "duplicate" | "up"
  /** Of the key, as the file had it. */
  path: Path
  tree: Tree
  /** What it has become, for messages. */
  what: string
}

export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { kind: "list", items: value.map(treeOf) }
  if (typeof value !== "object" || value === null) return { kind: "value", value }
  return { kind: "map", entries: Object.entries(value).map(([key, field]) => [key, treeOf(field)]) }
}

/** As JSON, one top-level key on each line; as YAML, in its form that looks like JSON below the top. */
export function printTree(tree: Tree, ending: "json" | "yaml"): string {
  if (tree.kind !== "map") return flow(tree)
  const lines = tree.entries.map(([key, field]) => `${JSON.stringify(key)}: ${flow(field)}`)
  return ending === "yaml" ? lines.map((line) => `${line}\n`).join("") : `{\n${lines.join(",\n")}\n}\n`
}

function flow(tree: Tree): string {
  if (tree.kind === "value") return JSON.stringify(tree.value)
  if (tree.kind === "list") return `[${tree.items.map(flow).join(", ")}]`
  return `{ ${tree.entries.map(([key, field]) => `${JSON.stringify(key)}: ${flow(field)}`).join(", ")} }`
}

/** All of them. */
export function mutationsOf(root: Tree): Mutation[] {
  return placesIn(root, []).flatMap(({ path, at }) => {
    const key = path.at(-1)!
    // Another entry in a list of texts or objects is no slip of a key.
    if (typeof key === "number" && path.at(-2) === "plugins") return []
    const retyped = retypesOf(at).map((value) => {
      return { how: "retype" as const, path, tree: replace(root, path, value), what: flow(value) }
    })
    if (typeof key !== "string") return retyped
    const renamed = (how: "typo" | "case", names: string[]) =>
      names.map((name) => ({ how, path, what: name, tree: edit(root, path, (entry) => [[name, entry[1]]]) }))
    const parent = path.slice(0, -1).findLastIndex((name) => typeof name === "string")
    const grand = path.length > 1 ? path.slice(0, Math.max(parent, 0)) : undefined
    return [
      ...retyped,
      ...renamed("typo", typosOf(key)),
      ...renamed("case", casesOf(key)),
      { how: "delete" as const, path, what: "", tree: edit(root, path, () => []) },
      ...[at, emptyLike(at)].map((second) => {
        const tree = edit(root, path, (entry) => [entry, [key, second]])
        return { how: "duplicate" as const, path, what: flow(second), tree }
      }),
      ...(grand === undefined
        ? []
        : [{ how: "up" as const, path, what: grand.join("."), tree: movedUp(root, path, grand) }]),
    ]
  })
}

function placesIn(tree: Tree, path: Path): { path: Path; at: Tree }[] {
  const below: [string | number, Tree][] =
    tree.kind === "map" ? tree.entries : tree.kind === "list" ? [...tree.items.entries()] : []
  const own = path.length === 0 ? [] : [{ path, at: tree }]
  return [...own, ...below.flatMap(([name, field]) => placesIn(field, [...path, name]))]
}

const OTHERS: Tree[] = [null, "text", "", 7, -1, true, false, [], ["text"], {}, { text: "text" }].map(treeOf)

function retypesOf(tree: Tree): Tree[] {
  return OTHERS.filter((other) => typeOf(other) !== typeOf(tree))
}

function typeOf(tree: Tree): string {
  return tree.kind === "value" ? (tree.value === null ? "null" : typeof tree.value) : tree.kind
}

function emptyLike(tree: Tree): Tree {
  if (tree.kind === "map") return { kind: "map", entries: [] }
  return tree.kind === "list" ? { kind: "list", items: [] } : tree
}

function typosOf(key: string): string[] {
  const middle = Math.floor(key.length / 2)
  const swapped = key.slice(0, middle - 1) + (key[middle] ?? "") + (key[middle - 1] ?? "") + key.slice(middle + 1)
  const typos = [
    key.slice(0, -1),
    key.slice(1),
    `${key}s`,
    `${key} `,
    key[0] + key,
    swapped,
    key.replace(/s$/, ""),
    `x${key}`,
  ]
  return [...new Set(typos)].filter((name) => name !== key)
}

function casesOf(key: string): string[] {
  const first = key[0] === key[0]?.toLowerCase() ? key[0]?.toUpperCase() : key[0]?.toLowerCase()
  const dashed = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const cases = [
    key.toLowerCase(),
    key.toUpperCase(),
    (first ?? "") + key.slice(1),
    dashed,
    dashed.replaceAll("-", "_"),
  ]
  return [...new Set(cases)].filter((name) => name !== key)
}

type Entry = [string, Tree]

/** Changes the entry at a path, in a copy. */
function edit(tree: Tree, path: Path, change: (entry: Entry) => Entry[]): Tree {
  const [name, ...rest] = path
  if (tree.kind === "list") {
    return { kind: "list", items: tree.items.map((item, index) => (index === name ? edit(item, rest, change) : item)) }
  }
  if (tree.kind !== "map") return tree
  const entries = tree.entries.flatMap((entry): Entry[] => {
    if (entry[0] !== name) return [entry]
    return rest.length === 0 ? change(entry) : [[entry[0], edit(entry[1], rest, change)]]
  })
  return { kind: "map", entries }
}

function replace(tree: Tree, path: Path, value: Tree): Tree {
  const [name, ...rest] = path
  if (name === undefined) return value
  if (tree.kind === "list") {
    return {
      kind: "list",
      items: tree.items.map((item, index) => (index === name ? replace(item, rest, value) : item)),
    }
  }
  if (tree.kind !== "map") return tree
  return {
    kind: "map",
    entries: tree.entries.map(([key, field]) => [key, key === name ? replace(field, rest, value) : field]),
  }
}

function movedUp(root: Tree, path: Path, to: Path): Tree {
  const key = path.at(-1) as string
  const moved = at(root, path)
  const without = edit(root, path, () => [])
  const target = at(without, to)
  if (target.kind !== "map") return root
  const rest = target.entries.filter(([name]) => name !== key)
  return replace(without, to, { kind: "map", entries: [...rest, [key, moved]] })
}

function at(tree: Tree, path: Path): Tree {
  return path.reduce((found, name) => {
    if (found.kind === "list") return found.items[Number(name)]!
    return found.kind === "map" ? found.entries.find(([key]) => key === name)![1] : found
  }, tree)
}
