/**
 * A text with `${{ … }}` in it → the literal parts and the expressions between them.
 *
 * Invariant: an expression ends at its own `}}`, not at one in a string or a map of its own; `$${{` is a literal `${{`.
 */

/** `parts` is one longer than `expressions`. */
export interface Template {
  parts: string[]
  expressions: string[]
}

const OPEN = "${{"

/** Cuts a text up; undefined when an expression is not closed. */
export function parseTemplate(text: string): Template | undefined {
  const template: Template = { parts: [], expressions: [] }
  let literal = ""
  let at = 0
  for (;;) {
    const open = text.indexOf(OPEN, at)
    if (open < 0) {
      template.parts.push(literal + text.slice(at))
      return template
    }
    if (text[open - 1] === "$" && open > at) {
      literal += text.slice(at, open - 1) + OPEN
      at = open + OPEN.length
      continue
    }
    const end = endOf(text, open + OPEN.length)
    if (end === undefined) return undefined
    template.parts.push(literal + text.slice(at, open))
    template.expressions.push(text.slice(open + OPEN.length, end).trim())
    literal = ""
    at = end + 2
  }
}

/** True when the text is one expression and nothing else, so that its value keeps its type. */
export function isWhole({ parts, expressions }: Template): boolean {
  return expressions.length === 1 && parts.every((part) => part.trim() === "")
}

/** Where the `}}` stands that closes an expression. */
function endOf(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]!
    if (char === '"' || char === "'") {
      const end = endOfString(text, at)
      if (end === undefined) return undefined
      at = end
    } else if (char === "{") depth++
    else if (char === "}") {
      if (depth === 0) return text[at + 1] === "}" ? at : undefined
      depth--
    }
  }
  return undefined
}

/** The last character of a CEL string literal that starts here. */
function endOfString(text: string, start: number): number | undefined {
  const quote = text.startsWith(text[start]!.repeat(3), start) ? text[start]!.repeat(3) : text[start]!
  const isRaw = /[rR]/.test(text[start - 1] ?? "")
  for (let at = start + quote.length; at < text.length; at++) {
    if (text[at] === "\\" && !isRaw) at++
    else if (text.startsWith(quote, at)) return at + quote.length - 1
  }
  return undefined
}
