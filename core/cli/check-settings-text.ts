/**
 * The values of a settings file → what is odd about them although they may stand there, by a table.
 *
 * Invariant: each row speaks about what a file of that scope can do; what the loader refuses or leaves out is its own to
 * tell.
 */
import { basename } from "node:path"
import type { SettingsDocument } from "../settings/document.ts"
import type { SettingsScope } from "../settings/merge.ts"
import { type Finding, placeIn } from "./check-finding.ts"
import { secretInVariable } from "./check-secret.ts"

/** What a row looks at. */
export interface SettingsText {
  file: string
  text: string
  form: "own" | "claude" | "hooks"
  scope: SettingsScope
  document: SettingsDocument
  value: Readonly<Record<string, unknown>>
}

type Said = Omit<Finding, "file" | "line" | "column" | "level"> &
  Partial<Pick<Finding, "level">> & { path: readonly string[] }
type Row = (given: SettingsText) => readonly Said[]

/** All that the rows say; `level` where a row names none: warning. */
export function oddSettings(given: SettingsText): Finding[] {
  return ROWS.flatMap((row) =>
    row(given).map(({ path, ...said }) => ({
      level: "warning" as const,
      ...placeIn(given.file, given.document.at, path),
      ...said,
    })),
  )
}

/** Variables that decide where requests go and what is loaded into a process. */
const REDIRECTS =
  /^(?:ANTHROPIC_(?:BASE_URL|API_KEY|AUTH_TOKEN|CUSTOM_HEADERS)|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|PATH|(?:LD|DYLD)_\w+|SOUS_\w+|HTTPS?_PROXY|ALL_PROXY|BASH_ENV|ENV|GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|CONFIG\w*))$/i

const MANAGED_ONLY = ["allowManagedHooksOnly", "allowManagedPermissionRulesOnly", "allowManagedMcpServersOnly"]

const ROWS: readonly Row[] = [
  function otherName({ file, scope }) {
    const name = basename(file)
    if (scope === "cli" || scope === "managed" || /\.(?:json|ya?ml|ts)$/.test(name)) return []
    const right = name.replace(/(?:\.json)?\.(?:jsonc|json5|example|sample|template|dist|bak)$/, "") || "settings"
    const problem = `settings are not read under the name "${name}"`
    return [{ path: [], what: "", problem, mend: `name it "${right}.json" where it should count` }]
  },
  function comments({ form, text, file }) {
    if (form !== "claude" || !file.endsWith(".json") || isStrict(text)) return []
    const problem =
      "it holds comments or a comma too many: it is read here, and Claude Code itself refuses the whole file"
    return [{ level: "note", path: [], what: "", problem, mend: "" }]
  },
  function servers({ form, value }) {
    // In ours it is an unknown key.
    if (form === "own" || !("mcpServers" in value)) return []
    const problem = "MCP servers are not read from settings"
    return [{ path: ["mcpServers"], what: '"mcpServers"', problem, mend: "put them into .mcp.json" }]
  },
  function secrets({ scope, value }) {
    return variables(value).flatMap(([name, text]) => {
      const found = secretInVariable(name, text)
      if (found === undefined) return []
      const isShared = scope === "project" || scope === "cli"
      const problem = `${name} holds ${/^what/.test(found) ? found : `what looks like ${found}`}${isShared ? ", for everybody who gets the project" : ""}`
      const mend = "set the variable in the environment instead"
      return [
        { level: isShared ? "warning" : "note", path: ["env", name], what: `"env.${name}"`, problem, mend } as const,
      ]
    })
  },
  function redirects({ scope, value }) {
    return variables(value).flatMap(([name]) => {
      if (!REDIRECTS.test(name) || scope === "managed") return []
      const ofProject = scope === "project" || scope === "local"
      const problem = `${name} redirects the toolkit itself${ofProject ? "; a project sets it only once it is trusted" : ""}`
      const level = ofProject ? "warning" : "note"
      return [
        {
          level,
          path: ["env", name],
          what: `"env.${name}"`,
          problem,
          mend: "set it for yourself where it is meant",
        } as const,
      ]
    })
  },
  function managedOnly({ scope, value }) {
    if (scope === "managed") return []
    return MANAGED_ONLY.filter((key) => key in value).map((key) => {
      return { path: [key], what: `"${key}"`, problem: "only managed settings can set it", mend: "remove it here" }
    })
  },
  function mode({ form, scope, value }) {
    const { defaultMode } = (value.permissions ?? {}) as { defaultMode?: unknown }
    if (form !== "own" || (defaultMode !== "bypassPermissions" && defaultMode !== "auto")) return []
    const ofProject = scope === "project" || scope === "local"
    const does = defaultMode === "auto" ? "a classifier answers in place of a person" : "nothing is asked"
    const problem = `in the mode ${defaultMode} ${does}${ofProject ? ", for everybody who trusts the project" : " in any project"}`
    return [
      {
        path: ["permissions", "defaultMode"],
        what: '"permissions.defaultMode"',
        problem,
        mend: "choose it with --mode where it is meant",
      },
    ]
  },
]

function isStrict(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function variables({ env }: SettingsText["value"]): [string, string][] {
  if (typeof env !== "object" || env === null) return []
  return Object.entries(env).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : []))
}
