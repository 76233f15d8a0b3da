/**
 * Rules in settings of Claude Code, whose specifiers are written with a backslash before each parenthesis.
 */
import { expect, it } from "vitest"
import { readClaude } from "../../../core/settings/claude.ts"
import { parseDocument } from "../../../core/settings/document.ts"

it("readClaude() takes rules without the backslashes that Claude Code puts before parentheses", async () => {
  const permissions = {
    allow: [String.raw`Bash(grep -E "\\.\(ts|tsx\)$")`, "Bash(echo (a))"],
    deny: [String.raw`Bash(node -e "f\(\)")`],
    ask: [String.raw`Bash(find d:\\x)`],
  }
  const document = await parseDocument("a.json", JSON.stringify({ permissions }))
  const { values } = await readClaude("/p/.claude/settings.json", document, "user")
  expect(values.permissions).toEqual({
    allow: [String.raw`Bash(grep -E "\\.(ts|tsx)$")`, "Bash(echo (a))"],
    deny: ['Bash(node -e "f()")'],
    ask: [String.raw`Bash(find d:\\x)`],
  })
})
