/**
 * Fewer files for a command to load. esbuild makes a file for each set of modules that the same starting points reach,
 * so every `import()` of a part that shares something cuts what is loaded at the start into smaller files. Here each
 * such part is told to import all that has surely been loaded before it, by whichever way it was reached: then those
 * modules have the same starting points again.
 *
 * Invariant: nothing is loaded earlier or in another order; a part gains only imports of what stands in memory already.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

/** A plugin for esbuild, from the account (metafile) of a bundle of these `entries` that was made without it. */
export function loadedBefore({ inputs }, { root, entries }) {
  const imports = new Map()
  for (const [part, files] of findLoadedBefore(inputs, entries)) {
    const own = [...files].filter((file) => OWN.test(file) && file !== part)
    if (OWN.test(part)) imports.set(resolve(root, part), own)
  }
  return {
    name: "loaded-before",
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const lines = imports.get(path)?.map((file) => `import ${JSON.stringify(resolve(root, file))}\n`)
        return lines && { contents: `${readFileSync(path, "utf8")}\n${lines.join("")}`, loader: "ts" }
      })
    },
  }
}

const OWN = /^(?:core|plugins)\/.*\.ts$/

/** For each part that is imported late, the modules that every way to it has loaded. */
function findLoadedBefore(inputs, entries) {
  const late = namedBy(Object.keys(inputs), inputs, "dynamic-import").filter((part) => !entries.includes(part))
  const starts = [...entries, ...late].map((start) => {
    const closure = closureOf(start, inputs)
    return { start, closure, opens: new Set(namedBy(closure, inputs, "dynamic-import")) }
  })
  const before = new Map(entries.map((entry) => [entry, new Set()]))
  // Each round takes one step further along the ways; what one of them has not loaded is dropped.
  for (let changed = true; changed; ) {
    changed = false
    for (const part of late) {
      const ways = starts.filter(({ start, opens }) => before.has(start) && opens.has(part))
      if (ways.length === 0) continue
      const known = ways.map(({ start, closure }) => new Set([...closure, ...before.get(start)])).reduce(inBoth)
      changed ||= known.size !== before.get(part)?.size
      before.set(part, known)
    }
  }
  return [...before].filter(([part]) => late.includes(part))
}

function closureOf(start, inputs) {
  const closure = new Set([start])
  for (const file of closure) for (const next of namedBy([file], inputs, "import-statement")) closure.add(next)
  return closure
}

function namedBy(files, inputs, kind) {
  const imports = [...files].flatMap((file) => inputs[file]?.imports ?? [])
  return [...new Set(imports.filter((one) => one.kind === kind && !one.external).map(({ path }) => path))]
}

function inBoth(one, other) {
  return new Set([...one].filter((file) => other.has(file)))
}
