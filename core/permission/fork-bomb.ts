/**
 * A shell function → whether calling it once would never stop calling it.
 *
 * Invariant: plain recursion is no bomb; it needs two calls of itself at work at once.
 */
import type { Function as FunctionNode, SyntaxNode } from "unbash"

/** True for a function that pipes itself into itself, or starts itself twice, one of them in the background. */
export function isForkBomb(node: FunctionNode, forEachChild: typeof import("unbash").forEachChild): boolean {
  const isCall = (child: SyntaxNode) => child.type === "Command" && child.name?.value === node.name.value
  let calls = 0
  let behind = 0
  let piped = false
  const visit = (child: SyntaxNode) => {
    if (child.type === "Pipeline") piped ||= child.commands.filter(isCall).length > 1
    if (child.type === "Statement" && child.background && isCall(child.command)) behind++
    if (isCall(child)) calls++
    else forEachChild(child, visit)
  }
  visit(node.body)
  return piped || (behind > 0 && calls > 1)
}
