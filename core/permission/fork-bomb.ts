/**
 * A shell function → whether calling it once would never stop calling it.
 *
 * Invariant: plain recursion is no bomb; it needs two calls of itself at work at once, or one in a loop that does not
 * wait for it.
 */
import type { Command, Function as FunctionNode, SyntaxNode } from "unbash"

/** True for a function that pipes itself into itself, or starts itself again and again in the background. */
export function isForkBomb(node: FunctionNode, forEachChild: typeof import("unbash").forEachChild): boolean {
  const name = node.name.value
  const isCall = (child: SyntaxNode) => child.type === "Command" && callsItself(child, name)
  const found = { calls: 0, behind: 0, endless: false, piped: false }
  const visit = (child: SyntaxNode, around: { behind: boolean; loop: boolean }) => {
    if (isCall(child)) {
      found.calls++
      if (around.behind) found.behind++
      found.endless ||= around.behind && around.loop
      return
    }
    if (child.type === "Pipeline") found.piped ||= child.commands.filter((one) => holdsCall(one, isCall)).length > 1
    if (child.type === "Command") found.piped ||= evaluatesBomb(child, name)
    const behind = around.behind || (child.type === "Statement" && child.background === true)
    const inside = { behind, loop: around.loop || LOOPS.has(child.type) }
    forEachChild(child, (inner) => visit(inner, inside))
  }
  const holdsCall = (child: SyntaxNode, test: (one: SyntaxNode) => boolean): boolean => {
    if (test(child)) return true
    let holds = false
    forEachChild(child, (inner) => {
      holds ||= holdsCall(inner, test)
    })
    return holds
  }
  visit(node.body, { behind: false, loop: false })
  return found.piped || found.endless || (found.behind > 0 && found.calls > 1)
}

const LOOPS: ReadonlySet<string> = new Set(["While", "Until", "For", "Select", "ArithmeticFor"])

/** By its name, or as the shell names the function that runs. */
function callsItself(command: Command, name: string): boolean {
  return command.name?.value === name || /^"?\$\{?FUNCNAME(?:\[0\])?\}?"?$/.test(command.name?.text ?? "")
}

/** `eval 'f|f&'` in the body of `f`. */
function evaluatesBomb(command: Command, name: string): boolean {
  if (command.name?.value !== "eval") return false
  const text = command.args.map((arg) => (arg.type === "Word" ? arg.value : arg.text)).join(" ")
  const words = text.split(/\s*(?:[;&|\n]+)\s*|\s+/)
  return /[&|]/.test(text) && words.filter((word) => word === name).length > 1
}
