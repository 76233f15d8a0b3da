/**
 * The programs that write, move, pack or change files, with the options by which they name more of them.
 *
 * Source: the man pages of GNU coreutils, tar, patch, sed, curl, wget, rsync, of Info-ZIP, and those of common formatters.
 */
import { type Row, row } from "./row.ts"

const COPY =
  "-abdfHilLnPpRrsuvxZT -t= -S= -g= -m= -o= --archive,recursive,force,interactive,link,dereference,no-clobber,no-dereference,no-target-directory,one-file-system,parents,remove-destination,strip-trailing-slashes,symbolic-link,update,verbose,attributes-only --backup? --preserve? --no-preserve= --reflink? --sparse= --suffix= --context? --target-directory="
const RIGHTS =
  "-cfhRvHLP --changes,silent,quiet,verbose,recursive,no-dereference,dereference,preserve-root,no-preserve-root --from= --reference=<^"
const CODE = "-i?& -e=^ -E=^ -p -n -l? -a -F= -w -W -0? -I= -C? -M? -m? -r= -s -S -T -c -t -u -U -v -X -x? -d? -D?"
const COMPRESS =
  "-123456789aDdfhkLlMNnqrRtTvVz -c% -S= -b= -o=> -T= --stdout% --to-stdout% --keep,force,decompress,uncompress,test,list,verbose,quiet,best,fast --output=>"
const FORMAT = "-w& --write& --fix& --apply& --in-place& --inplace&"
const EDITOR =
  "-c=! -S=! -u=! -s=! -i= -w=> -o? -p? -T= -t= -r? -L? -q? -n -N -R -Z -e -E -v -y -b -d -x -f -g -m -M -A -H --cmd=! --startuptime=> --servername= --remote-send=! --remote-expr=! --remote --noplugin --clean --headless --not-a-term"
const TAR =
  "-Ax -c -d -r -t -u -x -f=~ -C=~ -T=< -X=< -I=! -F=! -g=> -b= -H= -K= -L= -N= -V= -s= -aBGhiJjklMmnOoPpRSUvWwZz --create,extract,get,list,append,update,concatenate,catenate,diff,compare,delete --file=~ --directory=~ --files-from=< --exclude-from=< --use-compress-program=! --to-command=! --checkpoint-action=! --rsh-command=! --rmt-command=! --info-script=! --new-volume-script=! --listed-incremental=> --one-top-level?> --index-file=> --add-file=< --exclude= --transform= --xform= --strip-components= --owner= --group= --mode= --mtime= --format= --label= --newer= --gzip,gunzip,bzip2,xz,zstd,lzma,compress,auto-compress,verbose,preserve-permissions,same-owner,no-same-owner,keep-old-files,overwrite,to-stdout,totals,remove-files,dereference,absolute-names --checkpoint? --warning="
const CURL =
  "--unix-socket=+ --abstract-unix-socket=! -sSfgGIikLlNnqRvZaJj0123456#B -o=> -O> -D=> -c=> -K=! -T=< -d=@ -F=@ -H=@ -b=@ -E=@ -AeuxXmwrtyYzCPQUh= --output=> --output-dir=> --remote-name> --remote-name-all> --dump-header=> --cookie-jar=> --config=! --upload-file=< --data=@ --data-ascii=@ --data-binary=@ --data-raw= --data-urlencode=@ --json=@ --form=@ --header=@ --cookie=@ --cert=@ --key=< --cacert=< --netrc-file=< --trace=> --trace-ascii=> --stderr=> --etag-save=> --etag-compare=< --libcurl=> --hsts=> --alt-svc=> --request= --user-agent= --user= --proxy= --max-time= --connect-timeout= --retry= --url= --write-out=@ --referer= --resolve= --connect-to= --silent,show-error,fail,location,head,include,insecure,compressed,verbose,fail-with-body,create-dirs,remote-header-name,no-progress-meter"
const WGET =
  "-qvbcdNSxHkpmrlEFK -O=> -o=> -a=> -P=> -i=< -e=! -BAUDRIXQTtw= --output-document=> --output-file=> --append-output=> --directory-prefix=> --input-file=< --execute=! --config=! --use-askpass=! --post-file=< --body-file=< --load-cookies=< --save-cookies=> --warc-file=> --hsts-file=> --rejected-log=> --ca-certificate=< --certificate=< --private-key=< --user-agent= --header= --method= --post-data= --body-data= --timeout= --tries= --user= --password= --level= --accept= --reject= --quiet,no-verbose,continue,recursive,mirror,no-check-certificate,spider,show-progress"
