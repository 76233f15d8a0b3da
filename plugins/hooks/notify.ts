/**
 * Notification: a person is needed → a message on the desktop, to a webhook, or both.
 *
 * Invariant: nothing of a conversation leaves the machine but the sentence of the notification and the folder's name.
 */
import { basename } from "node:path"
import { definePlugin, type HookPayload, runProcess, z } from "sous"

const settings = z.strictObject({
  /** Gets a POST of { text, kind, message, project, session_id }. */
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  /** Headers of it; ${NAME} is an environment variable. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Default: where there is no webhook. */
  desktop: z.boolean().optional(),
  /** Which kinds of notification: a matcher. */
  kinds: z.string().default("*"),
})
type Settings = z.output<typeof settings>
type Environment = Readonly<Record<string, string | undefined>>
type Event = HookPayload<"Notification">

const TIMEOUT_MS = 10_000

/** Variables that a program which talks to the desktop needs. */
const DESKTOP_ENV = ["PATH", "HOME", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]

export default definePlugin({
  name: "notify",
  settings: settings.default(() => settings.parse({})),
  capabilities: { exec: ["notify-send", "osascript"], net: ["*"] },
  setup({ settings: given, env }) {
    const chosen = given as Settings
    const desktop = chosen.desktop ?? chosen.webhook === undefined
    return {
      hooks: {
        Notification: {
          matcher: chosen.kinds,
          description: "notify",
          timeoutMs: TIMEOUT_MS,
          async handler(event, { signal }) {
            const ways = [
              ...(chosen.webhook === undefined ? [] : [post(event, { ...chosen, env, signal })]),
              ...(desktop ? [show(event, { env, signal })] : []),
            ]
            const settled = await Promise.allSettled(ways)
            const failed = settled.find((one) => one.status === "rejected")
            if (failed) throw failed.reason
          },
        },
      },
    }
  },
})

type Context = { env: Environment; signal: AbortSignal }

async function post(event: Event, { webhook, headers, env, signal }: Settings & Context): Promise<void> {
  const { kind, message, session_id } = event
  const project = basename(event.cwd)
  const response = await fetch(webhook!, {
    method: "POST",
    redirect: "manual",
    headers: { ...fill(headers, env), "content-type": "application/json" },
    body: JSON.stringify({ text: `sous in ${project}: ${message}`, kind, message, project, session_id }),
    signal,
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the webhook answered with the status ${response.status}`)
}

function fill(headers: Settings["headers"], env: Environment): Record<string, string> {
  const named = (value: string) => value.replace(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? "")
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, named(value)]))
}

async function show({ message, cwd }: Event, { env, signal }: Context): Promise<void> {
  const title = `sous in ${basename(cwd)}`
  const own = Object.fromEntries(DESKTOP_ENV.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
  const options = { cwd, env: own as Record<string, string>, signal, timeoutMs: TIMEOUT_MS }
  const { code, error, stderr } = await runProcess(desktopCommand(title, message), options)
  if (error !== undefined) throw new Error(`the desktop cannot be reached: ${error}`)
  if (code !== 0) throw new Error(`the desktop did not take it: ${stderr.toString("utf8").trim().slice(0, 200)}`)
}

/** The texts are arguments of a script that does not change, so that nothing in them is run. */
function desktopCommand(title: string, message: string): { file: string; args: string[] } {
  if (process.platform !== "darwin") return { file: "notify-send", args: ["--app-name=sous", "--", title, message] }
  const script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
  return { file: "osascript", args: ["-e", script, title, message] }
}
