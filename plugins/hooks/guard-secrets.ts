/**
 * Guard: a command or address that holds a secret in plain text → refused, with what to write instead.
 *
 * Invariant: what it says never repeats the secret; a secret that is only named (`$TOKEN`) passes.
 */
import { block, definePlugin, type HookAnswer, type HookPayload, z } from "sous"

const pattern = z.string().refine(isPattern, { error: "expected a regular expression" })

const settings = z.strictObject({
  /** Which tools are looked at: a matcher. */
  tools: z.string().default("Bash|WebFetch"),
  /** Further shapes, by what they are. */
  shapes: z.record(z.string(), pattern).default({}),
  /** Regular expressions; what one of them fits is no secret: examples, test keys. */
  except: z.array(pattern).default([]),
})
type Settings = z.output<typeof settings>

/** Shapes that nothing but a secret has, by what they are. Each is bounded, so that a long text costs no more than its length. */
const SHAPES: Readonly<Record<string, RegExp>> = {
  "an Anthropic key": /\bsk-ant-[\w-]{20,}/,
  "an OpenAI key": /\bsk-(?=[\w-]{0,100}\d)[\w-]{32,200}/,
  "an AWS access key": /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  "a GitHub token": /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})/,
  "a GitLab token": /\bglpat-[\w-]{20,}/,
  "a Google key": /\bAIza[\w-]{35}/,
  "a Slack token": /\bxox[abprs]-[\w-]{10,}/,
  "a Stripe key": /\b[rs]k_live_[A-Za-z0-9]{16,}/,
  "an npm token": /\bnpm_[A-Za-z0-9]{36}\b/,
  "a private key": /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  "a signed token": /\beyJ[\w-]{10,600}\.eyJ[\w-]{10,}\.[\w-]{10,}/,
  "a password in an address": /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@$'"]{1,100}:[^\s/@$'"]{6,200}@/,
  "a token in a header": /\bauthorization:\s*(?:bearer|basic|token)\s+[\w.~+/=-]{16,}/i,
}

/** A name that says that its value is secret. */
const SECRET_NAME = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)/i

/** The shortest value of a variable that is looked for: shorter ones stand in many a command by chance. */
const LEAST_CHARS = 8

export default definePlugin({
  name: "guard-secrets",
  required: true,
  settings: settings.default(() => settings.parse({})),
  setup({ settings: given, env }) {
    const look = createLook(given as Settings, env)
    return {
      hooks: {
        PreToolUse: {
          matcher: (given as Settings).tools,
          description: "no secrets in commands",
          handler: (event) => judge(event, look),
        },
      },
    }
  },
})

/** What a text holds that it should not, in words; undefined: nothing. */
type Look = (text: string) => string | undefined

function createLook({ shapes, except }: Settings, env: Readonly<Record<string, string | undefined>>): Look {
  const all = [
    ...Object.entries(SHAPES),
    ...Object.entries(shapes).map(([what, text]) => [what, new RegExp(text)] as const),
  ]
  const harmless = except.map((text) => new RegExp(text))
  const values = Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined && value.length >= LEAST_CHARS ? [{ name, value }] : [],
  )
  return (text) => {
    const known = values.find(({ value }) => text.includes(value))
    if (known) return `the value of ${known.name}; write "$${known.name}" instead`
    for (const [what, shape] of all) {
      for (const [found] of text.matchAll(new RegExp(shape, `${shape.flags}g`))) {
        if (!harmless.some((one) => one.test(found)))
          return `${what}; put it into an environment variable, and name that`
      }
    }
    return undefined
  }
}

function judge({ tool_input }: HookPayload<"PreToolUse">, look: Look): HookAnswer | undefined {
  for (const text of textsIn(tool_input)) {
    const found = look(text)
    if (found !== undefined) return block(`The call holds ${found}`)
  }
  return undefined
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value
  else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) yield* textsIn(one)
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
