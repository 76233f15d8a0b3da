/**
 * The risky shapes, as data: programs, and the words behind them that make a call one to stop.
 *
 * Invariant: a row says why in words; what it names is stopped, whatever else stands in the command. The list is long
 * and never complete: it catches what well-known programs do, not what a script does that they run.
 *
 * Source: the manuals of the programs.
 */

/** One risky shape of a simple command. */
export interface Shape {
  /** Why, as the end of a sentence. */
  why: string
  /** Fits the whole name of the program. */
  program: RegExp
  /** Fits its words, options in front of its first operand left out; left out: any words. */
  words?: RegExp
  /** Words with which it is harmless all the same. */
  unless?: RegExp
}

const verbs = (list: string) => new RegExp(`^(?:${list.trim().split(/\s+/).join("|")})(?:\\s|$)`)
const programs = (list: string) => new RegExp(`^(?:${list.trim().split(/\s+/).join("|")})$`)
const INFORMS = "--version --help -h -V version help"

/** In the order in which they are tried; the first that fits names the reason. */
export const SHAPES: readonly Shape[] = [
  {
    why: "it runs with other rights",
    program: programs("sudo doas su runuser pkexec gosu su-exec chroot nsenter unshare setpriv setcap capsh"),
  },
  {
    why: "it overwrites data for good",
    program: programs("shred wipe srm dd fdisk sfdisk parted gdisk diskutil hdparm truncate"),
  },
  {
    why: "it deletes what it finds",
    program: programs("find fd fdfind"),
    words: /(?:^|\s)(?:-delete|-exec(?:dir)?\s+(?:\S*\/)?(?:rm|unlink|shred|mv)|-[xX]\s+rm)(?:\s|$)/,
  },
  {
    why: "it deletes what is missing on the other side",
    program: programs("rsync"),
    words: /(?:^|\s)--(?:del|remove-source-files)/,
  },
  {
    why: "it opens files to everybody, or changes the rights of whole folders",
    program: programs("chmod chown chgrp setfacl chattr icacls"),
    words:
      /(?:^|\s)(?:-[A-Za-z]*R|--recursive|0?[0-7]?[0-7]{2}[2367](?=\s|$)|[ugoa]*\+[rwxXt]*s|[oa][ugoa]*[+=][rx]*w|\+[rx]*w)/,
  },

  {
    why: "it rewrites what others may have fetched",
    program: programs("git"),
    words: /^push(?=\s).*\s(?:--force\S*|-[a-z]*f[a-z]*|--mirror|--delete|-d|--prune|\+\S+|:\S+)(?:\s|$)/s,
  },
  { why: "it publishes commits", program: programs("git"), words: verbs("push send-email send-pack request-pull") },
  {
    why: "it throws work or history away",
    program: programs("git"),
    words:
      /^(?:clean(?=\s).*\s-[A-Za-z-]*[fxd]|reset(?=\s).*\s--(?:hard|merge|keep)|checkout(?=\s).*(?:\s-f|\s--force|\s--?\s|\s\.(?:\s|$)|\s--$)|restore(?:\s|$)|branch(?=\s).*\s(?:-D|-d|--delete|-M|-f)|tag(?=\s).*\s(?:-d|--delete|-f)|stash\s+(?:drop|clear)|reflog\s+(?:expire|delete)|gc(?=\s).*--prune|prune(?:\s|$)|update-ref(?:\s|$)|filter-(?:branch|repo)|worktree\s+remove|rm(?=\s).*\s-[a-z]*[rf]|switch(?=\s).*\s(?:-C|--discard-changes|-f)|replace(?:\s|$)|symbolic-ref(?:\s|$))/s,
  },
  {
    why: "it skips the checks of the repository",
    program: programs("git"),
    words: /(?:\s--no-verify(?:\s|$)|^commit(?=\s)(?:\s+(?!-m|--message)\S+)*\s+-[a-z]*n[a-z]*(?:\s|$))/,
  },
  {
    why: "it changes how git works, or where it fetches from and sends to",
    program: programs("git"),
    words:
      /^(?:config(?=\s)(?!\s+(?:--get\S*|-l|--list|get|list)(?:\s|$))|remote\s+(?:add|set-url|rename|remove|rm)|submodule\s+(?:add|set-url)|clone\s.*--(?:config|template|upload-pack)|daemon|credential|instaweb)/s,
  },

  {
    why: "it publishes, or speaks for the person",
    program: programs("npm pnpm yarn bun"),
    words: verbs(
      "publish unpublish deprecate undeprecate owner token login logout adduser dist-tag access team org hook star profile npm\\s+publish npm\\s+login",
    ),
  },
  {
    why: "it publishes, or speaks for the person",
    program: programs(
      "cargo gem twine flit poetry uv hatch mvn gradle dotnet nuget pod helm vsce ovsx jsr lerna changeset semantic-release release-it goreleaser np",
    ),
    words:
      /^(?:publish|yank|owner|login|upload|push|deploy|release|trunk|nuget\s+push|.*\b(?:deploy|publish\w*|upload)(?:\s|$))|^$/,
  },
  {
    why: "it changes what others see",
    program: programs("gh glab hub tea"),
    unless:
      /^(?:(?:pr|mr|issue|run|release|repo|workflow|gist|label|search|cache|ci|project)\s+(?:view|list|ls|status|diff|checks|watch|show|prs|issues|code|commits|repos|download)|status|auth\s+status|version|help|--version|--help)(?:\s|$)/,
  },
  {
    why: "it shows a secret",
    program: programs("op pass bw vault security secret-tool keyring gpg gpg2 ssh-add doppler lpass"),
    words:
      /^(?:read|inject|run|item\s+get|show|get|kv\s+get|find-\S+|dump-keychain|lookup|.*--export-secret|-L|secrets?\s|ls)/,
  },
  {
    why: "it shows a secret",
    program: programs("gh glab gcloud az aws kubectl oc docker"),
    words:
      /^(?:auth\s+(?:token|print\S*|application-default)|(?:account|acr)\s+get-access-token|configure\s+(?:get|export-credentials)|ecr\s+get-login|login|.*\bsecrets?(?:manager)?(?:\s|\/|$))/,
  },

  {
    why: "it installs software",
    program: programs(
      "apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk emerge snap flatpak brew port choco winget scoop nix-env pkg",
    ),
    unless: verbs(
      `list search show info policy status -l -L -q -Q -s query ${INFORMS} config outdated deps cat desc which leaves`,
    ),
  },
  {
    why: "it installs a package that the project does not name",
    program: programs("npm pnpm bun"),
    words:
      /^(?:(?:i|in|ins|inst|insta|instal|install|isntall|add|link|ln)(?=\s).*\s(?!-)\S|(?:.*\s)?(?:-g|--global)(?:\s|$))/s,
  },
  {
    why: "it installs a package that the project does not name",
    program: programs(
      "yarn uv poetry pdm pipenv cargo go gem composer deno dotnet mix opam luarocks cpan cpanm conda mamba pipx rustup",
    ),
    words:
      /^(?:global\s|add(?:\s|$)|get(?=\s)|require(?=\s)|install(?=\s).*\s(?!-)\S|tool\s+(?:install|run)|run\s+--with|toolchain\s+install|inject|create\s|\S+$(?<=::\S+))/,
    unless: /^install\s+(?:--\S+\s+)*(?:\.|\.\/\S*)(?:\s|$)/,
  },
  {
    why: "it installs a package that the project does not name",
    program: /^pip[\d.]*$/,
    words: /^(?:install|download|wheel)(?:\s|$)/,
    unless:
      /^install(?:\s+-(?:q|U|-quiet|-upgrade|-no-deps|-no-build-isolation))*(?:\s+(?:-r|--requirement|-c|--constraint|-e|--editable)\s+(?!git|https?:)\S+|\s+\.(?:\[[\w,]+\])?)+\s*$/,
  },
  {
    why: "it runs a package that may be fetched for it",
    program: programs("npx bunx pnpx uvx pipx"),
    unless: /^(?:.*\s)?--?(?:no-install|no|offline)(?:\s|$)/,
  },
  {
    why: "it runs a package that may be fetched for it",
    program: programs("npm pnpm yarn bun"),
    words: verbs("exec x dlx create init\\s+\\S+"),
  },

  {
    why: "it reaches another machine",
    program: programs(
      "ssh scp sftp mosh ftp lftp tftp telnet nc ncat netcat socat rclone s3cmd s4cmd gsutil azcopy croc wormhole magic-wormhole transfer ngrok cloudflared localtunnel lt chisel rsh rlogin sshfs sshpass autossh mail mailx sendmail mutt msmtp swaks dig\\+ iodine",
    ),
  },
  { why: "it reaches another machine", program: programs("rsync"), words: /(?:^|\s)(?:[\w.-]+@)?[\w.-]+:|rsync:\/\// },

  {
    why: "it outlives the work",
    program: programs(
      "crontab at batch systemd-run launchctl loginctl update-rc.d chkconfig schtasks anacron pm2 forever supervisorctl initctl",
    ),
    unless: verbs(`-l list status ls logs ${INFORMS} list-units`),
  },
  {
    why: "it changes services of the machine",
    program: programs("systemctl service rc-service sv"),
    unless: /^(?:\S+\s+status|(?:--user\s+)?(?:status|show|cat|list-\S+|is-\S+|get-default|--version|--help))(?:\s|$)/,
  },
  {
    why: "it changes the machine",
    program: programs(
      "mount umount sysctl modprobe insmod rmmod useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd visudo chsh chfn hostnamectl timedatectl localectl swapon swapoff losetup cryptsetup lvremove vgremove zpool zfs btrfs mdadm nvram bless kextload scutil networksetup nmcli ifconfig route ip\\s+link update-alternatives ldconfig alternatives defaults dscl reg",
    ),
  },
  {
    why: "it makes protection weaker",
    program: programs(
      "ufw iptables ip6tables nft firewall-cmd setenforce spctl csrutil auditctl aa-disable aa-teardown apparmor_parser xattr xhost pfctl update-ca-certificates update-ca-trust certutil setsebool visudo tccutil",
    ),
  },
  {
    why: "it makes protection weaker",
    program: programs("curl wget npm pnpm yarn pip git http https xh"),
    words:
      /(?:^|\s)(?:-[A-Za-z]*k[A-Za-z]*|--insecure|--no-check-certificate|--verify=?\s?no|--trusted-host\S*|(?:--)?strict-ssl[= ]false|http\.sslVerify[= ](?:false|0)|set\s+ignore-scripts\s+false)(?:\s|$)/,
  },
  { why: "it covers its tracks", program: programs("history unset"), words: /^(?:-[cdw]|HIST)/ },

  {
    why: "it ends processes by name",
    program: programs("pkill killall killall5 fuser xkill skill taskkill"),
    unless: /^(?:-l|--list|--version|--help)(?:\s|$)/,
  },
  {
    why: "it ends processes that are not its own",
    program: programs("kill"),
    unless: /^(?:-(?:l|L|s\s+\w+|n\s+\d+|\w+)\s+)?(?:--\s+)?(?:(?:[2-9]|[1-9]\d+|%\S+)(?:\s+|$))+$|^-[lL]/,
  },

  {
    why: "it breaks out of the container",
    program: programs("docker podman nerdctl ctr crictl"),
    words:
      /(?:\s--privileged|\s--(?:pid|net|network|ipc|uts|userns)[= ]host|\s--cap-add|\s--device|\s--security-opt|docker\.sock|(?:\s-v|--volume|--mount)[= ]?(?:type=bind,)?(?:source=|src=)?(?:\/(?:etc|root|home|var|usr|proc|sys|dev|boot|Users)?(?:\/[^:\s]*)?:|~|\$HOME))/,
  },
  {
    why: "it deletes containers, images or volumes, or publishes them",
    program: programs("docker podman nerdctl docker-compose"),
    words:
      /^(?:rm|rmi|push|login|logout|swarm|stack|secret|context|kill|plugin|\S+\s+(?:rm|remove|prune)|compose(?=\s).*\s(?:down(?=\s).*\s(?:-v|--volumes|--rmi)|rm|push)|down(?=\s).*\s(?:-v|--volumes|--rmi))(?:\s|$)/s,
  },

  {
    why: "it destroys data of a database",
    program: programs("dropdb dropuser mysqladmin pg_restore mongorestore createuser"),
  },
  {
    why: "it destroys data of a database",
    program: programs(
      "psql mysql mariadb sqlite3 sqlcmd sqlplus mongo mongosh redis-cli cqlsh clickhouse-client duckdb bq snowsql cockroach",
    ),
    words:
      /\b(?:drop|truncate|delete\s+from|alter\s+table|update\s+\S+\s+set|grant|flushall|flushdb|dropDatabase|deleteMany|deleteOne|remove\(|shutdown|config\s+set)\b/i,
  },
  {
    why: "it speaks with a database on another machine",
    program: programs(
      "psql mysql mariadb mongo mongosh redis-cli cqlsh clickhouse-client sqlcmd sqlplus snowsql bq pg_dump pg_dumpall mysqldump mongodump",
    ),
    words: /(?:\s-h\s?|--host[= ]|^-h\s?|:\/\/(?:[^@/\s]*@)?)(?!(?:localhost|127\.|\/|::1|\[::1))[\w[]/,
  },
  {
    why: "it resets a database",
    program: programs(
      "prisma rails rake knex sequelize sequelize-cli typeorm alembic flask artisan php python python3 manage.py django-admin mix supabase drizzle-kit dbmate flyway liquibase goose migrate diesel sqlx",
    ),
    words:
      /(?:^|\s)(?:migrate\s+reset|db:(?:drop|reset|purge|wipe|migrate:undo:all|rollback)|migrate:(?:fresh|reset|rollback|down)|schema:drop|downgrade|--force-reset|--accept-data-loss|flush|sqlflush|reset_db|ecto\.(?:drop|reset)|db\s+(?:reset|push|drop)|drop|dropAll|clean|database\s+(?:drop|reset))(?:\s|$)/,
  },

  {
    why: "it changes infrastructure",
    program: programs("terraform tofu terragrunt"),
    unless:
      /^(?:plan|validate|fmt|init|show|output|providers|graph|version|console|test|get|state\s+(?:list|show)|workspace\s+(?:list|show)|-?-version|-?-help)(?:\s|$)/,
  },
  {
    why: "it changes infrastructure",
    program: programs("pulumi cdk cdktf sst"),
    unless: verbs(`preview ls list synth diff doctor about whoami stack\\s+ls stack\\s+output ${INFORMS}`),
  },
  {
    why: "it changes a cluster",
    program: programs("kubectl oc k9s"),
    unless: verbs(
      `get describe logs explain api-resources api-versions cluster-info top version diff config\\s+view config\\s+current-context config\\s+get-contexts auth\\s+can-i kustomize ${INFORMS}`,
    ),
  },
  {
    why: "it changes a cluster",
    program: programs("helm helmfile argocd flux istioctl eksctl kops kubeadm kind minikube"),
    unless: verbs(`list ls get status template lint show search history dependency version env diff ${INFORMS}`),
  },
  {
    why: "it changes resources of a cloud",
    program: programs("aws gcloud az doctl oci ibmcloud linode-cli hcloud scw openstack"),
    unless:
      /^(?:[\w-]+\s+){0,4}(?:describe\S*|list\S*|get-(?!secret|login|session|authorization|random|parameter|password)\S+|show|ls|help|info|version|--version|--help)(?:\s|$)/,
  },
  {
    why: "it deploys",
    program: programs(
      "vercel netlify heroku fly flyctl railway render wrangler serverless sls firebase amplify eb ansible ansible-playbook puppet chef salt cap capistrano fastlane surge now dokku kamal copilot gatsby-cloud",
    ),
    unless: verbs(`dev logs whoami list ls status build lint test ${INFORMS} emulators:start --check`),
  },
]
