/**
 * `sous context [SESSION]`: what occupies the window of a session, or of a new conversation here.
 *
 * Invariant: no hook runs, no model is asked, and nothing is written.
 */
import { given } from "../settings/given.ts"
import type { CommandLine } from "./command-line.ts"
import { windowText } from "./context-text.ts"
import type { Host } from "./host.ts"
import { openSession, runOptions, withKit } from "./session.ts"
import { readStored } from "./stored-session.ts"

/** Returns 0. Throws CLI_… and SESSION_… errors, and what broken settings throw. */
export async function context(line: CommandLine, host: Host): Promise<number> {
  const { args, values } = line
  const [word] = args
  const session = await openSession(line, { ...host, openAsker: async () => undefined })
  const stored = word === undefined ? undefined : await readStored(word, session)
  const { system, appendSystemPrompt: appendSystem, tools } = values
  const options = { ...runOptions(session), ...given({ system, appendSystem, tools, entries: stored?.entries }) }
  const survey = await withKit(session, (kit) => kit.context(options), { isSurvey: true })
  const warnings = [...session.loaded.warnings, ...(stored?.warnings ?? []), ...survey.warnings]
  for (const warning of warnings) host.tell(`! ${warning}`)
  const { warnings: _, ...shown } = survey
  const subject = given({ session: stored?.id })
  if (values.json) host.print(`${JSON.stringify({ ...subject, ...shown, warnings })}\n`)
  else host.print(host.escape(windowText(survey, { ...subject, isWhole: values.verbose ?? false })))
  return 0
}
