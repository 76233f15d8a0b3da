/**
 * The programs that do nothing but run another one, and how to step over their own words.
 *
 * Source: the man pages of GNU coreutils, util-linux, sudo, findutils, parallel and of the shells' builtins.
 */

interface Wrapper {
  /** Option letters that take the next word as their value, then long names that do. */
  valued: string
  /** Operands in front of the command. */
  operands: number
  /** It cannot change what the command means: `always`, or `bare` when it has no options. */
  clear?: "always" | "bare"
  /** Takes `NAME=value` in front of the command. */
  assigns?: true
  /** Joins its words and hands them to a shell. */
  joins?: true
}

function row(valued = "", operands = 0, more: Omit<Wrapper, "valued" | "operands"> = {}): Wrapper {
  return { valued, operands, ...more }
}

const clear = { clear: "always" } as const
const bare = { clear: "bare" } as const

/** By program name. */
export const wrappers: ReadonlyMap<string, Wrapper> = new Map([
  ["timeout", row("ks kill-after signal", 1, clear)],
  ["gtimeout", row("ks kill-after signal", 1, clear)],
  ["nice", row("n adjustment", 0, clear)],
  ["nohup", row("", 0, clear)],
  ["stdbuf", row("ioe input output error", 0, clear)],
  ["command", row("", 0, clear)],
  ["builtin", row("", 0, clear)],
  ["noglob", row("", 0, clear)],
  ["time", row("fo format output", 0, bare)],
  ["xargs", row("IEdLnPsa max-args max-procs delimiter arg-file replace max-lines max-chars eof", 0, bare)],
  ["exec", row("a")],
  ["nocorrect", row()],
  [
    "sudo",
    row("ughpCTrtUDR user group host prompt close-from command-timeout role type other-user chdir", 0, {
      assigns: true,
    }),
  ],
  ["doas", row("uC", 0, { assigns: true })],
  ["ionice", row("cnpPu class classdata")],
  ["chrt", row("TPD", 1)],
  ["taskset", row("", 1)],
  ["setsid", row()],
  ["setarch", row("", 1)],
  ["flock", row("wE timeout conflict-exit-code", 1)],
  ["strace", row("eoEpPsuaSXbIO")],
  ["ltrace", row("eopsuanlx")],
  ["valgrind", row()],
  ["chroot", row("", 1)],
  ["unshare", row("SGRw")],
  ["nsenter", row("tSGrw target")],
  ["systemd-run", row("pEMHu property setenv unit slice")],
  ["dbus-run-session", row()],
  ["caffeinate", row("tw")],
  ["busybox", row()],
  ["toybox", row()],
  ["unbuffer", row()],
  ["rlwrap", row("afHO")],
  ["faketime", row("f", 1)],
  ["xvfb-run", row("aens")],
  ["torsocks", row()],
  ["proxychains", row("f")],
  ["proxychains4", row("f")],
  ["firejail", row()],
  ["doas", row("uC")],
  ["parallel", row("jNnIaLPS jobs max-args")],
  ["watch", row("nqs interval", 0, { joins: true })],
  ["trap", row("", 0, { joins: true })],
])

const EVALUATED = /\[[^\]]*(?:\$\(|`)/

/** Words by which a program runs another one, or code; an allow rule has to name them letter by letter. */
export const runningWords: ReadonlyMap<string, RegExp> = new Map([
  [
    "git",
    /^(?:-c|-O.*|--(?:ext-diff|textconv|config-env|exec-path|upload-pack|receive-pack|exec|open-files-in-pager)(?:=.*)?)$/s,
  ],
  ["find", /^-(?:delete|exec|execdir|ok|okdir|fprint0?|fprintf|fls)$/],
  ["npm", /^--(?:node-options|script-shell)(?:=.*)?$/s],
  [
    "tar",
    /^(?:-[A-Za-z]*I.*|--(?:use-compress-program|to-command|checkpoint-action|rsh-command|info-script|new-volume-script).*)$/s,
  ],
  ["rsync", /^(?:-[A-Za-z]*e.*|--rsh.*|--rsync-path.*)$/s],
  ["sort", /^--comp/],
  ["rg", /^--(?:pre|hostname-bin)/],
  ["man", /^(?:-P.*|--pager.*|-H.*|--html.*)$/s],
  ["less", /^\+/],
  // The shell evaluates the subscript of a variable's name, a command in it included.
  ...[
    "test",
    "[",
    "[[",
    "printf",
    "unset",
    "read",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "let",
    "wait",
    "mapfile",
  ].map((name): [string, RegExp] => [name, EVALUATED]),
])
