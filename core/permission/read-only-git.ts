/**
 * The words after `git` → the operands that it reads, when the sub-command only looks: a table of harmless options.
 *
 * Invariant: nothing here writes a file, runs a helper that an option names, or talks to another machine.
 */
import { type ReadOnlySpec, readsOf } from "./option.ts"
import type { ShellWord } from "./shell-word.ts"

const LOG_LONG =
  "stat stat= numstat shortstat dirstat summary compact-summary name-only name-status patch no-patch raw minimal patience histogram diff-algorithm= word-diff word-diff= color color= no-color color-words color-moved no-renames find-renames find-renames= find-copies ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol function-context unified= exit-code quiet cached staged merge-base relative diff-filter= pickaxe-all pickaxe-regex oneline graph decorate decorate= no-decorate all branches branches= tags tags= remotes remotes= since= until= after= before= author= committer= grep= invert-grep all-match max-count= skip= merges no-merges first-parent reverse date= format= pretty pretty= abbrev abbrev= abbrev-commit no-abbrev-commit follow full-history simplify-merges topo-order date-order author-date-order left-right cherry-pick cherry-mark left-only right-only notes no-notes walk-reflogs full-diff no-ext-diff no-textconv text source boundary children parents ancestry-path no-walk no-walk= log-size"
const LOG: ReadOnlySpec = { flags: "pusMCDRawbzqiEFPgmc0123456789", valued: "nUSGL", long: LOG_LONG }
const NONE: ReadOnlySpec = { operands: "none" }

const TABLE: Readonly<Record<string, ReadOnlySpec>> = {
  status: {
    flags: "sbvuz",
    long: "short branch porcelain porcelain= long verbose untracked-files untracked-files= ignored ignored= show-stash ahead-behind no-ahead-behind renames no-renames",
  },
  log: LOG,
  diff: LOG,
  show: LOG,
  whatchanged: LOG,
  shortlog: { flags: "nsecw", long: "numbered summary email committer", valued: "" },
  branch: {
    operands: "none",
    flags: "arvq",
    long: "all remotes list show-current verbose no-color color color= sort= format=",
  },
  tag: { operands: "none", flags: "l", valued: "n", long: "list sort= format=" },
  remote: { operands: "none", flags: "v", long: "verbose" },
  "rev-parse": {
    flags: "q",
    long: "show-toplevel abbrev-ref abbrev-ref= short short= verify quiet git-dir git-common-dir is-inside-work-tree show-prefix show-cdup symbolic-full-name all branches tags remotes absolute-git-dir",
  },
  "rev-list": {
    flags: "0123456789",
    valued: "n",
    long: "count max-count= all branches tags remotes no-merges merges first-parent reverse since= until= author= abbrev-commit left-right oneline parents",
  },
  "merge-base": { flags: "a", long: "all is-ancestor fork-point octopus" },
  "ls-files": {
    flags: "cdmoiskuvtz",
    valued: "xX",
    long: "cached deleted modified others ignored stage killed unmerged exclude-standard full-name error-unmatch exclude= deduplicate eol",
  },
  "ls-tree": { flags: "drtlz", long: "name-only name-status full-name full-tree long object-only" },
  "show-ref": { flags: "qsd", long: "head heads tags branches hash verify quiet dereference" },
  "for-each-ref": { long: "format= sort= count= contains= merged= points-at=" },
  "name-rev": { long: "name-only tags all always" },
  describe: {
    long: "all tags always long dirty dirty= abbrev= exact-match match= exclude= contains first-parent candidates=",
  },
  blame: {
    flags: "wlsetcbfnpMC",
    valued: "L",
    long: "date= porcelain line-porcelain show-email show-name show-number root",
  },
  "cat-file": { flags: "pest", long: "batch-check" },
  "count-objects": { flags: "vH", operands: "none" },
  reflog: LOG,
  grep: {
    operands: "pattern",
    flags: "iIvwEGFPnlLcqhHopW0123456789zar",
    valued: "eABCm",
    long: "ignore-case word-regexp invert-match extended-regexp fixed-strings perl-regexp line-number files-with-matches name-only count cached untracked heading break show-function function-context max-depth= and or not all-match color no-color context= after-context= before-context=",
  },
}
/** Sub-commands of which only one form looks: `git stash list`. */
const FORMS: Readonly<Record<string, Readonly<Record<string, ReadOnlySpec>>>> = {
  stash: { list: LOG, show: LOG },
  worktree: { list: { ...NONE, long: "porcelain", flags: "vz" } },
  reflog: { show: LOG },
  config: { "--get": {}, "--get-all": {}, get: {} },
}

/** The operands of a `git` command that only reads; undefined for any other. `args`: values known, no globs. */
export function gitReads(args: readonly ShellWord[]): readonly ShellWord[] | undefined {
  let at = 0
  while (/^(?:--no-pager|-P|--no-optional-locks)$/.test(args[at]?.value ?? "")) at++
  const name = args[at]?.value ?? ""
  const rest = args.slice(at + 1)
  const forms = Object.hasOwn(FORMS, name) ? FORMS[name]! : {}
  const form = rest[0]?.value ?? ""
  if (Object.hasOwn(forms, form)) {
    const reads = readsOf(rest.slice(1), forms[form]!)
    return name === "config" ? reads && (reads.length === 1 ? [] : undefined) : reads
  }
  const spec = Object.hasOwn(TABLE, name) ? TABLE[name] : undefined
  if (spec === undefined || (name === "reflog" && /^(?:expire|delete|drop|write|exists)$/.test(form))) return undefined
  return readsOf(rest, spec)
}
