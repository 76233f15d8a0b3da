/**
 * A text as it stands in a file → whether it holds what looks like a secret, and the text with that masked.
 *
 * Invariant: names of variables, placeholders in brackets and references to secrets that lie elsewhere are none; every
 * pattern is bounded, so that no text makes it slow.
 */

/** A shape of secrets; the group `secret` is what nobody should read, and without it all of the match. */
const SHAPES: readonly { what: string; pattern: RegExp }[] = [
  { what: "a JSON web token", pattern: /\beyJ[\w-]{8,1000}\.[\w-]{8,2000}\.[\w-]{0,1000}/g },
  { what: "an API key", pattern: /\b(?:sk|pk|rk)[-_](?:ant|live|test|proj|or)[-_][\w-]{4,}/g },
  { what: "an API key", pattern: /\bsk-[A-Za-z0-9]{20,}/g },
  { what: "a token of GitHub", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/g },
  { what: "a token of GitLab", pattern: /\bglpat-[\w-]{16,}/g },
  { what: "a token of Slack", pattern: /\bxox[abeoprs]-[\w-]{10,}/g },
  { what: "a key of AWS", pattern: /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g },
  { what: "a key of Google", pattern: /\bAIza[\w-]{30,}/g },
  { what: "a token of npm", pattern: /\bnpm_[A-Za-z0-9]{30,}/g },
  { what: "a private key", pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*/g },
  {
    what: "a password in an address",
    pattern: /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@'"]{0,100}:(?<secret>[^\s/:@'"$<{*]{3,200})@/gi,
  },
  {
    what: "a token in a header",
    pattern: /\bauthorization\s*:\s*(?:bearer|basic|token)\s+(?<secret>[^\s'"$<{*]{8,})/gi,
  },
  {
    what: "a key in a header",
    pattern: /\b(?:x-)?(?:api[-_]?key|auth[-_]?token|access[-_]?token)\s*:\s*(?<secret>[^\s'"$<{*]{8,})/gi,
  },
  {
    what: "a secret in a variable",
    pattern:
      /\b\w{0,60}(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PGPASSWORD|ACCESS_KEY|PRIVATE_KEY)=(?:"|')?(?<secret>[^\s'"$<{*`]{8,})/g,
  },
]

const MASK = "[masked]"

/** What the text seems to hold, for a sentence; undefined: nothing that looks like a secret. */
export function secretIn(text: string): string | undefined {
  return SHAPES.find(({ pattern }) => new RegExp(pattern.source, pattern.flags).test(text))?.what
}

/** The text with whatever looks like a secret masked. */
export function maskText(text: string): string {
  return SHAPES.reduce(
    (masked, { pattern }) =>
      masked.replace(pattern, (whole: string, ...rest: unknown[]) => {
        const secret = (rest.at(-1) as { secret?: string } | undefined)?.secret
        return secret === undefined || typeof rest.at(-1) === "string" ? MASK : whole.replace(secret, MASK)
      }),
    text,
  )
}

const SECRET_NAME =
  /(?:^|_)(?:TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?|JWT|PGPASSWORD|(?:ACCESS|PRIVATE|SIGNING|ENCRYPTION|MASTER|AUTH)_KEYS?)(?:_|$)/i

/** Names of variables that end so hold sizes and limits. */
const NO_SECRET_NAME = /_(?:TOKENS|BUDGET|LIMIT|URL|HOST|PATH|FILE|TTL|TTL_MS|COUNT|MAX)$/i

/** What a variable of an `env` block seems to hold: told by its name, or by its value. */
export function secretInVariable(name: string, value: string): string | undefined {
  if (/^\s*$|^\$|\$\{|^<.*>$|^\{env:/.test(value)) return undefined
  if (SECRET_NAME.test(name) && !NO_SECRET_NAME.test(name) && !/^\d+$/.test(value))
    return "what its name calls a secret"
  return secretIn(value)
}
