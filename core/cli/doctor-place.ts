/**
 * This project as a start would find it → its settings, trust, hooks, plugins, packs and model, one row for each kind.
 *
 * Invariant: it is looked at once for all of them, by the parts of `sous check`; nothing of a project that nobody trusts
 * runs.
 */
import type { ModelProvider } from "../model.ts"
import type { CheckReport, Finding } from "./check-finding.ts"
import type { Start } from "./check-start.ts"
import type { DoctorPlace, DoctorRow } from "./doctor-row.ts"

const looked = new WeakMap<DoctorPlace, { files: Promise<CheckReport>; start: Promise<Start> }>()

/** The files by themselves, and what a start comes to; both begun once. */
function lookAt(place: DoctorPlace): { files: Promise<CheckReport>; start: Promise<Start> } {
  let found = looked.get(place)
  if (found === undefined) {
    found = { files: readFiles(place), start: openStart(place) }
    // Each check hears of it in its turn.
    for (const work of Object.values(found)) work.catch(() => {})
    looked.set(place, found)
  }
  return found
}

async function readFiles(place: DoctorPlace): Promise<CheckReport> {
  if (place.cwd === undefined) throw place.gone
  return await (await import("./check-place.ts")).checkFilesHere(place.line, place.host)
}

async function openStart(place: DoctorPlace): Promise<Start> {
  if (place.cwd === undefined) throw place.gone
  return await (await import("./check-start.ts")).checkStart(place.line, place.host)
}

/** The model that a run would use, opened without a request. */
export async function findModel(place: DoctorPlace): Promise<DoctorRow[]> {
  const { host, cwd = "/" } = place
  const settings = await lookAt(place).start.then(
    ({ loaded }) => loaded?.settings,
    () => undefined,
  )
  const env = { ...host.env, ...settings?.env }
  const providers = (await host.shippedPlugins()).flatMap(({ models = [] }) => models)
  const id = settings?.model ?? providers.map((one) => one.fallbackId?.({ env })).find((one) => one !== undefined)
  if (id === undefined) {
    const state = "no model is set, and no key or gateway is in the environment"
    return [{ level: "warning", state, mend: "set ANTHROPIC_API_KEY; or ANTHROPIC_BASE_URL, and name a model" }]
  }
  const provider: ModelProvider | undefined = providers.find((one) => one.handles(id, { env }))
  if (provider === undefined) return [{ level: "warning", state: `"${id}" is not one of a shipped provider`, mend: "" }]
  const controller = new AbortController()
  try {
    await provider.open(id, { cwd, env, signal: controller.signal })
    return [{ level: "ok", state: `${id} (${provider.name}); whether it can be reached was not tried`, mend: "" }]
  } finally {
    controller.abort()
  }
}

/** What holds for this project. */
export async function findTrust(place: DoctorPlace): Promise<DoctorRow[]> {
  const { loaded, findings } = await lookAt(place).start
  if (loaded === undefined) return [{ level: "warning", state: "unknown, for the settings cannot be read", mend: "" }]
  const found = findings.find(({ what }) => what === "trust")
  const { state } = loaded.trust
  if (found !== undefined && state !== "follows") return [{ level: "warning", state: found.problem, mend: found.mend }]
  const root = loaded.folders.root ?? "no project"
  return [{ level: "ok", state: `${root}: ${STATES[state]}`, mend: "" }]
}

const STATES: Readonly<Record<string, string>> = {
  trusted: "trusted as it is",
  follows: "trusted whatever it holds",
  start: "trusted for this start",
  nothing: "nothing in it needs trust",
  changed: "not as it was trusted",
  untrusted: "nobody has trusted it",
}

/** Each fault of a settings file; warnings are counted. */
export async function findSettings(place: DoctorPlace): Promise<DoctorRow[]> {
  const [{ files, findings }, start] = await Promise.all([lookAt(place).files, startFindings(place)])
  const all = [...findings, ...start.filter(isOfSettings)]
  const faults = all.filter(({ level, what }) => level === "error" && !isHook(what))
  if (faults.length > 0) return unique(faults).map(faultRow)
  const count = all.filter(({ level }) => level === "warning").length
  const state = `${files.length} file${files.length === 1 ? "" : "s"} of settings and hooks`
  if (count === 0) return [{ level: "ok", state, mend: "" }]
  return [{ level: "warning", state: `${state}, ${count} warning${count === 1 ? "" : "s"}`, mend: "run sous check" }]
}

async function startFindings(place: DoctorPlace): Promise<readonly Finding[]> {
  return await lookAt(place).start.then(({ findings }) => findings)
}

function isOfSettings({ code = "" }: Finding): boolean {
  return /^(?:SETTINGS|PERMISSION|CLI)_/.test(code)
}

function isHook(what: string): boolean {
  return / hook(?: ".*")?$/.test(what)
}

function unique(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ file, line, problem }) => {
    const key = `${file}:${line} ${problem}`
    return !seen.has(key) && seen.add(key)
  })
}

function faultRow({ file, line, what, problem, mend, code }: Finding): DoctorRow {
  const place = file === "" ? "" : `${file}:${line} `
  const about = what === "" ? "" : `${what}: `
  return { level: "fault", state: `${place}${about}${problem}`, mend, ...(code === undefined ? {} : { code }) }
}

/** Hooks that would block all that they guard; others that fail are counted. */
export async function findHooks(place: DoctorPlace): Promise<DoctorRow[]> {
  const { findings } = await lookAt(place).files
  const ofHooks = findings.filter(({ what }) => isHook(what))
  const faults = ofHooks.filter(({ level }) => level === "error")
  if (faults.length > 0) return faults.map(faultRow)
  const odd = ofHooks.filter(({ level }) => level === "warning")
  if (odd.length === 0) return [{ level: "ok", state: "nothing is wrong with them", mend: "" }]
  const state = `${odd.length} do not do what they seem to`
  return [{ level: "warning", state, mend: "run sous check, or sous hooks list" }]
}

/** Plugins that were left out. */
export async function findPlugins(place: DoctorPlace): Promise<DoctorRow[]> {
  const { findings, loaded, isPartial } = await lookAt(place).start
  const out = findings.filter(({ problem }) => problem.startsWith("Plugin left out"))
  const broken = findings.filter((one) => one.code?.startsWith("PLUGIN_") && !out.includes(one))
  if (out.length + broken.length > 0) return [...out, ...broken].map(faultRow)
  if (loaded === undefined)
    return [{ level: "warning", state: "not looked at, for the settings cannot be read", mend: "" }]
  return [{ level: "ok", state: isPartial ? "those that come along" : "all of them load", mend: "" }]
}

/** Packs that are missing, or not what their lock says. */
export async function findPacks(place: DoctorPlace): Promise<DoctorRow[]> {
  const { loaded } = await lookAt(place).start
  if (loaded === undefined)
    return [{ level: "warning", state: "not looked at, for the settings cannot be read", mend: "" }]
  const { checkLocks } = await import("./check-more.ts")
  const { findings } = await checkLocks(loaded.folders, { loaded, env: place.host.env })
  if (findings.length > 0) return findings.map(faultRow)
  const count = loaded.settings.packs.length
  const state = count === 0 ? "none is asked for" : `${count} of ${count} as their lock says`
  return [{ level: "ok", state, mend: "" }]
}
