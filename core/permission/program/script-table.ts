/**
 * The programs whose options, or words of another shape, hold a command: editors, pagers, terminals, build tools.
 *
 * Source: the manuals of these programs.
 */
import { EVALUATED } from "./reader-table.ts"
import { type Row, row, runner } from "./row.ts"

/** Variables of make that name programs, and values that run something while they are read. */
const MAKING =
  /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES|MAKE|GNUMAKEFLAGS)\s*[:+?!]*=|^[\w.-]+\s*(?:!=|[:+?]*=.*\$[({](?:shell|eval|file|guile|call)\b)/s
const SUBS = { subs: true } as const
const SESSION = "-c=~ -n= -s= -t= -e= -x= -y= -F= -f=! -L= -S= -dADPEXulCN28"
const BUILTIN = row("text", "", { running: EVALUATED })
const PAGER = row(
  "read",
  "-o=> -O=> -k=! -p= -b= -h= -j= -P= -t= -T= -x= -y= -z= -D= -aBcCdeEfFgGiIJKLmMnNqQrRsSuUVwWX~ --log-file=> --LOG-FILE=> --lesskey-file=! --lesskey-src=!",
  {
    running: /^\+/,
  },
)
const SQL =
  "-c= -f=$ -h= -p= -U= -d= -o=> -v= --command= --file=$ --output=> -e= --execute= --init-command= -u= -P= -D="

/** By program name, or by program and sub-command. */
export const scripts: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(
    ["unset", "read", "declare", "typeset", "local", "export", "readonly", "let", "wait"].map((name) => [
      name,
      BUILTIN,
    ]),
  ),
  mapfile: row("text", "-t -d= -n= -O= -s= -u= -C=! -c=", { running: EVALUATED }),
  readarray: row("text", "-t -d= -n= -O= -s= -u= -C=! -c=", { running: EVALUATED }),
  complete: row("text", "-C=! -F=! -W=!"),
  bind: row("text", "-x=! -f=!"),
  less: PAGER,
  more: PAGER,
  most: PAGER,
  man: row(
    "text",
    "-P=! --pager=! -H?! --html?! -B=! --whatis -C=! --config-file=! --preprocessor=! -p= -l -k -f -w -a -K -M= -m= -S= -L= -R=",
  ),
  bat: row("read", "--pager=! --paging= --style= --language= --line-range= -l= -r= -H= -pAnu"),
  delta: row("read", "--pager=!"),
  su: row("text", "-c=! --command=! -s=! --shell=! -l -m -p -g= -G= -w="),
  runuser: row("text", "-c=! --command=! -s=! --shell=! -u= -l -m -p -g= -G=", { runs: { skips: 0 } }),
  sg: row("text", "-c=!", { runs: { skips: 1, joins: true } }),
  newgrp: row("text", "-c=!"),
  script: row(
    "edit",
    "-c=! --command=! -I=> -O=> -B=> -T=> -t? -E= -m= -o= -aefq --log-in=> --log-out=> --log-io=> --log-timing=>",
  ),
  expect: row("read", "-c=$ -f= -d -i -b", { running: /^-c/ }),
  make: row(
    "text",
    "-f=+ -C=+ -I=+ -E=$ -j? -l? -o= -W= -O? --eval=$ --file=+ --makefile=+ --directory=+ --include-dir=+ --jobs? --load-average? --old-file= --assume-old= --assume-new= --what-if= -bBdehikLnpqrRsStvw --silent,quiet,dry-run,just-print,keep-going,always-make,debug",
    {
      running: MAKING,
    },
  ),
  gmake: row("text", "-f=+ -C=+ -E=$ --eval=$ --file=+ --makefile=+", {
    running: MAKING,
  }),
  cmake: row("text", "-C=! -P=! -S= -B= -G= -D? -E=!"),
  cargo: row(
    "text",
    "--config=$ -C=+ -Z= -p= -j= --manifest-path=+ --path=+ --target-dir=> --out-dir=> --artifact-dir=> --root=> --lockfile-path=> --target= --features= -F=",
  ),
  go: row("text", "", SUBS),
  "go test": row(
    "text",
    "-exec=! -toolexec=! -vettool=! -C=+ -o=> -run= -overlay=+ -modfile=+ -outputdir=> -coverprofile=> -cpuprofile=> -memprofile=> -blockprofile=> -mutexprofile=> -trace=>",
    { single: true },
  ),
  "go build": row("text", "-toolexec=! -C=+ -o=> -overlay=+ -modfile=+ -ldflags= -gcflags=", { single: true }),
  "go run": row("text", "-exec=! -toolexec=! -C=+ -overlay=+ -modfile=+", { single: true }),
  "go vet": row("text", "-vettool=! -toolexec=! -C=+ -overlay=+ -modfile=+", { single: true }),
  "go generate": row("text", "-run=", { single: true }),
  pytest: row(
    "steer",
    "-p=$ -c=+ -k= -m= -n= -r= -o= -W= --rootdir,config-file,confcutdir,cov-config=+ --junitxml,junit-xml,basetemp,log-file,html,report-log=> --cov,cov-report,maxfail,tb,durations,timeout,capture,color,deselect,ignore,ignore-glob,import-mode= -vqxsl",
  ),
  tsc: row(
    "read",
    "-p=+ -b -w -h -v -t= -m= --project=+ --outDir,outFile,declarationDir,tsBuildInfoFile,generateTrace,generateCpuProfile=> --rootDir,target,module,lib,jsx,types,typeRoots,baseUrl,moduleResolution= --noEmit,watch,build,strict,pretty,skipLibCheck,incremental,declaration,sourceMap,listFiles,diagnostics,extendedDiagnostics",
  ),
  pip: row(
    "text",
    "-t=> -r=+ -e=+ -c=+ -i= -f= --target,prefix,root,src,log,report,cache-dir,dest=> --requirement,editable,constraint=+ --python=! --index-url,extra-index-url,find-links,proxy,timeout= -qUvIy --upgrade,quiet,user,pre,no-deps,no-cache-dir",
  ),
  gh: row("text", "-R= --repo=", SUBS),
  "gh alias": row("text", "", SUBS),
  "gh alias set": row("text", "-s --shell,clobber", { running: /^!|\bexec\b/ }),
  "gh extension": row("text", "", SUBS),
  "gh extension exec": row("text", "", { running: /./ }),
  tmux: row("text", "-c=! -f=! -L= -S= -T= -2CDlNuvV", SUBS),
  screen: row("text", "-S= -X! -c=! -s=! -e= -h= -p= -t= -T= -dmDrRxaAfiLlOqUvw", { runs: { skips: 0 } }),
  zellij: row("text", "", SUBS),
  "run-parts": row("text", "-a=~ -u=~ -v --arg,umask,regex=~ --verbose,report,reverse,exit-on-error,new-session", {
    running: /^[^-]/,
  }),
  logrotate: row("text", "-dfv -l=> -m=! -s=> --state=> --mail=! --log=> --force,debug,verbose", { running: /^[^-]/ }),
  ...Object.fromEntries(
    "new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window popup display-popup if-shell if run run-shell pipep pipe-pane send send-keys confirm confirm-before"
      .split(" ")
      .map((sub) => [`tmux ${sub}`, row("text", SESSION, { runs: { skips: 0, joins: true } })]),
  ),
  "zellij run": row("text", "-c -f -n= -d= --name,cwd,direction=", { runs: { skips: 0, dashes: true } }),
  xterm: row("text", "-e! -T= -title= -geometry=", { single: true, runs: { skips: 0 } }),
  "gnome-terminal": row("text", "-e=! --command=!", { runs: { skips: 0, dashes: true } }),
  stuff: runner("", { joins: true }),
  at: row("text", "-f=! -q= -t= -mvlbdrcV", { runs: { skips: 99, reads: true } }),
  batch: row("text", "-f=! -q= -mv", { runs: { skips: 99, reads: true } }),
  sqlite3: row("edit", "-cmd=! -init=! -separator= -csv -json -header -readonly", {
    single: true,
    running: /(?:^|\n)[^\S\n]*\.(?:shell|system|load|read|output|once|import|open|log)\b/,
  }),
  psql: row("text", SQL, { running: /\\!/ }),
  mysql: row("text", SQL, { running: /\\!/ }),
  nc: row("text", "-e=! -c=! --exec=! --sh-exec=! --lua-exec=! -p= -s= -w= -i= -q= -X= -x= -klnuvz46"),
  ncat: row("text", "-e=! -c=! --exec=! --sh-exec=! --lua-exec=! -p= -s= -w= -o=> -klnuv46"),
  socat: row("text", "", { running: /(?:^|,)\s*(?:EXEC|SYSTEM|SHELL):/i }),
  node: row("text", "--env-file=< --env-file-if-exists=<"),
  php: row("read", "-r=~ -B=~ -R=~ -E=~ -F=< -d=! -c=< -z=! -S= -t= -aCehilmnqsvwH"),
  java: row("text", "-jar= -cp= -classpath= -agentpath=! -javaagent=!", { single: true }),
  kill: row("text"),
  "start-stop-daemon": row("text", "-a=! -x=! --exec=! --startas=! -SKTb -p= -n= -u=", {}),
  logger: row("text", "-f=<"),
  mail: row("text", "-a=< -A=< -s= -r="),
}
