/**
 * The text of a command or of a script → the files of the project that it may start, by the words in it.
 *
 * Invariant: nothing is run and no shell is imitated. Only a file that is there counts, when it is code by its name, may be
 * executed, or stands behind a program that reads code: logs and data that a text names are none.
 */
import { readdirSync, type Stats, statSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { INTERPRETER } from "../hook-launch.ts"
import { fitsName } from "../permission/path-pattern.ts"
import { inTree } from "./trust-path.ts"

/** Where words are looked up. */
export interface WordPlace {
  /** The project, absolute. */
  root: string
  /** The folder of the script, absolute. Default: the root. */
  base?: string
}

/** A script is not longer, characters. */
const MOST_TEXT = 256 * 1024
const MOST_WORDS = 5000
/** Folders that a text names, in which its other words are looked up. */
const MOST_FOLDERS = 20

const CODE = /\.(?:[mc]?[jt]sx?|(?:ba|z|k|fi|da)?sh|py|rb|pl|pm|php|lua|awk|sed|R|mk)$/
const STARTER = /^(?:\.|source|eval|exec|make|xargs|busybox|env)$/
const CALLS = /(?:^|[\s;|&()"'`/])(?:eval|source|xargs|exec|busybox|PATH=|BASH_ENV=|NODE_OPTIONS=|\.\s)/

/** True for a command in which words have to be looked at: something in it reads code. */
export function startsByWords(text: string): boolean {
  return CALLS.test(text) || wordsOf(text).some((word) => isReader(word))
}

/** The files, absolute and in the project. */
export function filesInWords(text: string, { root, base = root }: WordPlace): string[] {
  const words = wordsOf(text)
  const bases = [...new Set([root, base, ...foldersIn(words, { root, base })])]
  const found = new Set<string>()
  for (const [index, word] of words.entries()) {
    const isRead = isReader(words[index - 1] ?? "")
    for (const path of new Set([word, tailOf(word)]))
      for (const file of bases.flatMap((folder) => expanded(path, folder))) {
        if (inTree(file, root) !== undefined && isStarted(file, isRead)) found.add(file)
      }
  }
  return [...found]
}

/** Files of a project that Python finds by the names of modules in a text: `import a.b`, `python -m a.b`. */
export function pythonFiles(text: string, { root, base = root }: WordPlace): string[] {
  const lines = [
    ...text.slice(0, MOST_TEXT).matchAll(/(?:^[ \t]*(?:from|import)|\s-m)[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)/gm),
  ]
  const names = new Set(lines.flatMap(([, list]) => list!.split(/[ \t]*,[ \t]*/)))
  const paths = [...names].slice(0, MOST_WORDS).flatMap((name) => {
    const parts = name.split(".").filter(Boolean)
    const folders = parts.map((_, count) => join(...parts.slice(0, count + 1)))
    return [
      ...folders.flatMap((folder) => [`${folder}.py`, `${folder}/__init__.py`]),
      `${join(...parts, "__main__.py")}`,
    ]
  })
  const files = paths.flatMap((path) => [...new Set([root, base])].map((folder) => resolve(folder, path)))
  return files.filter((file) => inTree(file, root) !== undefined && statsOf(file)?.isFile())
}

/** Variables by which programs find code: what they name counts whatever it is called, folders with all that lies there. */
const LOADS =
  /^(?:(?:BASH_)?ENV|ZDOTDIR|NODE_(?:OPTIONS|PATH)|PATH|PROMPT_COMMAND|PAGER|EDITOR|VISUAL|(?:LD|DYLD|PYTHON|PERL5?|RUBY|GIT|JAVA|GO|LUA|PHP|BUNDLE|CARGO|RUSTC|NPM|npm)_?\w*)$/

/** The files and folders that a variable of the environment makes programs load, absolute and in the project. */
export function filesOfVariable(name: string, { value, root }: { value: string; root: string }): string[] {
  const loads = LOADS.test(name)
  const files = wordsOf(value).map((word) => resolve(root, word.replace(/^\$\{?\w+\}?\/+/, "")))
  return [...new Set(files)].filter((file) => {
    if (inTree(file, root) === undefined) return false
    return isStarted(file, loads) || (loads && statsOf(file)?.isDirectory() === true)
  })
}

function wordsOf(text: string): string[] {
  return text
    .slice(0, MOST_TEXT)
    .split(/[\s;|&()<>"'`=,:]+/)
    .filter(Boolean)
    .slice(0, MOST_WORDS)
}

function isReader(word: string): boolean {
  return STARTER.test(word) || INTERPRETER.test(basename(word))
}

/** Behind what a shell fills in: `$HERE/lib.sh`, `${BASH_SOURCE%/*}/lib.sh`, and the rest of `$(pwd)/lib.sh`. */
function tailOf(word: string): string {
  return word.replace(/^.*\}|^\$\w+/, "").replace(/^\/+/, "")
}

function foldersIn(words: readonly string[], { root, base }: Required<WordPlace>): string[] {
  const paths = words.flatMap((word) => [resolve(root, tailOf(word)), resolve(base, tailOf(word))])
  const folders = [...new Set(paths)].filter((path) => inTree(path, root) !== undefined && statsOf(path)?.isDirectory())
  return folders.slice(0, MOST_FOLDERS)
}

/** A path, or all that a pattern in its last part stands for. */
function expanded(word: string, folder: string): string[] {
  const path = resolve(folder, word)
  const name = basename(path)
  if (!/[*?[]/.test(name)) return [path]
  try {
    return readdirSync(dirname(path))
      .filter((entry) => fitsName(name, entry))
      .map((entry) => join(dirname(path), entry))
  } catch {
    return []
  }
}

function isStarted(file: string, isRead: boolean): boolean {
  const stats = statsOf(file)
  return stats?.isFile() === true && (isRead || CODE.test(file) || (stats.mode & 0o111) !== 0)
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
