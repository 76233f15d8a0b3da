/**
 * Names of variables → whether setting them leaves a command what it is.
 *
 * Invariant: a list of what is harmless, never of what is not.
 */

/** Variables that a command may set for itself and stay what it is. */
export const HARMLESS_VARIABLES =
  /^(?:NODE_ENV|LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|CI|TERM|COLUMNS|LINES|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)$/

/** Lower-case names that shells or programs give a meaning of their own. */
const SPECIAL =
  /^(?:c?dpath|path|f?path|manpath|module_path|mailpath|fignore|prompt\d?|histchars|psvar|watch|argv|status|pipestatus|options|aliases|galiases|saliases|functions|builtins|commands|parameters|reswords|signals|modules|terminfo|termcap|words|npm_.*|pnpm_.*|yarn_.*|(?:https?|ftp|all|no|rsync)_proxy|.*path|.*_options|.*_opts|.*flags)$/

/** True for a name that scripts give to variables of their own, which no program looks at when it is not exported. */
export function isLocalName(name: string): boolean {
  if (/^[A-Z]$|^\d+$|^(?:FILES?|DIRS?|NAMES?|ITEMS?|LINE|PKGS?|REPLY|OPTARG|OPTIND)$/.test(name)) return true
  return /^[a-z_][a-z0-9_]*$/.test(name) && !SPECIAL.test(name) && name !== "_"
}
