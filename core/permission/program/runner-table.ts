/**
 * The programs that do little but run another one, and how to step over their own words.
 *
 * Source: the man pages of GNU coreutils, util-linux, sudo, findutils, parallel, of the shells' builtins, and the manuals of
 * docker, kubectl, npm and the other tools that run what a project brings along.
 */
import { type Row, row, runner } from "./row.ts"

const CLEAR = { clear: "always" } as const
const BARE = { clear: "bare" } as const
const OWNS = { owns: true } as const
const SUBS = { subs: true } as const

const CONTAINER =
  "-acdeghlmpuvw= -itP --name,network,net,volume,env,workdir,user,publish,mount,platform,label,memory,cpus,hostname,add-host,device,cap-add,cap-drop,restart,pull,gpus,shm-size,ulimit,log-driver,ipc,pid,security-opt,volumes-from,expose,dns,cidfile,tmpfs,index,detach-keys= --entrypoint=! --env-file=< --rm,init,interactive,tty,detach,privileged,read-only,no-deps,service-ports,publish-all"
const DOCKER = "-H=~ -c=~ -l= --host=~ --context=~ --config=~ --log-level= --tls,debug"
const COMPOSE = "-f= -p= --file,project-name,project-directory,profile,env-file,ansi,progress,parallel="
const CONTAINERS = {
  [""]: row("text", DOCKER, SUBS),
  compose: row("text", COMPOSE, SUBS),
  container: row("text", "", SUBS),
}
const INSIDE = { skips: 1, owns: true } as const
const NPM =
  "-c=! -p= -w= --call=! --script-shell=! --node-options=! --node-gyp=! --git=! --editor=! --viewer=! --browser=! --shell=! --python=! --init-module=! --userconfig=! --globalconfig=! --shell-emulator --prefix,dir,cwd=+ --package,workspace,registry,loglevel,cache,tag,omit,include,filter= --yes,no,silent,quiet,offline,workspaces,if-present,ignore-scripts,global,save-dev,production,parallel,recursive,force,legacy-peer-deps,no-install,ignore-existing,bun -ysqrgfD -C=+"
const VM = "-itT -w= -u= -e= -n="

/** A tool whose sub-commands run what the project brings along; each is a row of its own. */
function tool(
  name: string,
  options: string,
  commands: Readonly<Record<string, Partial<Row["runs"]>>>,
): [string, Row][] {
  const rows = Object.entries(commands).map(([sub, runs]): [string, Row] => [
    `${name} ${sub}`,
    runner(options, { owns: true, ...runs }),
  ])
  return [[name, row("text", options, SUBS)], ...rows]
}

function containers(name: string): [string, Row][] {
  const paths: Record<string, string> = { run: CONTAINER, exec: CONTAINER, create: CONTAINER }
  const inner = Object.entries(paths).flatMap(([sub, line]): [string, Row][] =>
    ["", "container ", "compose "].map((group) => [`${name} ${group}${sub}`, runner(line, INSIDE)]),
  )
  const groups = Object.entries(CONTAINERS).map(([group, one]): [string, Row] => [`${name} ${group}`.trim(), one])
  return [...groups, ...inner]
}

/** The same row under several names; `_` stands for the blank in front of a sub-command. */
function same(names: string, one: Row): [string, Row][] {
  return names.split(" ").map((name) => [name.replaceAll("_", " "), one])
}

