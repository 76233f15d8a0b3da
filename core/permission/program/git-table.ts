/**
 * The sub-commands of git: which only look, which show the content of files, and by what they run other programs.
 *
 * Source: the manual pages of git 2.47. No row that only looks writes a file, runs a helper that an option names, or talks to
 * another machine; what the repository itself makes them run is looked up beside this table (`git-plain.ts`).
 */
import { look, type Row, row, runner } from "./row.ts"

const SHOW =
  "--patch* --patch-with-stat* --unified=* --function-context* --word-diff?* --color-words?* --cc* --remerge-diff* --no-patch% --stat?% --numstat% --shortstat% --dirstat?% --summary% --compact-summary% --name-only% --name-status% --raw% --quiet% --check%"
const DIFF = `${SHOW} --minimal,patience,histogram,no-color,color-moved,no-renames,find-copies,ignore-all-space,ignore-space-change,ignore-blank-lines,ignore-space-at-eol,exit-code,cached,staged,merge-base,no-ext-diff,no-textconv,text,full-index,pickaxe-all,pickaxe-regex,no-prefix,binary,submodule --color? --relative? --find-renames? --diff-algorithm= --diff-filter= --inter-hunk-context= --abbrev? --output=> --ext-diff! --textconv! --no-index~`
const LOG = `-pu* -cm* -U=* -L=* -W* -sq% -MCDRawbziEFPg0123456789 -n= -S= -G= -O! ${DIFF} --oneline,graph,no-decorate,all,invert-grep,all-match,merges,no-merges,first-parent,reverse,abbrev-commit,no-abbrev-commit,follow,full-history,simplify-merges,topo-order,date-order,author-date-order,left-right,cherry-pick,cherry-mark,left-only,right-only,no-notes,walk-reflogs,full-diff,source,boundary,children,parents,ancestry-path,log-size --decorate? --branches? --tags? --remotes? --notes? --no-walk? --since,until,after,before,author,committer,grep,max-count,skip,date,format,glob,exclude= --pretty?`
const RUN = "--upload-pack=! --receive-pack=! --exec=! -u=!"
const FETCH =
  "--upload-pack=! -o= --server-option= -j= --jobs= --depth= --refmap= -apftnPqvk46 --all,append,prune,tags,no-tags,force,dry-run,verbose,quiet,unshallow,update-shallow --recurse-submodules?"

/** Options in front of the sub-command. */
export const git: Row = row(
  "text",
  "-c=! --config-env=! --exec-path?! -C=+~ --git-dir=+~ --work-tree=+~ --namespace=~ --attr-source=~ --super-prefix=~ --list-cmds=~ -p~ --paginate~ --bare~ -P --no-pager,no-optional-locks,literal-pathspecs,glob-pathspecs,noglob-pathspecs,icase-pathspecs,no-replace-objects,no-lazy-fetch,no-advice",
  { subs: true },
)

const asked = { shows: "asked" } as const
const always = { shows: "always" } as const

function looks(line = "", more: Partial<Row> = {}, plain: Row["plain"] = {}): Row {
  return row("read", line, { ...more, plain })
}

/** A look at names and numbers alone, which takes no operand. */
function lists(line = ""): Row {
  return look("text", line, { most: 0 })
}

function isOneKey(operands: readonly string[] | undefined): boolean {
  return operands?.length === 1
}

