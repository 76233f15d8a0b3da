/**
 * A value → lines of YAML that stand for it, at an indentation.
 *
 * Invariant: what could be read as something else is quoted.
 */
interface Manner {
  /** Of every line. */
  indent: string
  eol: string
}

/** Prints an object's fields or a list's entries, each on lines of its own, with a line end behind the last. */
export function printBlock(value: unknown, manner: Manner): string {
  const { indent, eol } = manner
  if (isEmpty(value)) return `${indent}${printFlow(value)}${eol}`
  if (Array.isArray(value)) return value.map((entry) => `${indent}- ${printFlow(entry)}${eol}`).join("")
  if (typeof value !== "object" || value === null) return `${indent}${printScalar(value)}${eol}`
  const fields = Object.entries(value).map(([name, field]: [string, unknown]) => {
    const key = `${indent}${printScalar(name)}:`
    const isBlock = typeof field === "object" && field !== null && !isEmpty(field)
    return isBlock
      ? `${key}${eol}${printBlock(field, { indent: `${indent}  `, eol })}`
      : `${key} ${printFlow(field)}${eol}`
  })
  return fields.join("")
}

/** On one line, as it may stand within brackets too. */
export function printFlow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printFlow).join(", ")}]`
  if (typeof value !== "object" || value === null) return printScalar(value)
  const fields = Object.entries(value).map(([name, field]) => `${printScalar(name)}: ${printFlow(field)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

/** A text without quotes where it can be nothing else. */
function printScalar(value: unknown): string {
  const isPlain = typeof value === "string" && /^[A-Za-z][\w./-]*$/.test(value) && !OTHER_MEANING.test(value)
  return isPlain ? value : JSON.stringify(value)
}

/** YAML 1.1, which other readers still follow, has more words for these. */
const OTHER_MEANING = /^(?:true|false|null|yes|no|on|off|y|n)$/i

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0
}
