/**
 * Every fault that a person must act on: code → sentence and mend.
 *
 * Invariant: a code that is thrown nowhere, or that no test reaches, does not land.
 */
import { nearestName, suggest } from "./name.ts"

/** Counts from 1. */
interface Place {
  line?: number
  column?: number
}
function placeOf({ line = 1, column = 1 }: Place): string {
  return `${line}:${column}`
}

/** A name in quotes; what was quoted before, with its file behind it, stays as it is. */
function quoted(name: string): string {
  return name.startsWith('"') ? name : `"${name}"`
}

/** The ids of the newest sessions, to choose from. */
function newestOf(ids: readonly string[]): string {
  return ids.length === 0
    ? `start one with a prompt: there is none yet in this folder`
    : `name one that "sous sessions" lists; the newest here: ${ids.join(", ")}`
}

type Entry<D> = (details: D) => { message: string; mend: string }
function entry<D>(make: Entry<D>): Entry<D> {
  return make
}

/**
 * Code → sentence and mend.
 *
 * Areas: AGENT BUDGET CHECKPOINT CLI COMPACTION EXPRESSION HOOK ISOLATION JOURNAL MODEL MODULE PACK PARAM PERMISSION
 * PLUGIN RECIPE REWIND RUN SESSION SETTINGS SH STEP TOOL TREE TRUST WORK.
 */
