/**
 * What the list of risky shapes goes by beside programs and their words: folders, tools, options, places, variables.
 *
 * Invariant: data only; a list that excuses something holds nothing that loses work or reaches another machine.
 */

/** Folders that a build makes anew, so that deleting one loses nothing. */
export const DISPOSABLE: ReadonlySet<string> = new Set(
  `node_modules dist build out target coverage .next .nuxt .svelte-kit .turbo .cache .parcel-cache .vite tmp temp __pycache__
  .pytest_cache .mypy_cache .ruff_cache .tox .nox .eggs htmlcov .nyc_output .gradle .angular .output storybook-static`.split(
    /\s+/,
  ),
)

/** Development tools that `npx` and its like run from what the project has installed. */
export const DEV_TOOLS: ReadonlySet<string> = new Set(
  `tsc tsx ts-node vitest jest mocha ava tap c8 nyc eslint prettier biome rome stylelint oxlint knip depcheck madge
  vite rollup esbuild webpack swc babel parcel turbo nx next nuxt astro svelte-check vue-tsc playwright cypress
  storybook tailwindcss postcss sass tsup unbuild typedoc api-extractor lint-staged husky commitlint size-limit publint
  attw concurrently rimraf cross-env npm-run-all markdownlint cspell ruff black mypy pyright pytest`.split(/\s+/),
)

/** Options in front of a program's first operand that take the next word. */
export const VALUED: Readonly<Record<string, readonly string[]>> = {
  git: ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"],
  kubectl: ["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user"],
  helm: ["-n", "--namespace", "--kube-context"],
  docker: ["-H", "--host", "-c", "--context", "-l"],
  npm: ["--prefix", "-C", "-w", "--workspace"],
  pnpm: ["-C", "--dir", "-F", "--filter"],
  yarn: ["--cwd"],
  aws: ["--profile", "--region", "--output", "--endpoint-url"],
  gcloud: ["--project", "--account", "--format"],
  gh: ["-R", "--repo"],
}

/** Places that hold what opens other doors; matched against absolute paths and against words of commands. */
export const SECRETS: readonly RegExp[] = [
  /(?:^|[/=@:])\.(?:ssh|gnupg|aws|azure|kube|password-store|docker\/config\.json)(?:\/|$)/,
  /(?:^|\/)\.config\/(?:gcloud|gh|hub|op|sops|doctl|rclone|stripe|heroku|containers\/auth\.json)(?:\/|$)/,
  /(?:^|[/=@:])\.(?:netrc|git-credentials|pgpass|my\.cnf|pypirc|npmrc|vault-token|terraformrc|s3cfg|boto|htpasswd)$/,
  /(?:^|[/=@:])\.env(?:\.(?!example$|sample$|template$|dist$|schema$|defaults?$)[\w.-]+)?$/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?$|\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk)$/,
  /(?:^|\/)(?:shadow|gshadow|sudoers)$|^\/proc\/[^/]+\/(?:environ|mem|cmdline)$/,
  /\/(?:Login Data|Cookies|key4\.db|logins\.json|Local State|login\.keychain\S*)$|\/Keychains\//,
  /(?:^|\/)(?:credentials|service[-_]account\S*|client_secret\S*|application_default_credentials)(?:\.json)?$/,
]

/** Variables that change which programs run, what they load, or whom they trust. */
export const TURNING =
  /^(?:PATH|LD_\w+|DYLD_\w+|NODE_OPTIONS|NODE_TLS_REJECT_UNAUTHORIZED|BASH_ENV|ENV|IFS|SHELL|SHELLOPTS|PROMPT_COMMAND|PYTHON(?:STARTUP|HOME|HTTPSVERIFY|INSPECT|WARNINGS)|PERL5(?:OPT|LIB|DB)|RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_(?!AUTHOR|COMMITTER|TERMINAL)\w+|SSH_\w+|SUDO_\w+|PAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|npm_config_\w+|HIST\w+|\w*(?:SSL|TLS)_?(?:NO_VERIFY|CERT\w*|CA\w*)|(?:HTTPS?|ALL)_PROXY|https?_proxy|all_proxy)$/