const RSYNC =
  "-abcdDEgHhIiklLmNnOopPqRrSstuUvWxXyzAJKF0468 -e=! -M=! -f= -B= -T=> --rsh=! --rsync-path=! --remote-option=! --files-from=< --exclude-from=< --include-from=< --password-file=< --log-file=> --backup-dir=> --temp-dir=> --partial-dir=> --write-batch=> --only-write-batch=> --read-batch=< --early-input=< --exclude= --include= --filter= --compare-dest=< --copy-dest=< --link-dest=< --chmod= --chown= --port= --bwlimit= --timeout= --info= --out-format= --archive,verbose,delete,delete-after,recursive,dry-run,progress,partial,compress,update,checksum,human-readable,stats,relative,times,perms,links,copy-links,ignore-existing,existing,remove-source-files,quiet,itemize-changes"
const SSH = "-46AaCfGgKkMNnqsTtVvXxYy -o=! -F=! -J= -i=< -E=> -S= -bBcDIeLlmOpQRWwP="
const COPY_FAR = "-346ABCOpqrRTv -o=! -F=! -S=! -D=! -X= -i=< -J= -P= -c= -l= -b=! -s= -a -f -N"
const CC =
  "-o=> -I? -L? -l? -D? -U? -include=< -imacros=< -x= -MF=> -MD -MMD -c -S -E -shared -wrapper=! -fplugin=! -specs=! -B?!"

