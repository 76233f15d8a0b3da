/**
 * `sous check` without a file: the settings, rules, plugins and hooks of this place → what is wrong with them.
 *
 * Invariant: nothing is started; hooks that will not run here are looked at too, since somewhere else they will.
 */
import { isSousError } from "../error.ts"
import { placeOf } from "../hook-source.ts"
import type { CommandLine } from "./command-line.ts"
import { type HookFinding, matcherFinding, scriptFinding } from "./hooks-finding.ts"
import type { Host } from "./host.ts"
import { openSession, runOptions, type Session, withKit } from "./session.ts"

interface Finding extends HookFinding {
  /** What it is about, and where that stands. */
  what: string
}

/** Returns 1 when something is wrong; warnings alone are none. */
export async function checkHere(line: CommandLine, host: Host): Promise<number> {
  const { json } = line.values
  try {
    const session = await openSession(line, { ...host, openAsker: async () => undefined })
    const findings = await findAll(session)
    const { files, hooks } = session.loaded
    const ok = findings.every(({ level }) => level === "warning")
    if (json) host.print(`${JSON.stringify({ ok, files, hooks: hooks.sources.length, findings })}\n`)
    else {
      for (const { level, what, problem } of findings) host.print(host.escape(`${level.padEnd(8)} ${what}${problem}\n`))
      if (ok) host.print(`ok  ${files.length} files of settings, ${hooks.sources.length} hooks\n`)
    }
    return ok ? 0 : 1
  } catch (error) {
    if (!json || !isSousError(error)) await host.printFault(error)
    else {
      const { code, message, mend } = error
      host.print(`${JSON.stringify({ ok: false, code, message, mend })}\n`)
    }
    return 1
  }
}

async function findAll(session: Session): Promise<Finding[]> {
  const { loaded, cwd, host } = session
  const surroundings = { cwd, projectDir: loaded.folders.root ?? cwd, env: host.env }
  const [known, permissions] = await withKit(session, async (kit) => [
    kit.describe(),
    await kit.permissions(runOptions(session)),
  ])
  const findings: Finding[] = [...loaded.warnings, ...permissions.warnings].map((problem) => {
    return { level: "warning", what: "", problem }
  })
  for (const { ok, error, from } of known.plugins) {
    if (!ok) findings.push({ level: "error", what: "", problem: `Plugin left out: ${error ?? from}` })
  }
  for (const source of loaded.hooks.sources) {
    const what = `${source.event} hook of ${placeOf(source.origin)}: `
    const found = [scriptFinding(source, surroundings), matcherFinding(source, known)]
    findings.push(...found.flatMap((one) => (one ? [{ what, ...one }] : [])))
  }
  for (const { event, origin } of loaded.hooks.notRaised) {
    findings.push({
      level: "warning",
      what: `${event} hook of ${placeOf(origin)}: `,
      problem: "the event is not raised here",
    })
  }
  return findings
}
