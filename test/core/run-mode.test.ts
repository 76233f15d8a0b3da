import { mergeSettings, type SettingsSource } from "sous"
import { expect, test } from "vitest"
import { startMode } from "../../core/run-mode.ts"
import { folder, runPrompt } from "../harness.ts"

const set = (scope: SettingsSource["scope"], defaultMode: string, file?: string) =>
  mergeSettings([
    { scope, base: "/", values: { permissions: { defaultMode: defaultMode as "auto" } }, ...(file ? { file } : {}) },
  ])

test("startMode() takes what the start asks for before what settings say", () => {
  expect(startMode(set("user", "acceptEdits"), "plan")).toEqual({ mode: "plan", warnings: [] })
  expect(startMode(set("user", "acceptEdits"), undefined).mode).toBe("acceptEdits")
  expect(startMode(mergeSettings([]), undefined).mode).toBe("default")
})

test.each(["managed", "cli", "local", "project", "user"] as const)(
  "startMode() takes bypassPermissions from no file of the %s scope",
  (scope) => {
    expect(() => startMode(set(scope, "bypassPermissions", "/x/settings.json"), undefined)).toThrow(
      'Cannot start in the mode bypassPermissions: "/x/settings.json" asks for it',
    )
  },
)

test("startMode() takes bypassPermissions from a flag, and from the program that starts the run", () => {
  expect(startMode(set("cli", "bypassPermissions"), undefined).mode).toBe("bypassPermissions")
  expect(startMode(mergeSettings([]), "bypassPermissions").mode).toBe("bypassPermissions")
})

test("startMode() takes no mode that settings bar, whoever asks for it", () => {
  const bar = (permissions: object, file?: string) =>
    mergeSettings([{ scope: "managed", base: "/", values: { permissions }, ...(file ? { file } : {}) }])
  const bypass = bar({ disableBypassPermissionsMode: "disable" }, "/m/settings.json")
  expect(() => startMode(bypass, "bypassPermissions")).toThrow('bypassPermissions: "/m/settings.json" bars it')
  expect(startMode(bypass, "acceptEdits").mode).toBe("acceptEdits")
  expect(() => startMode(bar({ disableAutoMode: "disable" }), "auto")).toThrow('auto: "managed settings" forbids it')
})

test("startMode() takes auto from a person's settings, and from no project", async () => {
  expect(startMode(set("user", "auto", "/u"), undefined).mode).toBe("auto")
  for (const scope of ["project", "local"] as const) {
    const { mode, warnings } = startMode(set(scope, "auto", "/x/settings.json"), undefined)
    expect(mode).toBe("default")
    expect(warnings).toEqual([expect.stringContaining('The mode auto of "/x/settings.json" is left out')])
  }
  const { events } = await runPrompt([{ text: "done" }], {
    cwd: folder(),
    kit: { settings: set("project", "auto", "/x/settings.json") },
  })
  expect(events[0]).toMatchObject({ type: "run_started", mode: "default", warnings: [expect.stringContaining("auto")] })
})

test("startMode() refuses a mode that the settings bar, and names who does", () => {
  const at = () => ({ line: 2, column: 3 })
  const bar = { disableAutoMode: "disable", disableBypassPermissionsMode: "disable" } as const
  const managed = {
    scope: "managed",
    base: "/",
    file: "/etc/sous/settings.json",
    at,
    values: { permissions: bar },
  } as const
  const user = (defaultMode: "auto") =>
    mergeSettings([managed, { scope: "user", base: "/", file: "/u", values: { permissions: { defaultMode } } }])
  expect(() => startMode(mergeSettings([managed]), "bypassPermissions")).toThrow(
    'Cannot start in the mode bypassPermissions: "/etc/sous/settings.json:2" bars it',
  )
  expect(() => startMode(mergeSettings([managed]), "auto")).toThrow(
    expect.objectContaining({
      code: "PERMISSION_MODE_FORBIDDEN",
      message: 'Cannot start in the mode auto: "/etc/sous/settings.json:2" forbids it',
    }),
  )
  expect(startMode(user("auto"), undefined)).toEqual({
    mode: "default",
    warnings: ['The mode auto is left out: "/etc/sous/settings.json:2" bars it'],
  })
})
