/**
 * A simple command → why its program may not be run at all: it formats a device, switches the machine off, never stops
 * forking, or is a command of sous that is a person's.
 *
 * Invariant: a program is known by its name in any folder, case and wrapper; what only tells something passes.
 */
import type { FloorCommand } from "./floor.ts"
import { ownCommandOf } from "./floor-own.ts"

/** Why nobody's agent runs this. */
export function floorOfProgram(command: FloorCommand): string | undefined {
  const { name, args } = command
  if (formats(name, args)) return "it formats a device"
  if (switchesOff(name.toLowerCase().replace(/\.exe$/, ""), args)) return "it switches the machine off"
  if (INTERPRETER.test(name) && args.some((arg) => FORKS.test(arg))) return "it is a fork bomb"
  const own = ownCommandOf(command)
  return own === undefined ? undefined : `"sous ${own}" is a person's command, not an agent's`
}

const FORMATTERS =
  /^(?:mkfs(?:[._].*)?|newfs(?:_.*)?|mke2fs|mkdosfs|mkntfs|mkexfatfs|mkudffs|mkswap|wipefs|blkdiscard)$/

function formats(name: string, args: readonly string[]): boolean {
  const asks = args.every((arg) => /^(?:-[hV]|--help|--version)$/.test(arg)) && args.length > 0
  if (FORMATTERS.test(name)) return !asks
  if (name === "diskutil") return /^(?:erase|secureErase|zeroDisk|partitionDisk|reformat)/i.test(args[0] ?? "")
  return name === "cryptsetup" && args.includes("luksFormat")
}

/** As logind and systemd name it on the bus (org.freedesktop.login1.Manager). */
const BUS_CALL = /(?:^|\.)(?:PowerOff|Reboot|Halt|KExec|SoftReboot)(?:WithFlags)?$/
const VERB = /^(?:poweroff|reboot|halt|kexec|soft-reboot)$/
const TARGET = /^(?:poweroff|reboot|halt|kexec|soft-reboot|shutdown|runlevel[06]|ctrl-alt-del)\.target$/

function switchesOff(name: string, args: readonly string[]): boolean {
  const [verb = "", ...units] = args.filter((arg) => !arg.startsWith("-"))
  switch (name) {
    case "shutdown":
    case "reboot":
    case "halt":
    case "poweroff":
      return !args.some((arg) => /^(?:-c|--help|--version)$/.test(arg))
    case "init":
    case "telinit":
      return /^[06]$/.test(verb)
    case "systemctl":
    case "loginctl":
      return VERB.test(verb) || (/^(?:start|restart|isolate)$/.test(verb) && units.some((unit) => TARGET.test(unit)))
    case "busctl":
    case "dbus-send":
    case "gdbus":
    case "qdbus":
      return args.some((arg) => BUS_CALL.test(arg))
    case "kexec":
      return args.some((arg) => /^-[a-z]*e|^--exec/.test(arg))
    case "rtcwake":
      return args.some((arg, i) => /^(?:-[a-z]*m|--mode)$/.test(args[i - 1] ?? "") && arg === "off")
    case "osascript":
      return args.some((arg) => /\b(?:shut ?down|restart)\b/i.test(arg))
    case "powershell":
    case "pwsh":
      return args.some((arg) => /\b(?:Stop|Restart)-Computer\b/i.test(arg))
    default:
      return /^(?:stop|restart)-computer$/.test(name)
  }
}

const INTERPRETER = /^(?:perl|ruby|python|pypy|php|lua)[\d.]*$/
const FORKS = /\bfork\b[\s()]{0,9}(?:while|until)\b|\b(?:while|until|loop|for)\b[^\n]{0,60}\s{0,40}[\w.:]{0,20}\bfork\b/
