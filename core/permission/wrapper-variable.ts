/**
 * Variables that a command sets → the programs that others run because of them, and the commands in their values.
 *
 * Invariant: for refusing alone; a variable that names a program is opaque unless its value is one plain word.
 */
import { textOf } from "./program/match.ts"
import type { Segment } from "./segment.ts"
import type { ShellWord } from "./shell-word.ts"
import { opaque, type Unwrapped } from "./wrapper-shell.ts"

/** Their value is a command. */
const COMMANDS =
  /^(?:\w*(?:PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|SSH|SSH_COMMAND|RSH|PROXY_COMMAND|EXTERNAL_DIFF|_SHELL|_WRAPPER|_LAUNCHER)|SHELL|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|PS[0-4]|RUSTC|CC|CXX|LD|AR|MAKE|PYTHON|NODE|npm_config_(?:script_shell|git|editor|viewer|node_gyp|shell))$/
/** Their value is code, a file of code, or options that hold some. */
const CODE =
  /^(?:BASH_ENV|ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|PERL5DB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|MAKEFLAGS|GNUMAKEFLAGS|TAR_OPTIONS|RIPGREP_CONFIG_PATH|GIT_(?:CONFIG.*|EXEC_PATH|TEMPLATE_DIR|DIR|WORK_TREE)|RUSTFLAGS|npm_config_.*)$/

/** Programs whose words set variables. */
const SETTERS = /^(?:export|declare|typeset|local|readonly|env|sudo|doas|cross-env)$/

interface Setting {
  name: string
  value: string
  known: boolean
}

/** What runs because of the variables in front of a command, or among the words of one that sets some. */
export function unwrapVariables(assignments: Segment["assignments"], words: readonly ShellWord[]): Unwrapped[] {
  const front = assignments.map(({ name, word }) => ({ name, value: textOf(word), known: word.value !== undefined }))
  const further = SETTERS.test(textOf(words[0])) ? words.slice(1).flatMap(readSetting) : []
  return [...front, ...further].flatMap(unwrapSetting)
}

function readSetting(word: ShellWord): Setting[] {
  const found = /^([A-Za-z_][\w%()]*)\+?=(.*)$/s.exec(textOf(word))
  return found ? [{ name: found[1]!, value: found[2]!, known: word.value !== undefined }] : []
}

function unwrapSetting({ name, value, known }: Setting): Unwrapped[] {
  if (value === "" && known) return []
  if (COMMANDS.test(name)) {
    const text = value.replace(/^[|\-\s]+/, "")
    const plain = known && /^[\w.+-]*$/.test(text)
    return [{ kind: "script", at: 0, texts: [text] }, ...(plain ? [] : [opaque(0, `${name} says what others run`)])]
  }
  if (CODE.test(name)) return [opaque(0, `${name} says what others run`), ...evaluated(value)]
  return evaluated(value)
}

/** A sum, a prompt or a test may evaluate what a variable holds. */
function evaluated(value: string): Unwrapped[] {
  return /\$\(|`/.test(value) ? [{ kind: "script", at: 0, texts: [`: "${value.replaceAll('"', "")}"`] }] : []
}
