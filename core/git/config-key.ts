/**
 * One entry of a repository's configuration → whether git, told so, could still run nothing of the repository's choice.
 *
 * Source: git-config(1) of git 2.52; git-lfs-config(5), since its filters read the same file.
 * Invariant: a list of what is harmless: a key that is not in it, of git or of whoever else, is not.
 */
import type { ConfigEntry } from "./config-text.ts"

/** By section, or by section and `*` for whatever stands between it and the key: the keys, `*` for all of them. */
const KEYS = table({
  core:
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf " +
    "checkroundtripencoding trustctime checkstat quotepath abbrev compression loosecompression bigfilethreshold " +
    "packedgitwindowsize packedgitlimit deltabasecachelimit untrackedcache splitindex commentchar commentstring " +
    "multipackindex commitgraph sparsecheckout sparsecheckoutcone protecthfs protectntfs preloadindex longpaths " +
    "hidedotfiles notesref whitespace sharedrepository warnambiguousrefs createobject fscache fsyncobjectfiles fsync " +
    "fsyncmethod filesreflocktimeout packedrefstimeout maxtreedepth usereplacerefs ignorestat",
  extensions:
    "objectformat compatobjectformat worktreeconfig refstorage relativeworktrees preciousobjects noop noop-v1",
  "remote.*":
    "url fetch pushurl push tagopt prune prunetags mirror skipdefaultupdate skipfetchall partialclonefilter followremotehead gh-resolved glab-resolved",
  remotes: "*",
  "url.*": "insteadof pushinsteadof",
  "branch.*": "*",
  branch: "*",
  "submodule.*": "url active branch ignore path shallow fetchrecursesubmodules",
  submodule: "active recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy",
  lfs: "repositoryformatversion url pushurl fetchinclude fetchexclude fetchrecentalways fetchrecentrefsdays fetchrecentcommitsdays concurrenttransfers allowincompletepush locksverify skipdownloaderrors dialtimeout tlstimeout activitytimeout keepalive batch",
  "lfs.*": "access locksverify",
  "http.*": "*",
  http: "*",
  credential: "username usehttppath",
  "credential.*": "username usehttppath provider",
  user: "*",
  author: "*",
  committer: "*",
  init: "defaultbranch defaultobjectformat defaultrefformat",
  pull: "*",
  push: "*",
  fetch: "*",
  rebase: "*",
  commit: "*",
  tag: "*",
  checkout: "*",
  clone: "*",
  clean: "*",
  stash: "*",
  am: "*",
  apply: "*",
  rerere: "*",
  receive: "*",
  transfer: "*",
  uploadpack: "allowfilter allowanysha1inwant allowtipsha1inwant allowreachablesha1inwant hiderefs keepalive",
  gc: "auto autodetach autopacklimit aggressivedepth aggressivewindow bigpackthreshold cruftpacks logexpiry maxcruftsize packrefs prune pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire writecommitgraph",
  "gc.*": "reflogexpire reflogexpireunreachable",
  maintenance: "*",
  "maintenance.*": "*",
  pack: "*",
  repack: "*",
  index: "*",
  splitindex: "*",
  feature: "*",
  reftable: "*",
  sparse: "*",
  fsmonitor: "*",
  fsck: "*",
  worktree: "*",
  advice: "*",
  color: "*",
  "color.*": "*",
  column: "*",
  i18n: "*",
  log: "*",
  grep: "*",
  versionsort: "*",
  notes: "*",
  "notes.*": "*",
  pretty: "*",
  format: "pretty",
  blame: "coloring date showemail showroot blankboundary markunblamablelines markignoredlines repeatedlines",
  status:
    "short branch aheadbehind relativepaths renames renamelimit showuntrackedfiles showstash displaycommentprefix comparebranches",
  diff:
    "algorithm renames renamelimit colormoved colormovedws mnemonicprefix noprefix srcprefix dstprefix context " +
    "interhunkcontext ignoresubmodules indentheuristic wordregex suppressblankempty statgraphwidth statnamewidth dirstat " +
    "wserrorhighlight autorefreshindex relative tool guitool",
  "diff.*": "xfuncname funcname binary wordregex cachetextconv algorithm trustexitcode",
  merge:
    "conflictstyle ff log renames renamelimit stat verbosity autostash branchdesc defaulttoupstream directoryrenames suppressdest tool guitool",
  "merge.*": "name recursive",
  "filter.*": "required",
  difftool: "prompt trustexitcode guidefault",
  mergetool: "prompt keepbackup keeptemporaries writetotemp hideresolved guidefault",
  gpg: "format mintrustlevel",
  sendemail: "to cc bcc from suppresscc confirm annotate chainreplyto thread validate",
  protocol: "version",
  safe: "*",
  gui: "*",
  "svn-remote.*": "*",
  "gitflow.*": "*",
  github: "*",
})

/** Keys that some values make harmless; undefined, which means true, reads as "true". */
const VALUES: Readonly<Record<string, RegExp>> = {
  // What git brings itself watches the files, and no program that the value names.
  "core.fsmonitor": /^(?:true|false)$/i,
  "submodule.*.update": /^(?:checkout|rebase|merge|none)$/i,
  // Either starts git in a folder that only an old version of the tree knows for a submodule.
  "diff.submodule": /^(?:log|short)$/,
  "status.submodulesummary": /^(?:false|no|off|0)$/i,
  // git shows the first line of a file that holds none of its names.
  "blame.ignorerevsfile": /^(?![~/%])(?!(?:.*\/)?\.\.(?:\/|$)).*$/s,
}

/** Commands of git that an alias may stand before, since they are on their way out. */
const SHADOWED = /^(?:whatchanged|pack-redundant)$/i

/** True when nothing runs by it. */
export function isHarmless({ section, sub, key, value = "true" }: ConfigEntry): boolean {
  if (section === "alias") return !SHADOWED.test(sub ?? key) && /^[a-z]/.test(value)
  const row = sub === undefined ? section : `${section}.*`
  const pattern = VALUES[`${row}.${key}`]
  if (pattern !== undefined) return pattern.test(value)
  const keys = KEYS.get(row)
  return keys !== undefined && (keys.has("*") || keys.has(key))
}

function table(rows: Readonly<Record<string, string>>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(rows).map(([name, keys]) => [name, new Set(keys.split(" "))]))
}