/** By program name, or by program and sub-command. */
export const runners: Readonly<Record<string, Row>> = Object.fromEntries([
  ...same(
    "timeout gtimeout",
    runner("-k= -s= -v --kill-after,signal= --preserve-status,foreground,verbose", { skips: 1, ...CLEAR }),
  ),
  ...same("nice", runner("-n= -0123456789 --adjustment=", CLEAR)),
  ...same("nohup noglob", runner("", CLEAR)),
  ...same("command", runner("-pvV", CLEAR)),
  ...same("builtin", runner("", CLEAR)),
  ...same("stdbuf", runner("-i= -o= -e= --input,output,error=", CLEAR)),
  ...same("time gtime", runner("-f= -o=> -apvqV --format= --output=> --append,portability,verbose", BARE)),
  ...same(
    "xargs gxargs",
    runner(
      "-0rtpxo -I= -E= -d= -L= -n= -s= -P= -a=< -J= -R= -S= -i? -l? -e? --max-args,max-procs,delimiter,max-chars,process-slot-var= --arg-file=< --replace? --max-lines? --eof? --null,no-run-if-empty,verbose,interactive,exit,open-tty",
      { ...BARE, feeds: true },
    ),
  ),
  ...same(
    "parallel sem rush",
    runner(
      "-0kmXqturv -j= -N= -n= -I= -a=< -L= -P= -S=! -C= -d= --jobs,max-args,delimiter,colsep,timeout,retries,delay,load,tagstring,max-replace-args,joblog,results,workdir,env= --arg-file=< --sshlogin=! --ssh=! --pipe,keep-order,bar,dry-run,verbose,will-cite,halt-on-error,tag,ungroup,line-buffer,null,progress --halt=",
      { joins: true, feeds: true, reads: true },
    ),
  ),
  ...same("exec", runner("-a= -cl")),
  ...same(
    "nocorrect setsid valgrind dbus-run-session busybox toybox unbuffer torsocks firejail chronic ifne fakeroot ssh-agent catchsegv eatmydata proot heaptrack ld.so",
    runner("-cfwlqt -E= --library-path,preload,argv0,audit,inhibit-rpath,glibc-hwcaps-prepend=+ --inhibit-cache"),
  ),
  ...same(
    "env genv",
    runner(
      "-i0v -u= -C= -P= -S=! --unset,chdir,argv0= -a= --split-string=! --ignore-environment,null,debug,list-signal-handling --block-signal,default-signal,ignore-signal?",
      { assigns: true },
    ),
  ),
  ...same("pkexec", runner("--user= --disable-internal-agent,keep-cwd")),
  ...same("choom", runner("-n= -p= --adjust,pid=")),
  ...same(
    "bwrap sandbox-exec systemd-nspawn runcon daemonize daemon dtach abduco chpst setlock envdir softlimit",
    runner(),
  ),
  ...same("fakechroot", runner("-e= -c= -s")),
  ...same("stap bpftrace", row("read", "-c=! -e=$ -p= -x= -o=>")),
  ...same(
    "sudo",
    runner(
      "-u= -g= -h= -p= -C= -r= -T= -t= -U= -D= -R= -AbEeHiKklNnPSsVv --user,group,host,prompt,close-from,command-timeout,role,type,other-user,chdir,chroot,preserve-env= --login,shell,non-interactive,stdin,background,edit",
      { assigns: true },
    ),
  ),
  ...same("doas", runner("-u= -C=~ -nsL", { assigns: true })),
  ...same("ionice", runner("-c= -n= -p= -P= -u= -t --class,classdata=")),
  ...same("chrt", runner("-T= -P= -D= -bfiormpadv", { skips: 1 })),
  ...same("taskset", runner("-acp --cpu-list,all-tasks", { skips: 1 })),
  ...same("setarch", runner("-RBFILSTXZv3v", { skips: 1 })),
  ...same("linux32 linux64 i386 x86_64", runner("-RBFILSTXZ3")),
  ...same(
    "flock",
    runner(
      "-w= -E= -c=! -eFnosux --timeout,conflict-exit-code= --command=! --exclusive,nonblock,shared,unlock,close,no-fork,verbose",
      { skips: 1 },
    ),
  ),
  ...same(
    "strace",
    runner(
      "-e= -o=> -E= -p= -P= -s= -u= -a= -S= -X= -b= -I= -O= -U= -cCdfFhiknqrtTvVwxyYzZ --trace,expr,env,attach,string-limit= --output=>",
    ),
  ),
  ...same("ltrace", runner("-e= -o=> -p= -s= -u= -a= -n= -l= -x= -A= -D= -F= -w= -bcCfhiLrStTV")),
  ...same("chroot", runner("--userspec,groups= --skip-chdir", { skips: 1 })),
  ...same(
    "unshare",
    runner(
      "-R= -S= -G= -w= -fimnpruUCTcl --root,wd,setuid,setgid,map-user,map-group,propagation= --fork,pid,mount,net,user",
    ),
  ),
  ...same("nsenter", runner("-t= -S= -G= -r? -w? -m? -u? -i? -n? -p? -C? -U? -aFZ --target=")),
  ...same(
    "systemd-run",
    runner(
      "-p= -E= -M= -H= -u= -dGPqrSt --property,setenv,unit,slice,description,uid,gid,nice,working-directory,on-calendar,on-active,timer-property= --user,scope,wait,pty,pipe,shell,quiet,collect",
    ),
  ),
  ...same("systemd-inhibit caffeinate", runner("-tw= -dimsu --what,who,why,mode=")),
  ...same("rlwrap", runner("-afHOCDPSbcNnrsAm=")),
  ...same("faketime", runner("-fm", { skips: 1 })),
  ...same("xvfb-run", runner("-a -e= -n= -s= -f= -p= -w= --server-num,server-args= --auto-servernum")),
  ...same("proxychains proxychains4", runner("-f= -q")),
  ...same(
    "watch",
    runner("-n= -q= -s= -bcdegtxwrp --interval,equexit= --exec,color,differences,errexit,chgexit,no-title", {
      joins: true,
    }),
  ),
  ...same("trap", runner("-lp", { joins: true })),
  ...same("entr", runner("-acdnprsxz", { feeds: true })),
  ...same(
    "setpriv prlimit cgexec numactl cpulimit trickle capsh ip-netns",
    runner("-g= -l= -m= -N= -C= -d= -u= -p= --dump,clear-groups,reuid,regid,cpunodebind,membind="),
  ),
  ...same("gosu su-exec s6-setuidgid setuidgid", runner("-u= -U= -e=", { skips: 1 })),
  ...same("perf", row("text", "", SUBS)),
  ...same("perf_stat perf_record perf_trace", runner("-e= -o=> -p= -F= -C= -r= -x= -agdvsS --event,output=")),
  ...same(
    "gdb",
    runner("-x=$ -ex=$ -iex=$ -q -batch --args --command=$ --eval-command=$ --batch,quiet,nx", {}, { single: true }),
  ),
  ...same("lldb", runner("-s=$ -o=$ -b -Q", { dashes: true })),
  ...same(
    "hyperfine concurrently",
    runner(
      "-w= -r= -m= -M= -s=! -p=! -c=! -n= -k -i -N -S=! --warmup,runs,names,prefix,export-json= --setup=! --prepare=! --cleanup=! --shell=! --kill-others,raw",
      { joins: true, each: true },
    ),
  ),
  ...same("nodemon", runner("-x=! -e= -w= -i= -d= --exec=! --ext,watch,ignore,delay=", OWNS)),
  ...same(
    "watchexec",
    runner("-e= -w= -f= -i= -d= -s= -crn --exts,watch,filter,ignore,debounce,signal,shell= --restart,clear", OWNS),
  ),
  ...same("cross-env dotenv dotenvx env-cmd", runner("-f= -e= -s", { assigns: true, dashes: true, ...OWNS })),
  ...same("npx bunx pnpx uvx pipx-run", runner(NPM, OWNS)),
  ...same("docker podman nerdctl", row("text", DOCKER, SUBS)),
  ...["docker", "podman", "nerdctl"].flatMap(containers),
  ...same("docker-compose podman-compose", row("text", COMPOSE, SUBS)),
  ...same("docker-compose_run docker-compose_exec podman-compose_run podman-compose_exec", runner(CONTAINER, INSIDE)),
  ...tool(
    "kubectl",
    "-n= -c= -f= -l= -o= -it --namespace,context,kubeconfig,container,cluster,user,image,filename= --stdin,tty,rm",
    {
      exec: { skips: 1, dashes: true },
      run: { skips: 1, dashes: true },
      debug: { skips: 1, dashes: true },
    },
  ),
  ...tool("lxc", "--project= --force-local", { exec: { skips: 1, dashes: true } }),
  ...tool("npm", NPM, { exec: {}, x: {} }),
  ...tool("pnpm", NPM, { exec: {}, dlx: {} }),
  ...tool("yarn", NPM, { exec: {}, dlx: {}, node: { skips: 99 } }),
  ...tool("bun", NPM, { x: {} }),
  ...tool("uv", "-p= -q -v --python,with,project,directory,env-file,extra,group= --frozen,no-sync,isolated", {
    run: {},
  }),
  ...tool("poetry", "-C= -P= -q -v -n --directory,project=", { run: {} }),
  ...tool("pipenv", "--python= --quiet", { run: {} }),
  ...tool("rye", "", { run: {} }),
  ...tool("hatch", "-e= --env=", { run: {} }),
  ...tool("bundle", "", { exec: {} }),
  ...tool("conda", "-n= -p= --name,prefix,cwd= --no-capture-output", { run: {} }),
  ...tool("mise", "-C= -j= --cd=", { exec: { skips: 0, dashes: true }, x: { dashes: true } }),
  ...tool("asdf", "", { exec: {} }),
  ...tool("direnv", "", { exec: { skips: 1 } }),
  ...tool("devbox", "-c= --config=", { run: {} }),
  ...tool("op", "--account,env-file=", { run: { dashes: true } }),
  ...tool("doppler", "-p= -c= -t= --project,config,token= --command=!", { run: { dashes: true } }),
  ...tool("aws-vault", "-d= --duration=", { exec: { skips: 1, dashes: true } }),
  ...tool("nix", "-c=! --command=! -f= --expr=! --impure", {
    shell: { skips: 99 },
    develop: { skips: 99 },
    run: { skips: 99 },
  }),
  ...same("nix-shell", row("text", "-p --run=! --command=! -E=! --expr=! --pure -I=")),
  ...same("ip", row("text", "-46bosdn -n= -all", SUBS)),
  ...same("ip_netns", row("text", "", SUBS)),
  ...same("ip_netns_exec ip_vrf_exec", runner("", { skips: 1 })),
  ...same("vagrant multipass lima", row("text", VM, SUBS)),
  ...same("vagrant_ssh", row("text", "-c=! --command=!")),
  ...same("multipass_exec", runner(VM, INSIDE)),
  ...same("adb", row("text", "-s= -t= -H= -P= -de", SUBS)),
  ...same("adb_shell", runner("-nTtx", { joins: true, owns: true })),
  ...same("gcloud", row("text", "--command=!")),
  ...same("mosh", runner("-p= -46a --ssh=! --server=! --port=", { skips: 1, joins: true, owns: true })),
])
