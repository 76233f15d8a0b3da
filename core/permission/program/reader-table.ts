/**
 * The programs that only look, with all options that are known to do no harm, and some that are known to do some.
 *
 * Source: the man pages of GNU coreutils, findutils, grep, diffutils, procps, of ripgrep, fd and jq, and those of BSD where
 * the same letter means something else there.
 */
import { look, type Row, row } from "./row.ts"

/** Reads whatever words come. */
const FED = { fed: true } as const
const FREE = { glob: true, fed: true } as const

/** The shell evaluates the subscript of a variable's name, a command in it included. */
export const EVALUATED = /^[^[]*\[[\s\S]*?(?:\$\(|`)/

/** `-v` looks at variables, and sums are evaluated; a subscript, or what a name holds, may be a command. */
function testsPlainly(_: readonly string[] | undefined, words: readonly string[]): boolean {
  const sums = words.some((word, i) => /^-(?:eq|ne|lt|le|gt|ge)$/.test(word) && !areNumbers(words[i - 1], words[i + 1]))
  return !sums && !words.includes("-v") && !words.some((word) => /\$\(|`/.test(word) || hasSubscript(word))
}

function hasSubscript(word: string): boolean {
  const start = word.indexOf("[")
  return start >= 0 && word.includes("]", start)
}

function areNumbers(...words: readonly (string | undefined)[]): boolean {
  return words.every((word) => /^-?\d+$/.test(word ?? ""))
}

/** Neither reads variables of the environment or further files, nor writes, nor runs anything. */
function isPlainAwk(program: string): boolean {
  if (/\b(?:system|getline|close|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|ARGV|ARGC|ARGIND)\b|@/.test(program)) return false
  return !/\|/.test(program.replaceAll("||", "")) && !/\bprintf?\b[^;}\n]*>/.test(program)
}

function isPlainJq(filter: string): boolean {
  return !/\b(?:env|import|include|input_filename|modulemeta|get_search_list|debug|stderr|halt_error)\b|\$ENV|\$__prog/.test(
    filter,
  )
}

const TEST = row("text", "", { running: EVALUATED, plain: { test: testsPlainly } })
const SUM = look("read", "-bctz --binary,text,tag,zero", FED)
const AWK = look(
  "pattern",
  "-F= -v= -f=+~^ -i=! -l=! -e=^~ -E=+~^ -o?> -p?> -d?> -D? --file=+~^ --exec=+~^ --field-separator= --assign= --include=! --load=! --source=^~",
  {
    test: (operands) => operands !== undefined && isPlainAwk(operands[0] ?? ""),
  },
)
const GREP = look(
  "pattern",
  "-EFGPiyvwxcLloqsbHhnTZaIzU0123456789 -r/ -e=^ -f=<^ -mABCD= -d=/ -R~/ -SO~ --extended-regexp,fixed-strings,basic-regexp,perl-regexp,ignore-case,no-ignore-case,invert-match,word-regexp,line-regexp,count,files-with-matches,files-without-match,only-matching,line-number,no-filename,with-filename,quiet,silent,no-messages,null,null-data,text,byte-offset,initial-tab,line-buffered --recursive/ --color? --colour? --include,exclude,exclude-dir= --exclude-from=<~ --max-count,after-context,before-context,context,binary-files,devices,label= --directories=/ --regexp=^ --file=<^ --dereference-recursive~/ --decompress~",
  FED,
)

/** By program name. */
export const readers: Readonly<Record<string, Row>> = {
  pwd: look("text", "-LP", { most: 0, glob: true, fed: true }),
  echo: look("text", "-neE", { ...FREE, test: () => true }),
  printf: row("text", "-v=~", { running: EVALUATED, plain: { test: (_, [first = ""]) => !/^-./.test(first) } }),
  true: look("text"),
  false: look("text"),
  ":": look("text"),
  whoami: look("text", "", { most: 0 }),
  logname: look("text", "", { most: 0 }),
  tty: look("text", "-s", { most: 0 }),
  groups: look("text"),
  id: look("text", "-ugGnrz"),
  uname: look("text", "-asnrvmpio", { most: 0 }),
  hostname: look("text", "-fsidIA", { most: 0 }),
  uptime: look("text", "-ps", { most: 0 }),
  nproc: look("text", "--all", { most: 0 }),
  arch: look("text", "", { most: 0 }),
  cal: look("text", "-jy13hMSw -m= -A= -B= -n="),
  free: look("text", "-bkmghltvw -s= -c= --human,mega,giga,kilo,bytes,total,wide", { most: 0 }),
  locale: look("text", "-a", { most: 0 }),
  history: look("text", "", { most: 1, test: (operands) => operands?.every((one) => /^\d+$/.test(one)) ?? false }),
  // A single `e` without a dash shows the environments of processes.
  ps: look(
    "text",
    "-AaefFjlHLTwxyMZc -p= -u= -U= -C= -g= -t= -o=~ -O=~ -E~ --pid,ppid,user= --forest,no-headers --sort=",
    {
      test: (operands) => operands?.every((one) => /^[axuflhjvswTr]+$/.test(one)) ?? false,
    },
  ),
  pgrep: look("text", "-aflxnovcdi -u= -U= -P= -g= -t= -s= --list-name,list-full,full,exact,newest,oldest,count"),
  date: look("text", "-uR -I? -d= -s=! -f=~ -r=~ --utc,universal,rfc-email --iso-8601? --rfc-3339= --date= --set=!", {
    test: (operands) => operands?.every((one) => one.startsWith("+")) ?? false,
  }),
  which: look("text", "-a"),
  type: look("text", "-aptP"),
  sleep: look("text"),
  seq: look("text", "-w -s= -f= --equal-width --separator,format="),
  expr: look("text"),
  basename: look("text", "-az -s=", FED),
  dirname: look("text", "-z", FED),
  test: TEST,
  "[": TEST,
  "[[": TEST,
  cd: look("read", "-LP", { most: 1 }),
  ls: look(
    "read",
    "-aAbBcCdfFgGhiIklmnNopqQrRsStTuUvwxXZ1 -LH~ --all,almost-all,human-readable,recursive,reverse,size,group-directories-first,directory,inode,classify,full-time,no-group,numeric-uid-gid,si,escape,literal --time-style,sort,time,block-size,format,indicator-style,quoting-style= --color? --classify? --hyperlink? --dereference~ --dereference-command-line~",
    FREE,
  ),
  cat: look(
    "read",
    "-AbeEnstTuv --number,number-nonblank,show-all,show-ends,show-tabs,show-nonprinting,squeeze-blank",
    FED,
  ),
  head: look("read", "-qvz0123456789 -n= -c= --lines,bytes= --quiet,silent,verbose,zero-terminated", FED),
  tail: look(
    "read",
    "-qvzr0123456789 -fF~ -n= -c= -s=~ --lines,bytes= --quiet,silent,verbose --follow?~ --pid=~ --retry~",
  ),
  wc: look("read", "-cmlLw --bytes,chars,lines,words,max-line-length --files0-from=<~", FED),
  nl: look("read", "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w=", FED),
  tac: look("read", "-br -s= --before,regex --separator=", FED),
  rev: look("read"),
  cut: look(
    "read",
    "-nsz -b= -c= -d= -f= --bytes,characters,delimiter,fields,output-delimiter= --complement,only-delimited",
    FED,
  ),
  paste: look("read", "-sz -d= --serial --delimiters=", FED),
  join: look("read", "-iz -t= -1= -2= -j= -a= -v= -o= -e=", FED),
  expand: look("read", "-i -t= --initial --tabs=", FED),
  unexpand: look("read", "-a -t= --all,first-only --tabs=", FED),
  tr: look("text", "-cCdst --complement,delete,squeeze-repeats,truncate-set1", FED),
  fold: look("read", "-bs -w= --bytes,spaces --width=", FED),
  fmt: look("read", "-csut -w= -p= -g="),
  column: look("read", "-txneL -s= -o= -c= -N= -R= --table --separator,output-separator,table-columns="),
  sort: look(
    "read",
    "-bdfghiMnRrsuVcCmz -k= -t= -o=> -T=~ -S=~ --numeric-sort,general-numeric-sort,reverse,unique,human-numeric-sort,version-sort,month-sort,random-sort,ignore-case,ignore-leading-blanks,dictionary-order,stable,merge,zero-terminated --check? --key,field-separator,parallel,sort= --output=> --compress-program=! --temporary-directory=~ --buffer-size=~ --batch-size=~ --files0-from=<~ --random-source=<~ --debug~",
  ),
  uniq: look(
    "pair",
    "-cdDiuz -f= -s= -w= --count,repeated,unique,ignore-case,zero-terminated --all-repeated? --skip-fields,skip-chars,check-chars= --group?",
    { most: 1 },
  ),
  comm: look("read", "-123iz --total,nocheck-order,check-order --output-delimiter=", FED),
  diff: look(
    "read",
    "-abBcdeEiNqsTtuwyp0123456789 -U= -C= -W= -I= -r~ -x=~ -X=<~ -S=~ -l~ --brief,minimal,text,ignore-case,ignore-all-space,ignore-space-change,ignore-blank-lines,side-by-side,new-file,report-identical-files,suppress-common-lines,show-c-function,normal,no-dereference --color? --unified? --context? --width,label,ignore-matching-lines= --strip-trailing-cr --recursive~ --exclude=~ --to-file=<~ --from-file=<~",
    { most: 2, flat: true, fed: true },
  ),
  cmp: look("read", "-bls -i= -n= --verbose,silent,quiet,print-bytes --bytes,ignore-initial=", FED),
  stat: look("read", "-fLtx -c= --format,printf= --dereference,terse,file-system", FED),
  file: look(
    "read",
    "-bhiLNrs0pk -m=<~ -f=<~ -C> --brief,mime,mime-type,mime-encoding,dereference,no-dereference,raw,print0 --magic-file=<~ --files-from=<~ --compile>",
  ),
  du: look(
    "read",
    "-abchklmPsSx0 -d= -t= -B= -LHD~ --all,summarize,human-readable,total,apparent-size,bytes,null,one-file-system,si --max-depth,threshold,block-size,time-style= --exclude= --exclude-from=<~ --files0-from=<~ --dereference~ --dereference-args~",
  ),
  df: look(
    "read",
    "-ahHiklPT -t= -x= -B= --human-readable,print-type,all,inodes,local,portability,total,si --output? --type,exclude-type,block-size=",
  ),
  realpath: look(
    "read",
    "-eLmPqsz --relative-to,relative-base= --canonicalize-existing,canonicalize-missing,no-symlinks,strip,quiet,zero",
    FED,
  ),
  readlink: look(
    "read",
    "-efmnqsvz --canonicalize,canonicalize-existing,canonicalize-missing,no-newline,quiet,zero",
    FED,
  ),
  md5sum: SUM,
  sha1sum: SUM,
  sha224sum: SUM,
  sha256sum: SUM,
  sha384sum: SUM,
  sha512sum: SUM,
  b2sum: SUM,
  cksum: look("read", "", FED),
  sum: look("read", "-rs", FED),
  shasum: look("read", "-bct -a=", FED),
  od: look("read", "-bcdfhilosvx -A= -j= -N= -t= -w?", FED),
  hexdump: look("read", "-bcCdovx -n= -s= -e=~ -f=<~"),
  xxd: look("pair", "-abeEpu -c= -g= -l= -s= -o= -r~", { most: 1 }),
  strings: look("read", "-afo -n= -t= -e= --all --bytes,radix,encoding="),
  base64: look("read", "-di -w= -o=> -b= --decode,ignore-garbage --wrap= --output=> --input=<"),
  base32: look("read", "-di -w= --decode,ignore-garbage --wrap="),
  zcat: look("read"),
  bzcat: look("read"),
  xzcat: look("read"),
  tree: look(
    "read",
    "-adfipsughDFrtvxnCSQNqcUJX -L= -P= -I= -o=> -l~ -H=~ -R~ --dirsfirst,noreport,gitignore,du,prune,inodes,device,noreport,matchdirs,ignore-case,filesfirst --filelimit,charset,sort,timefmt= --fromfile~ --gitfile=<~",
  ),
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  rg: row(
    "pattern",
    "-aFIilNnoPpqSsUuvwxcHV0. -ABCEgjmMrtTd= -e=^ -f=<^ -L~ -z~ --files-with-matches,files-without-match,fixed-strings,ignore-case,smart-case,case-sensitive,line-number,no-line-number,hidden,no-ignore,no-ignore-vcs,no-config,count,count-matches,only-matching,word-regexp,line-regexp,invert-match,multiline,multiline-dotall,json,no-heading,heading,stats,pcre2,pretty,trim,vimgrep,with-filename,no-filename,passthru,column,quiet,no-messages,text,null,unrestricted,no-follow,no-pre,debug --glob,iglob,type,type-not,max-count,max-depth,after-context,before-context,context,color,colors,sort,sortr,replace,threads,encoding,max-columns,max-filesize= --regexp=^ --file=<^ --files^ --type-list^ --pre=! --pre-glob=~ --hostname-bin=! --hyperlink-format=~ --ignore-file=<~ --follow~ --search-zip~",
    { deep: true, plain: {} },
  ),
  fd: look(
    "pattern",
    "-HIuagspi0q1F -t= -e= -d= -E= -c= -S= -L~ -l! -x! -X! -o=~ --hidden,no-ignore,no-ignore-vcs,absolute-path,glob,fixed-strings,regex,ignore-case,case-sensitive,full-path,print0,quiet,unrestricted --type,extension,max-depth,min-depth,exact-depth,exclude,color,size,changed-within,changed-before,max-results= --follow~ --list-details! --exec! --exec-batch! --base-directory=~ --search-path=~ --ignore-file=<~",
  ),
  jq: look(
    "pattern",
    "-cnrRseSajCM -f=+~^ -L=+~ --compact-output,null-input,raw-output,raw-input,slurp,exit-status,sort-keys,ascii-output,join-output,color-output,monochrome-output,tab,seq,stream --indent= --from-file=+~^ --arg~ --argjson~ --slurpfile~ --rawfile~",
    { test: (operands) => operands !== undefined && isPlainJq(operands[0] ?? "") },
  ),
  awk: AWK,
  gawk: AWK,
  mawk: AWK,
  nawk: AWK,
}
