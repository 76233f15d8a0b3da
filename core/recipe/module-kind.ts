/**
 * A file's name and source → which kind of module it is.
 *
 * Invariant: what is exported with `export` is no CommonJS, whatever else stands in the file.
 */

/** Statements that only a module has. */
const MODULE =
  /^\s*(?:import\s*[\w{*"']|export\s*(?:\{|\*)|export\s+(?:default|const|let|var|function|class|async|abstract|enum|type|interface|declare|namespace)\b)/m
const COMMON = /\b(?:module\.exports|exports\.\w|exports\[|require\s*\()/
/** TypeScript's way to write `module.exports =`. */
export const EXPORT_ASSIGNMENT = /^\s*export\s*=/m

/** True for a file that is CommonJS by its ending, or else by what stands in it. */
export function isCommonJs(file: string, source: string): boolean {
  if (/\.c[jt]s$/.test(file)) return true
  if (/\.m[jt]s$/.test(file)) return false
  return EXPORT_ASSIGNMENT.test(source) || (COMMON.test(source) && !MODULE.test(source))
}