/** By the words behind `git`. */
export const gitCommands: Readonly<Record<string, Row>> = {
  status: looks(
    "-sbuz -v* --short,branch,long,show-stash,ahead-behind,no-ahead-behind,renames,no-renames --verbose* --porcelain? --untracked-files? --ignored?",
    asked,
  ),
  log: looks(LOG, asked),
  diff: looks(LOG, always),
  show: looks(LOG, always),
  whatchanged: looks(LOG, asked),
  reflog: looks(LOG, asked, {
    test: (operands) => operands !== undefined && !/^(?:expire|delete|drop|write|exists)$/.test(operands[0] ?? ""),
  }),
  "stash list": looks(LOG, asked),
  "stash show": looks(LOG, asked),
  blame: looks(
    "-wlsetcbfnp -M? -C? -L= --porcelain,line-porcelain,show-email,show-name,show-number,root --date= --contents=<~ --ignore-rev= --ignore-revs-file=<~",
  ),
  annotate: looks("-wlsetcbfnp -L="),
  "cat-file": looks("-p -tes% --textconv! --filters! --batch?~ --batch-check?% --batch-all-objects~", always),
  grep: row(
    "pattern",
    "-iIvwEGFPnlLcqhHopWz0123456789 -r/ -e=^ -f=<~^ -A= -B= -C= -m= -O?! --ignore-case,word-regexp,invert-match,extended-regexp,basic-regexp,fixed-strings,perl-regexp,line-number,files-with-matches,name-only,files-without-match,count,cached,untracked,heading,break,show-function,function-context,and,or,not,all-match,no-color,quiet,only-matching,text,full-name,recursive --color? --context,after-context,before-context,max-depth,max-count,threads= --open-files-in-pager?! --textconv! --no-index~ --ext-grep!",
    {
      shows: "always",
      plain: {},
    },
  ),
  shortlog: looks("-nsec -w? --numbered,summary,email,committer --group= --format="),
  branch: lists(
    "-arvq --all,remotes,list,show-current,verbose,no-color --color? --sort,format= --abbrev? --contains,no-contains,merged,no-merged?",
  ),
  tag: lists("-l -n? --list --sort,format= --contains,no-contains,merged,no-merged?"),
  remote: lists("-v --verbose"),
  "rev-parse": looks(
    "-q --show-toplevel,abbrev-ref,verify,quiet,git-dir,git-common-dir,is-inside-work-tree,is-inside-git-dir,is-bare-repository,show-prefix,show-cdup,symbolic-full-name,symbolic,all,absolute-git-dir,show-superproject-working-tree --abbrev-ref? --short? --branches? --tags? --remotes?",
  ),
  "rev-list": looks(
    "-0123456789 -n= --count,all,no-merges,merges,first-parent,reverse,abbrev-commit,left-right,oneline,parents --branches? --tags? --remotes? --max-count,since,until,author=",
  ),
  "merge-base": looks("-a --all,is-ancestor,fork-point,octopus,independent"),
  "ls-files": looks(
    "-cdmoiskuvtz -x= -X=< --cached,deleted,modified,others,ignored,stage,killed,unmerged,exclude-standard,full-name,error-unmatch,deduplicate,eol,directory --exclude=",
  ),
  "ls-tree": looks("-drtlz --name-only,name-status,full-name,full-tree,long,object-only --abbrev? --format="),
  "show-ref": looks("-qsd --head,heads,tags,branches,verify,quiet,dereference --hash? --abbrev?"),
  "for-each-ref": looks("--format,sort,count,contains,merged,no-merged,points-at="),
  "name-rev": looks("--name-only,tags,all,always,undefined"),
  describe: looks(
    "--all,tags,always,long,exact-match,contains,first-parent --dirty? --abbrev? --match,exclude,candidates=",
  ),
  "count-objects": lists("-vH"),
  "worktree list": lists("-vz --porcelain,verbose"),
  "config --get": look("text", "", { test: isOneKey }),
  "config --get-all": look("text", "", { test: isOneKey }),
  "config get": look("text", "", { test: isOneKey }),
  "check-ignore": looks("-vnq --verbose,non-matching,quiet,no-index"),
  stash: row("text", "", { subs: true }),
  worktree: row("text", "", { subs: true }),
  submodule: row("text", "--quiet", { subs: true }),
  bisect: row("text", "", { subs: true }),
  remotes: row("text"),
  "diff-tree": row("read", LOG, asked),
  "diff-index": row("read", LOG, asked),
  "diff-files": row("read", LOG, asked),
  "range-diff": row("text", LOG, always),
  "format-patch": row("text", `${LOG} -o=> --output-directory=> --stdout`, always),
  difftool: row("read", "-x=! -t= -gyd --extcmd=! --tool= --gui,no-prompt,dir-diff", always),
  mergetool: row("read", "-t= -gy --tool="),
  archive: row("read", `-o=> ${RUN} --remote= --output=> --format= --prefix= --add-file=< -l -v`, always),
  "fast-export": row("text", "--export-marks=> --import-marks=<", always),
  "bundle create": row("write", "", always),
  bundle: row("text", "", { subs: true }),
  "merge-file": row("edit", "-p -q -L="),
  "checkout-index": row("write", "--prefix=> -afqu"),
  "hash-object": row("read", "-w -t= --stdin --stdin-paths"),
  "show-index": row("read"),
  "interpret-trailers": row("read", "--in-place&"),
  add: row("read", "-nvfipeuANA --pathspec-from-file=<"),
  commit: row(
    "read",
    "-F=< -m= -C= -c= -t=< -apqnezvus --file=< --template=< --message= --author= --date= --fixup= --squash= --amend,no-edit,all,no-verify,allow-empty,signoff --pathspec-from-file=<",
  ),
  checkout: row("edit", "-bB= -fqmtlp --orphan= --conflict= --pathspec-from-file=<"),
  restore: row("edit", "-s= -SWqp --source= --staged,worktree --pathspec-from-file=<"),
  rm: row("remove", "-rfnq --cached,force,dry-run,quiet"),
  mv: row("move", "-fknv"),
  clean: row("remove", "-dfinqxX -e= --force,dry-run,quiet --exclude=", { drops: true }),
  apply: row(
    "read",
    "-R -p= -C= --check% --stat% --numstat% --summary% --index,cached,reverse,3way,reject --directory=> --exclude= --include=",
    { drops: true },
  ),
  am: row("read", "-3ikqsu -p= -C= --directory= --show-current-patch?*"),
  rebase: runner(
    "-x=! -s= -X= -C= -imnpqvrkf --exec=! --onto= --strategy= --strategy-option= --interactive,autosquash,autostash,continue,abort,skip,quit,root,keep-base --show-current-patch* --edit-todo",
    { skips: 99 },
  ),
  "bisect run": runner("", {}),
  "submodule foreach": runner("--recursive,quiet", { joins: true }),
  "submodule add": row("text", "-b= -f --name= --reference=<"),
  "filter-branch": row(
    "text",
    "-f -d=> --env-filter=! --tree-filter=! --index-filter=! --parent-filter=! --msg-filter=! --commit-filter=! --tag-name-filter=! --setup=! --subdirectory-filter= --prune-empty --original= --state-branch=",
  ),
  "send-email": row(
    "read",
    "--sendmail-cmd=! --to-cmd=! --cc-cmd=! --header-cmd=! --smtp-server=! --to= --cc= --from= --subject=",
  ),
  "for-each-repo": runner("--config= --keep-going", {}),
  hook: row("text", "--to-stdin=<"),
  daemon: row("text", "--access-hook=! --interpolated-path= --base-path="),
  instaweb: row("text", "-b=! -d=! --browser=! --httpd=!"),
  help: row("text", "-w!"),
  init: row("write", "-q -b= --template=! --separate-git-dir=> --bare,quiet --initial-branch= --shared?"),
  clone: row(
    "copy",
    `${FETCH} -b= -c=! --config=! --template=! -u=! --branch= --origin= --reference=< --separate-git-dir=> --bare,mirror,no-checkout,single-branch,local,shared,no-hardlinks --filter=`,
  ),
  fetch: row("text", FETCH),
  pull: row("text", `${FETCH} -r -s= -X= --rebase? --ff-only,no-rebase,no-edit,autostash --strategy=`),
  push: row(
    "text",
    "--receive-pack=! --exec=! -o= --push-option= --repo= -fndqutv --force,all,mirror,tags,delete,dry-run,set-upstream,follow-tags,no-verify,prune,atomic --force-with-lease?",
  ),
  "ls-remote": row(
    "text",
    "--upload-pack=! --exec=! -htqo --heads,tags,refs,quiet,get-url,symref --sort= --server-option=",
  ),
  "fetch-pack": row("text", RUN),
  "send-pack": row("text", RUN),
  "worktree add": row("write", "-bB= -fdq --reason="),
  config: row(
    "text",
    "-f=>~ -l --file=>~ --global,system,local,worktree,add,list,get,get-all,unset,replace-all,show-origin,name-only --get-regexp --type= --blob=",
  ),
  "config set": row("text", "-f=~ --file=~ --global,system,local,append,all --type= --comment="),
}