export const ERRORS = {
  CLI_VALUE_INVALID: entry((d: { flag: string; value: string; wanted: string; mend?: string }) => ({
    message: `Cannot use "${d.value}" for ${d.flag}: it takes ${d.wanted}`,
    mend: d.mend ?? `give ${d.flag} ${d.wanted}`,
  })),
  CLI_VALUE_MISSING: entry((d: { flag: string }) => ({
    message: `Flag "${d.flag}" has no value`,
    mend: `give it one: ${d.flag} VALUE`,
  })),
  CLI_FLAG_UNKNOWN: entry((d: { flag: string; known: string[]; help: string }) => ({
    message: `Unknown flag "${d.flag}"`,
    mend: nearestName(d.flag, d.known) === undefined ? `run "${d.help}" for all flags` : suggest(d.flag, d.known),
  })),
  CLI_FLAG_OF_PROMPT: entry((d: { flag: string }) => ({
    message: `Flag "${d.flag}" goes on with the session of a prompt, and a recipe has none`,
    mend: `leave it out, or write sous "PROMPT" ${d.flag}`,
  })),
  CLI_FLAGS_CONFLICT: entry((d: { one: string; other: string }) => ({
    message: `Cannot use ${d.one} together with ${d.other}`,
    mend: `leave one of the two out`,
  })),
  CLI_COMMAND_UNKNOWN: entry((d: { word: string; mend: string }) => ({
    message: `Unknown command "${d.word}"`,
    mend: d.mend,
  })),
  CLI_ARGUMENT_MISSING: entry((d: { what: string; example: string }) => ({
    message: `No ${d.what} was given`,
    mend: `run, for example, ${d.example}`,
  })),
  CLI_ARGUMENT_UNEXPECTED: entry((d: { argument: string; mend: string }) => ({
    message: `Unexpected argument "${d.argument}"`,
    mend: d.mend,
  })),
  CLI_LINE_INVALID: entry((d: { problem: string; mend: string }) => ({
    message: `Cannot explain this line: ${d.problem}`,
    mend: d.mend,
  })),
  CLI_TABLE_INVALID: entry((d: { file: string; problem: string; mend: string } & Place) => ({
    message: `Cannot use the table "${d.file}" at ${placeOf(d)}: ${d.problem}`,
    mend: d.mend,
  })),
  CLI_TEST_NONE: entry((d: { where: string }) => ({
    message: `There is no test in ${d.where}`,
    mend: "write a *.permissions.yaml table, or a *.test.ts file that imports sous/testing",
  })),
  CLI_TEST_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read the test "${d.file}": ${d.reason}`,
    mend: "name a file or folder that exists",
  })),
  CLI_FOLDER_GONE: entry(() => ({
    message: `The current folder was deleted`,
    mend: `change to a folder that exists and run the command again`,
  })),
  CLI_STALLED: entry(() => ({
    message: `The command waits for something that never happens: a promise in the recipe or in a plugin is never settled`,
    mend: `settle every promise that is awaited, also at the top level of a file`,
  })),
  CLI_INIT_REFUSED: entry((d: { folder: string; reason: string }) => ({
    message: `Cannot make "${d.folder}" a project: ${d.reason}`,
    mend: `run "sous init" in a folder of its own`,
  })),
  CLI_INIT_FAILED: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write "${d.file}": ${d.reason}`,
    mend: `make its folder writable, and run "sous init" again`,
  })),
  CLI_INSIDE_RUN: entry((d: { command: string }) => ({
    message: `Cannot run "sous ${d.command}" from inside a run: no agent may approve itself`,
    mend: "run it in a terminal of your own, where SOUS_SESSION_ID is not set",
  })),
  CLI_OUTPUT_LOST: entry((d: { reason: string }) => ({
    message: `Cannot write to stdout: ${d.reason}`,
    mend: `make room where stdout goes to, or send it elsewhere`,
  })),
  CLI_BYPASS_REFUSED: entry((d: { why: string; mend: string }) => ({
    message: `Cannot start in the mode bypassPermissions: ${d.why}`,
    mend: d.mend,
  })),
  RECIPE_NAME_AMBIGUOUS: entry((d: { name: string; files: string[] }) => ({
    message: `Recipe name "${d.name}" stands for more than one file: ${d.files.join(", ")}`,
    mend: `give the path of the one that is meant`,
  })),
  AGENT_UNKNOWN: entry((d: { name: string; mend: string }) => ({
    message: `Cannot start the agent "${d.name}": no plugin or recipe defines it`,
    mend: d.mend,
  })),
  TOOL_UNKNOWN: entry((d: { entry: string; mend: string }) => ({
    message: `Cannot give an agent the tool "${d.entry}": there is no such tool`,
    mend: d.mend,
  })),
  TOOL_INPUT_INVALID: entry((d: { tool: string; problem: string; mend: string }) => ({
    message: `The input does not fit the tool "${d.tool}": ${d.problem}`,
    mend: d.mend,
  })),
  SETTINGS_FILE_BROKEN: entry((d: { file: string; problem: string } & Place) => ({
    message: `Cannot read settings "${d.file}" at ${placeOf(d)}: ${d.problem}`,
    mend: `correct ${d.file}:${placeOf(d)}`,
  })),
  SETTINGS_FILE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read settings "${d.file}": ${d.reason}`,
    mend: d.reason === "ENOENT" ? `name a file that exists` : `make ${d.file} readable, or remove it`,
  })),
  SETTINGS_RELOAD_FAILED: entry((d: { reason: string }) => ({
    message: `Cannot take over settings that have changed: ${d.reason}`,
    mend: "end the run and start it again",
  })),
  SETTINGS_KEY_UNKNOWN: entry((d: { file: string; key: string; mend: string } & Place) => ({
    message: `Unknown setting "${d.key}" at ${d.file}:${placeOf(d)}`,
    mend: d.mend,
  })),
  SETTINGS_VALUE_INVALID: entry((d: { file: string; key: string; problem: string; mend?: string } & Place) => ({
    message: `${d.key === "" ? "The whole file" : `Setting "${d.key}"`} at ${d.file}:${placeOf(d)} is wrong: ${d.problem}`,
    mend: d.mend ?? `correct ${d.file}:${placeOf(d)}`,
  })),
  SETTINGS_NAME_UNKNOWN: entry((d: { name: string; mend: string }) => ({
    message: `There is no setting "${d.name}"`,
    mend: d.mend,
  })),
  SETTINGS_KEY_MANAGED: entry((d: { name: string; scope: string }) => ({
    message: `Cannot write "${d.name}" into the ${d.scope} settings: it counts in managed settings only`,
    mend: "have the organisation set it in its own settings file",
  })),
  SETTINGS_SCOPE_MISSING: entry((d: { scope: string; mend: string }) => ({
    message: `Cannot write ${d.scope} settings: there is no folder for them here`,
    mend: d.mend,
  })),
  SETTINGS_WRITE_CODE: entry((d: { file: string }) => ({
    message: `Cannot write settings "${d.file}": they are code`,
    mend: `edit ${d.file} by hand`,
  })),
  SETTINGS_WRITE_OUTSIDE: entry((d: { file: string; real: string; reach: string }) => ({
    message: `Cannot write settings "${d.file}": they are a link to "${d.real}", outside of "${d.reach}"`,
    mend: `edit ${d.real} by hand, or put a file in the place of the link`,
  })),
  SETTINGS_WRITE_UNSAFE: entry((d: { file: string; key: string }) => ({
    message: `Cannot write "${d.key}" into "${d.file}": its form does not allow it without changing more`,
    mend: `edit ${d.file} by hand`,
  })),
  SETTINGS_WRITE_FAILED: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write settings "${d.file}": ${d.reason}`,
    mend: `make ${d.file} and its folder writable, and try again`,
  })),
  SETTINGS_CODE_FAILED: entry((d: { file: string; reason: string }) => ({
    message: `Cannot load settings "${d.file}": ${d.reason}`,
    mend: `write "export default { … }" with settings in ${d.file}, and nothing that can fail`,
  })),
  SETTINGS_CODE_TIMEOUT: entry((d: { file: string; seconds: number }) => ({
    message: `Cannot load settings "${d.file}": loading took longer than ${d.seconds} s`,
    mend: `take what waits out of ${d.file}`,
  })),
  PERMISSION_MODE_FORBIDDEN: entry((d: { mode: string; by: string }) => ({
    message: `Cannot start in the mode ${d.mode}: ${d.by} forbids it`,
    mend: `start in another mode`,
  })),
  PERMISSION_GRANTS_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot use the grants in "${d.file}": ${d.reason}`,
    mend: "mend the file, or remove it and grant again what is asked",
  })),
  PERMISSION_GRANTS_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot keep grants in "${d.file}": ${d.reason}`,
    mend: "free space on its disk, or set XDG_STATE_HOME to a folder that is writable",
  })),
  PERMISSION_GRANT_UNKNOWN: entry((d: { grant: string; count: number }) => ({
    message: `Cannot revoke "${d.grant}": this project has ${d.count === 0 ? "no grants" : "no such grant"}`,
    mend: 'list the grants with "sous permissions", and give the rule or the number of one',
  })),
  PERMISSION_RULE_INVALID: entry((d: { rule: string; problem: string; mend: string; from?: string }) => ({
    message: `Cannot use the permission rule "${d.rule}"${d.from === undefined ? "" : ` from ${d.from}`}: ${d.problem}`,
    mend: d.mend,
  })),
  PLUGIN_CLASH: entry((d: { plugin: string; kind: string; name: string; owner: string; prefixes?: boolean }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: the ${d.kind} "${d.name}" was added by ${d.owner} before`,
    mend: d.prefixes
      ? `rename one of the two, leave out one of the plugins, or set "collision": "prefix" where "plugins" names it`
      : `rename one of the two, or leave out one of the plugins`,
  })),
  PLUGIN_TOOL_RESERVED: entry((d: { plugin: string; tool: string }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: its tool "${d.tool}" has a name that is kept for MCP servers`,
    mend: `give the tool a name that does not start with "mcp__"`,
  })),
  PLUGIN_API_VERSION: entry((d: { plugin: string; found: unknown; known: number }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: it is written for version ${JSON.stringify(d.found)} of the contract, this program has ${d.known}`,
    mend:
      typeof d.found === "number" && d.found > d.known
        ? `update sous, or use a release of the plugin for version ${d.known}`
        : `write "apiVersion: ${d.known}" in the plugin, once it fits that version`,
  })),
  PLUGIN_VALUE_INVALID: entry((d: { plugin: string; key: string; problem: string }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: its "${d.key}" ${d.problem}`,
    mend: `correct "${d.key}" of the plugin`,
  })),
  PLUGIN_GUARD_MISSING: entry((d: { plugin: string; file: string; reason: string; guarded: string; mend: string }) => ({
    message: `Cannot start without plugin "${d.plugin}" from "${d.file}", which guards (${d.guarded}): ${d.reason}`,
    mend: d.mend,
  })),
  PLUGIN_MEMORY_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot tell whether a plugin that does not load guarded anything: "${d.file}" is unusable: ${d.reason}`,
    mend: `mend the plugin, or remove ${d.file} if it guarded nothing`,
  })),
  PLUGIN_MEMORY_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot remember which plugins guard in "${d.file}": ${d.reason}`,
    mend: `make it writable, or set XDG_STATE_HOME to a folder that is`,
  })),
  PLUGIN_NOT_REMEMBERED: entry((d: { plugin: string; mend: string }) => ({
    message: `Cannot forget plugin "${d.plugin}": nothing is remembered about it`,
    mend: d.mend,
  })),
  PLUGIN_RELOAD_WEAKENS: entry((d: { plugin: string; lost: string }) => ({
    message: `Cannot reload plugins while running: "${d.plugin}" would no longer guard with ${d.lost}`,
    mend: `start anew to go on without it, or put it back`,
  })),
  PLUGIN_DUPLICATE: entry((d: { plugin: string; owner: string }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: ${d.owner} has that name`,
    mend: `rename one of the two plugins, or list it once`,
  })),
  PLUGIN_KEY_UNKNOWN: entry((d: { plugin: string; key: string; mend: string }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: it has the unknown key "${d.key}"`,
    mend: d.mend,
  })),
  PLUGIN_NAME_INVALID: entry((d: { from: string; name: string }) => ({
    message: `Cannot register the plugin from "${d.from}": its name is "${d.name}", not a kebab-case word`,
    mend: `give it a name of lower-case letters, digits and hyphens`,
  })),
  PLUGIN_REQUIRES: entry((d: { plugin: string; missing: string }) => ({
    message: `Cannot register plugin ${quoted(d.plugin)}: it requires "${d.missing}", which is not registered before it`,
    mend: `list "${d.missing}" before it in "plugins"`,
  })),
  PLUGIN_SETTINGS_INVALID: entry((d: { plugin: string; section?: string; issue: string }) => ({
    message: `Cannot set up plugin ${quoted(d.plugin)}: its settings are invalid: ${d.issue}`,
    mend: `correct "pluginSettings.${d.section ?? d.plugin}" of the settings`,
  })),
  PLUGIN_SETUP_FAILED: entry((d: { plugin: string; reason: string }) => ({
    message: `Cannot set up plugin ${quoted(d.plugin)}: ${d.reason}`,
    mend: `mend the plugin, or leave it out`,
  })),
  PLUGIN_TOO_LATE: entry((d: { plugin: string }) => ({
    message: `Cannot add to plugin ${quoted(d.plugin)}: its setup has ended`,
    mend: `return everything that the plugin adds from its setup`,
  })),
  HOOK_EVENT_UNKNOWN: entry((d: { plugin: string; event: string; known: string[] }) => ({
    message: `Cannot register a hook of plugin "${d.plugin}": there is no event "${d.event}"`,
    mend: suggest(d.event, d.known),
  })),
  HOOK_HANDLER_INVALID: entry((d: { plugin: string; event: string }) => ({
    message: `Cannot register the ${d.event} hook of plugin "${d.plugin}": its handler is not a function`,
    mend: `give it a handler function`,
  })),
  HOOK_MATCHER_INVALID: entry((d: { owner: string; hook: string; matcher: string; reason: string }) => ({
    message: `Cannot use the matcher "${d.matcher}" of hook "${d.hook}" in ${d.owner}: ${d.reason}`,
    mend: `write exact names ("Edit|Write"), a valid regular expression, or no matcher`,
  })),
  HOOK_SCRIPT_MISSING: entry((d: { event: string; place: string; problem: string }) => ({
    message: `Cannot start with the ${d.event} hook of ${d.place}, which would block all that it guards: ${d.problem}`,
    mend: `correct its command, or give it "onFailure": "allow"`,
  })),
  HOOK_FAILED: entry((d: { owner: string; hook: string; reason: string }) => ({
    message: `Hook "${d.hook}" of ${d.owner} failed: ${d.reason}`,
    mend: `mend the hook, or take it out of ${d.owner}`,
  })),
  SESSION_FOLDER_UNWRITABLE: entry((d: { folder: string; reason: string }) => ({
    message: `Cannot make the state folder "${d.folder}": ${d.reason}`,
    mend: `make it writable, or set XDG_STATE_HOME to a folder that is`,
  })),
  SESSION_FOLDER_UNSAFE: entry((d: { folder: string; found: string }) => ({
    message: `Cannot use the state folder "${d.folder}": everybody may write where it stands, and it ${d.found}`,
    mend: `set HOME, set XDG_STATE_HOME to a folder of your own, or remove it`,
  })),
  SESSION_FILE_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write the transcript "${d.file}": ${d.reason}`,
    mend: `free space on its disk, or set XDG_STATE_HOME to a folder that is writable`,
  })),
  SESSION_FILE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read the transcript "${d.file}": ${d.reason}`,
    mend: `name a transcript that exists and that you may read`,
  })),
  SESSION_CORRUPT: entry((d: { file: string; line: number }) => ({
    message: `Cannot read the transcript "${d.file}": line ${d.line}, which says what it is, is no entry`,
    mend: `restore the file from a copy, or start a new session`,
  })),
  SESSION_VERSION_UNKNOWN: entry((d: { file: string; found: unknown; known: number }) => ({
    message: `Cannot read the transcript "${d.file}": its version is ${JSON.stringify(d.found)}, this program reads ${d.known}`,
    mend: `open it with the version of sous that wrote it`,
  })),
  CHECKPOINT_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot keep a file before it is changed, in "${d.file}": ${d.reason}`,
    mend: `free space on its disk, or set XDG_STATE_HOME to a folder that is writable`,
  })),
  CHECKPOINT_LOG_BROKEN: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read what a session changed from "${d.file}": ${d.reason}`,
    mend: `restore the file from a copy, or move it away to go on without what was kept`,
  })),
  CHECKPOINT_CONTENT_BROKEN: entry((d: { path: string; hash: string; folder: string }) => ({
    message: `Cannot put "${d.path}" back: its content ${d.hash.slice(0, 12)} in "${d.folder}" is missing or broken`,
    mend: `restore that folder from a copy, or go back to another turn`,
  })),
  REWIND_TURN_UNKNOWN: entry((d: { turn: string; last: number; session: string }) => ({
    message: `Cannot go back to turn ${d.turn}: session "${d.session}" has ${d.last === 1 ? "1 turn" : `${d.last} turns`}`,
    mend: `name a turn from 0 to ${d.last}: "sous rewind ${d.session}" lists them`,
  })),
  REWIND_CHANGED_SINCE: entry((d: { files: readonly string[] }) => ({
    message: `Cannot put back what was changed since, by somebody else or by a call that was cut off: ${d.files.map((file) => `"${file}"`).join(", ")}`,
    mend: `look at the diff, then run it again with --force: what stands there now is kept for --undo`,
  })),
  REWIND_NOT_ASKED: entry((d: { session: string }) => ({
    message: `Cannot ask whether to rewind session "${d.session}": this is no terminal`,
    mend: `run it again with --yes to put back what is listed`,
  })),
  REWIND_PATH_ELSEWHERE: entry((d: { path: string; real: string }) => ({
    message: `Cannot put "${d.path}" back: a link leads from there to "${d.real}" now`,
    mend: `put the folder back where that link stands, then run it again`,
  })),
  REWIND_FAILED: entry((d: { path: string; reason: string }) => ({
    message: `Cannot put "${d.path}" back: ${d.reason}`,
    mend: `mend that and run it again: it goes on where it stopped`,
  })),
  REWIND_NOTHING_TO_UNDO: entry((d: { session: string }) => ({
    message: `Cannot undo a rewind of session "${d.session}": there is none that stands`,
    mend: `run "sous rewind ${d.session}" for its turns`,
  })),
  COMPACTION_UNKNOWN: entry((d: { name: string; mend: string }) => ({
    message: `There is no compaction strategy "${d.name}"`,
    mend: d.mend,
  })),
  SESSION_LOCKED: entry((d: { id: string; holder: string; lock: string }) => ({
    message: `Session "${d.id}" is being written by ${d.holder}`,
    mend: `wait until that has ended, or go on with a copy: sous "PROMPT" --resume ${d.id} --fork`,
  })),
  SESSION_UNKNOWN: entry((d: { id: string; newest: string[] }) => ({
    message: `There is no session "${d.id}"`,
    mend: newestOf(d.newest),
  })),
  SESSION_AMBIGUOUS: entry((d: { id: string; matches: string[] }) => ({
    message: `Several sessions are meant by "${d.id}"`,
    mend: `name one of them: ${d.matches.join(", ")}`,
  })),
  SESSION_NOT_NAMED: entry((d: { newest: string[] }) => ({
    message: `Flag "--resume" names no session, and nobody has chosen one at a terminal`,
    mend: newestOf(d.newest),
  })),
  SESSION_NONE: entry((d: { folder: string }) => ({
    message: `There is no session to go on with in "${d.folder}"`,
    mend: `start one with a prompt, or go where yours was: "sous sessions --all" says where`,
  })),
  SESSION_ELSEWHERE: entry((d: { id: string; folder: string }) => ({
    message: `Session "${d.id}" belongs to the folder "${d.folder}"`,
    mend: `start in that folder, or go on with a copy here: sous "PROMPT" --resume ${d.id} --fork`,
  })),
  SESSION_REQUEST_INVALID: entry((d: { problem: string; mend: string }) => ({
    message: `Cannot open a session: ${d.problem}`,
    mend: d.mend,
  })),
  SESSION_FILE_FOREIGN: entry((d: { file: string }) => ({
    message: `Cannot go on with "${d.file}": it is a transcript neither of sous nor of Claude Code`,
    mend: `name a session file, or an id that "sous sessions" lists`,
  })),
  SESSION_UNDELETABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot delete "${d.file}": ${d.reason}`,
    mend: `make its folder writable, or delete it by hand`,
  })),
  PLUGIN_LOAD_FAILED: entry((d: { file: string; reason: string }) => ({
    message: `Cannot load plugin "${d.file}": ${d.reason}`,
    mend: `mend ${d.file}, or leave it out`,
  })),
  PLUGIN_LOAD_TIMEOUT: entry((d: { file: string; seconds: number }) => ({
    message: `Cannot load plugin "${d.file}": loading took longer than ${d.seconds} s`,
    mend: `move slow work from the top of ${d.file} into what it adds`,
  })),
  TREE_FILE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read "${d.file}": ${d.reason}`,
    mend: "make it a file that you may read, or take it away",
  })),
  TREE_LINK_OUTSIDE: entry((d: { file: string; target: string; root: string }) => ({
    message: `The link "${d.file}" leads to "${d.target}", outside of "${d.root}"`,
    mend: "put a copy of what it leads to in its place",
  })),
  TREE_TOO_LARGE: entry((d: { root: string; files: number; bytes: number }) => ({
    message: `"${d.root}" holds more than ${d.files} files, or more than ${d.bytes} bytes`,
    mend: "take away what is not needed there",
  })),
  TRUST_CHANGED: entry((d: { file: string }) => ({
    message: `"${d.file}" changed while it was looked at`,
    mend: "run the command again once nobody writes there",
  })),
  TRUST_NOT_ASKED: entry((d: { project: string }) => ({
    message: `Nobody can be asked whether "${d.project}" is trusted: there is no terminal`,
    mend: "look at the list, then run the command on a terminal, or add --yes",
  })),
  TRUST_PROJECT_MISSING: entry((d: { folder: string }) => ({
    message: `"${d.folder}" belongs to no project, so there is no path to follow`,
    mend: "go to the project, or make a .sous folder here",
  })),
  TRUST_STORE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot use what "${d.file}" says about trust: ${d.reason}`,
    mend: `look at the file; "sous trust" makes it anew, "sous trust revoke" takes it away`,
  })),
  TRUST_STORE_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write "${d.file}": ${d.reason}`,
    mend: "make its folder writable, or set XDG_STATE_HOME to another one",
  })),
  PLUGIN_OUTSIDE: entry((d: { file: string }) => ({
    message: `Plugin "${d.file}" lies outside of the project, so that trust in the project does not cover it`,
    mend: 'move it into the project, name it in your own settings, or run "sous trust --follow"',
  })),
  PLUGIN_NOT_FOUND: entry((d: { plugin: string; base: string; reason: string; near?: string | undefined }) => ({
    message: `Cannot find plugin "${d.plugin}" from "${d.base}": ${d.reason}`,
    mend: d.near
      ? `write "${d.near}"`
      : /^(?:[.~/]|file:)/.test(d.plugin)
        ? "correct its path"
        : `correct its path, or install the package "${d.plugin}" there`,
  })),
  PLUGIN_FILE_GONE: entry((d: { file: string; isThere: boolean }) => ({
    message: d.isThere ? `"${d.file}" is no plugin any more` : `The plugin file "${d.file}" is gone`,
    mend: `put ${d.file} back as it was`,
  })),
  MODEL_NOT_CONFIGURED: entry((_: Record<never, never>) => ({
    message: `No model is configured, and the environment holds no key for one`,
    mend: [
      `set ANTHROPIC_API_KEY to use Claude;`,
      `or set ANTHROPIC_BASE_URL and give --model NAME to use a gateway or a local server;`,
      `or give --model script:FILE to work offline, with answers from a file`,
    ].join("\n        "),
  })),
  MODEL_UNKNOWN: entry((d: { id: string; known: readonly string[] }) => ({
    message: `Cannot open the model "${d.id}": no provider takes that id`,
    mend: `name one that ${d.known.join(", ")} takes: "sonnet", or "script:FILE"; for a server of yours set ANTHROPIC_BASE_URL`,
  })),
  MODEL_KEY_MISSING: entry((d: { id: string }) => ({
    message: `Cannot open the model "${d.id}": the environment holds no key for it`,
    mend: `set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; or ANTHROPIC_BASE_URL for a server that wants none`,
  })),
  MODEL_SETTING_INVALID: entry((d: { name: string; value: string; wanted: string }) => ({
    message: `Cannot read ${d.name}: it is "${d.value}", not ${d.wanted}`,
    mend: `set ${d.name} to ${d.wanted}`,
  })),
  MODEL_SCRIPT_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read the scripted model "${d.file}": ${d.reason}`,
    mend: `name a YAML or JSON file with turns, as script:FILE`,
  })),
  MODEL_SCRIPT_INVALID: entry((d: { where: string; problem: string; mend: string }) => ({
    message: `Cannot use the scripted model "${d.where}": ${d.problem}`,
    mend: d.mend,
  })),
  MODEL_TURNS_UNUSED: entry((d: { name: string; turns: readonly number[] }) => ({
    message: `The scripted model "${d.name}" was not asked for ${d.turns.length} of its turns: ${d.turns.join(", ")}`,
    mend: `take them out, or set "unused: ignore" in the script`,
  })),
  MODEL_CASSETTE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read the cassette "${d.file}": ${d.reason}`,
    mend: `record it with --record ${d.file}`,
  })),
  MODEL_CASSETTE_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write the cassette "${d.file}": ${d.reason}`,
    mend: `give --record a file in a folder that can be written`,
  })),
  MODEL_CASSETTE_UNUSED: entry((d: { file: string; unused: number; entries: number }) => ({
    message: `The cassette "${d.file}" was not asked for ${d.unused} of its ${d.entries} answers`,
    mend: `record it again with --record ${d.file}`,
  })),
  PLUGIN_EXPORT_INVALID: entry((d: { from: string; found: string }) => ({
    message: `Cannot load plugin "${d.from}": its default export is ${d.found}`,
    mend: `export definePlugin({ name: … }) as the default from ${d.from}`,
  })),
  ISOLATION_PART_UNSUPPORTED: entry((d: { plugin: string; parts: readonly string[] }) => ({
    message: `Cannot run plugin ${quoted(d.plugin)} in a process of its own: it adds ${d.parts.join(", ")}, which cannot be called from there`,
    mend: `give it "isolation": "none", or leave these out of it`,
  })),
  ISOLATION_UNDERSTATED: entry((d: { plugin: string; adds: readonly string[] }) => ({
    message: `Cannot load plugin ${quoted(d.plugin)}: it adds ${d.adds.join(", ")}, which its capabilities do not cover`,
    mend: `list its tools in "capabilities", and write rules that allow into the settings; or give it "isolation": "none"`,
  })),
  ISOLATION_CAPABILITY_INVALID: entry((d: { plugin: string; kind: string; value: string; problem: string }) => ({
    message: `Cannot give plugin ${quoted(d.plugin)} the capability ${d.kind} "${d.value}": ${d.problem}`,
    mend: `correct "${d.kind}" of its capabilities`,
  })),
  ISOLATION_FOLDER_UNSAFE: entry((d: { plugin: string; folder: string; problem: string; mend: string }) => ({
    message: `Cannot give plugin ${quoted(d.plugin)} its folder "${d.folder}" to read: ${d.problem}`,
    mend: d.mend,
  })),
  ISOLATION_UNAVAILABLE: entry((d: { entry: string }) => ({
    message: `Cannot run a plugin in a process of its own: "${d.entry}" is missing`,
    mend: `build the toolkit with "npm run build", or install it anew`,
  })),
  RECIPE_FILE_MISSING: entry((d: { file: string; near?: string | undefined }) => ({
    message: `Cannot find the recipe "${d.file}"`,
    mend: d.near === undefined ? "name a file that exists" : `write "${d.near}"`,
  })),
  RECIPE_ENDING_UNKNOWN: entry((d: { file: string }) => ({
    message: `Cannot load "${d.file}": its name does not end like a recipe's`,
    mend: "give it one of the endings .ts, .mts, .js, .mjs, .yaml, .yml",
  })),
  RECIPE_EXPORT_INVALID: entry((d: { file: string; found: string }) => ({
    message: `Cannot load the recipe "${d.file}": its default export is ${d.found}`,
    mend: `write "export default recipe({ name: …, description: … }).step(…)" in ${d.file}`,
  })),
  RECIPE_HEAD_INVALID: entry((d: { recipe: string; problem: string }) => ({
    message: `Cannot use the recipe "${d.recipe}": ${d.problem}`,
    mend: "correct what it says about itself, before its steps",
  })),
  RECIPE_KEY_UNKNOWN: entry((d: { recipe: string; key: string; mend: string }) => ({
    message: `Cannot use the recipe "${d.recipe}": it has the unknown key "${d.key}"`,
    mend: d.mend,
  })),
  RECIPE_EMPTY: entry((d: { recipe: string }) => ({
    message: `Cannot run the recipe "${d.recipe}": it has no steps`,
    mend: "add a step",
  })),
  RECIPE_UNKNOWN: entry((d: { name: string; mend: string }) => ({
    message: `Cannot use the recipe "${d.name}": there is none of that name`,
    mend: d.mend,
  })),
  RECIPE_TOO_DEEP: entry((d: { recipe: string; limit: number }) => ({
    message: `Cannot use the recipe "${d.recipe}": recipes may be nested ${d.limit} deep at most`,
    mend: "flatten the recipes, and look for one that uses itself",
  })),
  RECIPE_OUTPUT_FAILED: entry((d: { recipe: string; reason: string }) => ({
    message: `Cannot make the output of the recipe "${d.recipe}": ${d.reason}`,
    mend: "correct the function or the expression that makes its output",
  })),
  RECIPE_YAML_BROKEN: entry((d: { file: string; problem: string } & Place) => ({
    message: `Cannot read the recipe "${d.file}" at ${placeOf(d)}: ${d.problem}`,
    mend: `correct ${d.file}:${placeOf(d)}`,
  })),
  RECIPE_YAML_KEY_UNKNOWN: entry((d: { file: string; key: string; mend: string } & Place) => ({
    message: `Unknown key "${d.key}" at ${d.file}:${placeOf(d)}`,
    mend: d.mend,
  })),
  RECIPE_YAML_INVALID: entry((d: { file: string; problem: string } & Place) => ({
    message: `The recipe is wrong at ${d.file}:${placeOf(d)}: ${d.problem}`,
    mend: `correct ${d.file}:${placeOf(d)}`,
  })),
  MODULE_FILE_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read "${d.file}": ${d.reason}`,
    mend: "name a file that exists and that you may read",
  })),
  MODULE_SYNTAX_INVALID: entry((d: { file: string; problem: string } & Place) => ({
    message: `Cannot compile "${d.file}" at ${placeOf(d)}: ${d.problem}`,
    mend: `correct ${d.file}:${placeOf(d)}`,
  })),
  MODULE_THREW: entry((d: { file: string; reason: string; line?: number | undefined }) => ({
    message: `Cannot load "${d.file}"${d.line === undefined ? "" : ` (line ${d.line})`}: ${d.reason}`,
    mend: `correct what the file does while it loads`,
  })),
  MODULE_IMPORT_MISSING: entry((d: { file: string; specifier: string }) => ({
    message: `Cannot load "${d.file}": there is no module "${d.specifier}"`,
    mend: `correct the import, or install the package "${d.specifier}" beside the file`,
  })),
  EXPRESSION_INVALID: entry((d: { file: string; expression: string; problem: string } & Place) => ({
    message: `The expression "${d.expression}" at ${d.file}:${placeOf(d)} is wrong: ${d.problem}`,
    mend: `correct ${d.file}:${placeOf(d)}`,
  })),
  EXPRESSION_NAME_UNKNOWN: entry(
    (d: { file: string; expression: string; what: string; name: string; mend: string } & Place) => ({
      message: `The expression "${d.expression}" at ${d.file}:${placeOf(d)} names the unknown ${d.what} "${d.name}"`,
      mend: d.mend,
    }),
  ),
  EXPRESSION_RAW: entry((d: { file: string; expression: string } & Place) => ({
    message: `The expression "${d.expression}" at ${d.file}:${placeOf(d)} uses raw(), which a command does not allow`,
    mend: `leave out raw(): in "sh" every expression becomes one quoted word`,
  })),
  EXPRESSION_FAILED: entry((d: { expression: string; reason: string }) => ({
    message: `The expression "${d.expression}" failed: ${d.reason}`,
    mend: "correct the expression, or what it reads",
  })),
  PARAM_UNKNOWN: entry((d: { recipe: string; name: string; mend: string }) => ({
    message: `The recipe "${d.recipe}" has no parameter "${d.name}"`,
    mend: d.mend,
  })),
  PARAM_MISSING: entry((d: { recipe: string; name: string; description?: string | undefined }) => ({
    message: `The recipe "${d.recipe}" needs the parameter "${d.name}"${d.description ? `: ${d.description}` : ""}`,
    mend: `add --param ${d.name}=…`,
  })),
  PARAM_INVALID: entry((d: { recipe: string; name: string; problem: string }) => ({
    message: `The parameter "${d.name}" of the recipe "${d.recipe}" is wrong: ${d.problem}`,
    mend: `correct the value of "${d.name}"; "sous run ${d.recipe} --help" lists what it takes`,
  })),
  PARAM_PAIR_INVALID: entry((d: { text: string }) => ({
    message: `Cannot read the parameter "${d.text}": it has no "="`,
    mend: `write --param ${d.text || "name"}=VALUE`,
  })),
  PARAM_FILE_INVALID: entry((d: { file: string; problem: string }) => ({
    message: `Cannot read the parameters in "${d.file}": ${d.problem}`,
    mend: "name a file that holds one object, as JSON or YAML",
  })),
  WORK_UNENDING: entry((d: { what: string; seconds: number }) => ({
    message: `Gave up on ${d.what}: it did not end within ${d.seconds} seconds`,
    mend: `correct the plugin that does this work, or leave it out`,
  })),
  STEP_ID_INVALID: entry((d: { recipe: string; id: string; problem: string; at?: string | undefined }) => ({
    message: `The recipe "${d.recipe}" has a step "${d.id}"${d.at ? ` at ${d.at}` : ""}: ${d.problem}`,
    mend: `give it another id, of letters, digits and "_"`,
  })),
  STEP_ID_DUPLICATE: entry((d: { recipe: string; id: string; at?: string | undefined }) => ({
    message: `The recipe "${d.recipe}" has two steps "${d.id}"${d.at ? `, the second at ${d.at}` : ""}`,
    mend: "rename one of them",
  })),
  STEP_OPTION_UNKNOWN: entry((d: { kind: string; key: string; mend: string }) => ({
    message: `A step of kind "${d.kind}" has the unknown option "${d.key}"`,
    mend: d.mend,
  })),
  STEP_OPTION_INVALID: entry((d: { kind: string; problem: string }) => ({
    message: `A step of kind "${d.kind}" is declared wrongly: ${d.problem}`,
    mend: "correct the declaration",
  })),
  STEP_DECLARATION_INVALID: entry((d: { step: string; found: string }) => ({
    message: `The step "${d.step}" declares ${d.found}, not a step`,
    mend: "return what agent(), sh`…`, each() or another constructor makes",
  })),
  STEP_MAKE_FAILED: entry((d: { step: string; reason: string }) => ({
    message: `The step "${d.step}" cannot be declared: ${d.reason}`,
    mend: "correct the function or the expression that declares it",
  })),
  STEP_SCRIPT_FAILED: entry((d: { step: string; reason: string }) => ({
    message: `The script of step "${d.step}" failed: ${d.reason}`,
    mend: "correct the script, or catch the error in it",
  })),
  STEP_VALUE_INVALID: entry((d: { step: string; at: string; found: string }) => ({
    message: `The result of step "${d.step}" cannot be kept: "${d.at}" is ${d.found}`,
    mend: `return plain data (text, finite numbers, true, false, null, lists, objects), a date as its ISO text`,
  })),
  STEP_KEY_DUPLICATE: entry((d: { step: string; key: string }) => ({
    message: `The step "${d.step}" has two items with the key "${d.key}"`,
    mend: "give each item a key of its own: each(items, make, { key: (item, index) => … })",
  })),
  STEP_TOOL_UNKNOWN: entry((d: { tool: string; mend: string }) => ({
    message: `Cannot call the tool "${d.tool}": there is none of that name`,
    mend: d.mend,
  })),
  STEP_ROLE_MISSING: entry((d: { kind: string; role: string }) => ({
    message: `Cannot run a step of kind "${d.kind}": no plugin brings a tool of the role "${d.role}"`,
    mend: "add a plugin with such a tool; the default plugins have one",
  })),
  SH_VALUE_INVALID: entry((d: { found: string }) => ({
    message: `Cannot put ${d.found} into a command`,
    mend: "give a text, a number, a boolean or a list of these",
  })),
  SH_VALUE_MISPLACED: entry((d: { place: string; before: string }) => ({
    message: `Cannot put a value ${d.place} of a command, after "${d.before}"`,
    mend: "take the value out of there: it is quoted by itself, as one word",
  })),
  BUDGET_PRICE_UNKNOWN: entry((d: { model: string }) => ({
    message: `Cannot keep a budget in USD: the price of the model "${d.model}" is unknown`,
    mend: `set prices for it in the settings, or limit tokens or turns instead`,
  })),
  JOURNAL_UNWRITABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot write the journal "${d.file}": ${d.reason}`,
    mend: "free space on its disk, or set XDG_STATE_HOME to a folder that is writable",
  })),
  JOURNAL_UNREADABLE: entry((d: { file: string; reason: string }) => ({
    message: `Cannot read the journal "${d.file}": ${d.reason}`,
    mend: "name a run that exists and that you may read",
  })),
  JOURNAL_CORRUPT: entry((d: { file: string; line: number; reason: string }) => ({
    message: `Cannot read the journal "${d.file}": line ${d.line} ${d.reason}`,
    mend: "restore the file from a copy, or run the recipe anew",
  })),
  PACK_NAME_INVALID: entry((d: { name: string }) => ({
    message: `Cannot use "${d.name}" as the name of a pack`,
    mend: "give it a name as npm wants it: lower-case letters, digits, hyphens, with or without @scope/",
  })),
  PACK_MANIFEST_MISSING: entry((d: { from: string }) => ({
    message: `There is no pack in "${d.from}": it has no sous.pack.yaml, no key "sous" in package.json, no .claude-plugin/plugin.json`,
    mend: "name the folder that holds one of these, or write one",
  })),
  PACK_MANIFEST_INVALID: entry((d: { file: string; problem: string; mend: string }) => ({
    message: `Cannot read the pack at ${d.file}: ${d.problem}`,
    mend: d.mend,
  })),
  PACK_API_UNSUPPORTED: entry((d: { pack: string; wants: number; has: number }) => ({
    message: `Cannot use the pack "${d.pack}": it was written for version ${d.wants} of the interface, this program has ${d.has}`,
    mend: d.wants > d.has ? "update sous" : "update the pack",
  })),
  PACK_SOURCE_INVALID: entry((d: { source: string; mend: string }) => ({
    message: `Cannot tell where "${d.source}" is to come from`,
    mend: d.mend,
  })),
  PACK_SOURCE_UNSAFE: entry((d: { source: string; why: string; mend: string }) => ({
    message: `Refused to fetch a pack from "${d.source}": ${d.why}`,
    mend: d.mend,
  })),
  PACK_FETCH_FAILED: entry((d: { source: string; reason: string }) => ({
    message: `Cannot fetch "${d.source}": ${d.reason}`,
    mend: "correct the source, or try again when it can be reached",
  })),
  PACK_DEPENDENCY_REFUSED: entry((d: { pack: string; dependency: string; why: string }) => ({
    message: `Cannot install the pack "${d.pack}": its dependency "${d.dependency}" is refused: ${d.why}`,
    mend: "ask its author to depend on a package of a registry, or to bring the code along",
  })),
  PACK_TOOL_TAKEN: entry((d: { pack: string; tool: string }) => ({
    message: `Cannot add the pack "${d.pack}": its tool "${d.tool}" has the name of a built-in one`,
    mend: "ask its author for another name",
  })),
  PACK_UNKNOWN: entry((d: { pack: string; mend: string }) => ({
    message: `There is no pack "${d.pack}" in the settings of this scope`,
    mend: d.mend,
  })),
  PACK_RENAMED: entry((d: { pack: string; found: string; source: string }) => ({
    message: `Refused to update the pack "${d.pack}": "${d.source}" brings a pack with the name "${d.found}" now`,
    mend: `if that one is meant, run "sous remove ${d.pack}", then "sous add ${d.source}"`,
  })),
  PACK_NOT_CONFIRMED: entry((d: { pack: string; command: string }) => ({
    message: `Nobody has agreed to what the pack "${d.pack}" may do`,
    mend: `read what it may do, then run "${d.command} --yes", or run it in a terminal`,
  })),
  PACK_FROZEN: entry((d: { command: string }) => ({
    message: `Refused to resolve anything for "sous ${d.command}": the lock is frozen`,
    mend: 'run it without --frozen outside of CI, or with --no-frozen; "sous packs install" fetches what is locked',
  })),
  PACK_PLACE_MISSING: entry((d: { scope: string }) => ({
    message: `There is no place for packs of the scope "${d.scope}" here`,
    mend: d.scope === "user" ? "set HOME" : 'run "sous init" in the folder of the project, or use --user',
  })),
  PACK_LOCK_INVALID: entry((d: { file: string; problem: string; mend: string }) => ({
    message: `Cannot use the lock "${d.file}": ${d.problem}`,
    mend: d.mend,
  })),
  PACK_NOT_LOCKED: entry((d: { pack: string; source: string; file: string }) => ({
    message: `Cannot use the pack "${d.pack}": "${d.file}" does not say which content is meant`,
    mend: `run "sous add ${d.source}"`,
  })),
  PACK_SOURCE_DIFFERS: entry((d: { pack: string; source: string; locked: string }) => ({
    message: `Cannot use the pack "${d.pack}": settings want "${d.source}", and what is locked came from "${d.locked}"`,
    mend: `run "sous add ${d.source}", or put "${d.locked}" back into the settings`,
  })),
  PACK_GUARD_BEATEN: entry((d: { pack: string; scope: string; beaten: string }) => ({
    message: `Cannot use the pack "${d.pack}" of the ${d.scope} settings: it would lift the guard with that name which the ${d.beaten} settings have`,
    mend: `bring both to the same content with "sous update", or take one of them out of its settings`,
  })),
  PACK_LOCK_DISAGREES: entry((d: { pack: string; key: string }) => ({
    message: `Cannot use the pack "${d.pack}": its lock and its content disagree about "${d.key}"`,
    mend: "restore sous.lock from version control, or add the pack again",
  })),
  PACK_MISSING: entry((d: { pack: string }) => ({
    message: `The pack "${d.pack}" is not installed here`,
    mend: 'run "sous packs install"',
  })),
  PACK_NOT_INSTALLED: entry((d: { pack: string }) => ({
    message: `The pack "${d.pack}" was not installed here as its lock says now`,
    mend: 'see what changed in sous.lock, then run "sous packs install"',
  })),
  PACK_CHANGED: entry((d: { pack: string; files: readonly string[] }) => ({
    message: `The pack "${d.pack}" is not what it was${d.files.length === 0 ? "" : `, changed in ${d.files.join(", ")}`}: it is not loaded`,
    mend: 'run "sous packs install", which fetches it again',
  })),
  PACK_CONTENT_DIFFERS: entry((d: { pack: string; resolved: string; tree: string; found: string }) => ({
    message: `Refused to install the pack "${d.pack}": "${d.resolved}" is not what was locked (${d.found.slice(0, 12)}, not ${d.tree.slice(0, 12)})`,
    mend: `find out who changed it; "sous update ${d.pack}" shows what is different`,
  })),
  PACK_UNDERSTATES: entry((d: { pack: string; plugin: string; what: string; key: string }) => ({
    message: `Refused the plugin "${d.plugin}" of the pack "${d.pack}": it adds the ${d.what}, which the manifest does not list`,
    mend: `ask its author to list it in "${d.key}"`,
  })),
}