/** By program name. */
export const files: Readonly<Record<string, Row>> = {
  tee: row("write", "-aip --append,ignore-interrupts --output-error?"),
  sponge: row("write", "-a"),
  touch: row("write", "-acfmh -d= -t= -r=< --no-create,no-dereference --date,time= --reference=<"),
  mkdir: row("write", "-pvZ -m= --parents,verbose --mode= --context?"),
  mkfifo: row("write", "-Z -m= --mode="),
  mknod: row("write", "-Z -m= --mode="),
  truncate: row("write", "-co -s= -r=< --no-create,io-blocks --size= --reference=<"),
  fallocate: row("write", "-cdinvxz -l= -o= --length= --offset="),
  mktemp: row("write", "-dqut -p=> --directory,dry-run,quiet --suffix= --tmpdir?>", { drops: true }),
  rm: row(
    "remove",
    "-dfiIRrv --force,recursive,dir,verbose,one-file-system,no-preserve-root,preserve-root --interactive?",
  ),
  srm: row("remove"),
  rmdir: row("remove", "-pv --parents,verbose,ignore-fail-on-non-empty"),
  unlink: row("remove"),
  shred: row("remove", "-fuvxz -n= -s= --random-source=< --iterations= --size= --remove?"),
  trash: row("remove"),
  "trash-put": row("remove"),
  chmod: row("rights", RIGHTS),
  chown: row("rights", RIGHTS),
  chgrp: row("rights", RIGHTS),
  chattr: row("rights", "-RVf -v= -p="),
  setfacl: row("remove", "-bkdRLPvn -m= -x= -M=< -X=< --modify= --remove= --recursive"),
  cp: row("copy", COPY),
  mv: row("move", COPY),
  ln: row("copy", COPY),
  install: row("copy", `${COPY} -D -C --mode= --owner= --group= --compare,strip --strip-program=!`),
  ditto: row("copy"),
  rsync: row("copy", RSYNC),
  scp: row("copy", COPY_FAR),
  sftp: row("text", COPY_FAR),
  ssh: row("text", SSH, { runs: { skips: 1, joins: true, owns: true, reads: true } }),
  "ssh-keygen": row("text", "-f=> -t= -b= -N= -C= -P= -D=! -m= -q -y -l -e -i -R= -F="),
  "ssh-add": row("read", "-P=! -s=! -c -d -D -l -L -t="),
  tar: row("text", TAR, { bundles: true }),
  bsdtar: row("text", TAR, { bundles: true }),
  cpio: row(
    "text",
    "-iopdumvlBcAaktrsV -D=> -F=< -E=< -H= -I=< -O=> -M=! -C= -R= --directory=> --file=< --rsh-command=!",
    { drops: true },
  ),
  zip: row("pack", "-rqjmuvXyDeFofgklS0123456789 -b=> -n= -t= -P= -T -TT,=! --unzip-command=!"),
  unzip: row("unpack", "-d=> -ovnqjCLXDK -l% -t% -v% -p% -Z% -P= -x"),
  "7z": row("read", "-o?> -p? -y -r -m? -t? -x? -i?<", { drops: true }),
  gzip: row("replace", COMPRESS),
  gunzip: row("replace", COMPRESS),
  bzip2: row("replace", COMPRESS),
  bunzip2: row("replace", COMPRESS),
  xz: row("replace", COMPRESS),
  unxz: row("replace", COMPRESS),
  zstd: row("replace", COMPRESS),
  unzstd: row("replace", COMPRESS),
  patch: row(
    "edit",
    "-bcEflNnRsTtuvZ -e! -p= -i=< -o=> -d=> -r=> -B= -D= -F= -g= -V= -x= -Y= -z= --ed! --strip= --input=< --output=> --directory=> --reject-file=> --dry-run,reverse,forward,force,batch",
    { drops: true },
  ),
  split: row(
    "pair",
    "-d? -x? -eu -l= -b= -C= -n= -a= -t= --filter=! --lines,bytes= --numeric-suffixes? --additional-suffix= --suffix-length=",
    { drops: true },
  ),
  csplit: row("read", "-kqsz -f=> -b= -n= --prefix=> --suffix-format= --digits=", { drops: true }),
  shuf: row("read", "-erz -n= -i= -o=> --head-count= --input-range= --output=> --random-source=<"),
  dd: row("text"),
  source: row("read"),
  ".": row("read"),
  pushd: row("read"),
  pr: row("read"),
  pv: row("read"),
  tsort: row("read"),
  basenc: row("read", "-d -w="),
  sdiff: row("read", "-o=> --output=> --diff-program=!"),
  code: row("read"),
  open: row("read"),
  "xdg-open": row("read"),
  ag: row("pattern", "--pager=! -G= -A= -B= -C= -m=", { deep: true }),
  ack: row("pattern", "--pager=! -A= -B= -C= -m= --match=^", { deep: true }),
  ugrep: row("pattern", "--filter=! --pager?! -e=^ -f=<^ -A= -B= -C= -m=", { deep: true }),
  zgrep: row("pattern", "-r/ -e=^ -f=<^ -A= -B= -C= -m="),
  sed: row(
    "pattern",
    "-nErsuz -i?& -e=^ -f=+^ -l= --quiet,silent,regexp-extended,separate,null-data,unbuffered,debug,posix,sandbox --in-place?& --expression=^ --file=+^ --line-length=",
  ),
  perl: row("pattern", CODE),
  ruby: row("pattern", CODE),
  yq: row("pattern", "-i& -nrCMPjNes -p= -o= -I= --inplace& --from-file=<^ --arg~ -y -Y"),
  sd: row("edit", "-p -s -F -n= -f= --preview,string-mode"),
  ed: row("edit", "-p= -s", { runs: { skips: 99, reads: true } }),
  ex: row("edit", EDITOR, { running: /^\+/ }),
  vi: row("edit", EDITOR, { running: /^\+/ }),
  vim: row("edit", EDITOR, { running: /^\+/ }),
  nvim: row("edit", EDITOR, { running: /^\+/ }),
  nano: row("edit"),
  emacs: row("edit", "-qQ -nw,nbc,batch, -l=$ -f=$ --batch --eval=$ --execute=$ --load=$ --script=$ --funcall=$"),
  prettier: row("read", `${FORMAT} --config=! --plugin=! --parser= --ignore-path=< --log-level=`),
  eslint: row(
    "read",
    "-c=! --fix& --config=! --plugin=! --rulesdir=! --resolve-plugins-relative-to=! --parser=! -f=! --format=! -o=> --output-file=> --ext= --rule= --ignore-path=<",
  ),
  biome: row("read", `${FORMAT} --config-path=`),
  gofmt: row("read", `${FORMAT} -r= -d -l -s -e`),
  shfmt: row("read", `${FORMAT} -i= -ci -d -l -s`),
  rustfmt: row("edit", "--check% --config= --config-path= --edition= --emit="),
  black: row("edit", "--check% --diff% -l= -t= -c= --line-length= --config= -q -v"),
  isort: row("edit", "--check% --check-only% --diff% -c% -w= --profile="),
  autopep8: row("read", "-i& --in-place& -r -a --max-line-length="),
  yapf: row("read", "-i& -r -d --in-place& --style="),
  "clang-format": row("read", "-i& --style= -style="),
  stylelint: row("read", `${FORMAT} --config=! --custom-syntax=!`),
  dos2unix: row("edit"),
  unix2dos: row("edit"),
  iconv: row("read", "-f= -t= -o=> -c -s --from-code= --to-code= --output=>"),
  curl: row("text", CURL),
  wget: row("text", WGET, { drops: true }),
  openssl: row("text", "-in=< -out=> -keyout=> -key=< -inkey=< -CAfile=< -engine=! -config=<", { single: true }),
  gpg: row("read", "-o=> --output=> -r= -u= --homedir= --passphrase-file=< -a -b -c -d -e -s --batch,yes,armor"),
  pandoc: row(
    "read",
    "-o=> -f= -t= -r= -w= -F=! -L=! -s -d=! --output=> --filter=! --lua-filter=! --defaults=! --pdf-engine=! --extract-media=> --log=>",
  ),
  gcc: row("read", CC, { single: true }),
  cc: row("read", CC, { single: true }),
  clang: row("read", CC, { single: true }),
  "g++": row("read", CC, { single: true }),
  "clang++": row("read", CC, { single: true }),
  strip: row("edit", "-gsxdXv -o=> -K= -N= -R="),
  ffmpeg: row("text", "-i=<", { single: true }),
  convert: row("copy", "", { single: true }),
  magick: row("copy", "", { single: true }),
  crontab: row("read", "-u= -e! -r! -l -i"),
}
