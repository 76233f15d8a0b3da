import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { childEnvironment, maskSecrets, secretValues } from "../../core/env.ts"

describe("childEnvironment()", () => {
  it.each([
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "github_token",
    "npm_config_//registry.npmjs.org/:_authToken",
    "DB_PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    "SSH_PRIVATE_KEY",
    "STRIPE_APIKEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLIENT-SECRET",
    "TOKEN",
  ])("keeps %s from a child", (name) => {
    expect(childEnvironment({ [name]: "value", PATH: "/bin" })).toEqual({ PATH: "/bin" })
  })

  it.each([
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "TOKENIZERS_PARALLELISM",
    "SECRETARY",
    "KEYBOARD",
    "SSH_AUTH_SOCK",
    "MONKEY_KEY",
    "AWS_REGION",
    "npm_config_user_agent",
  ])("hands %s on", (name) => {
    expect(childEnvironment({ [name]: "value" })).toEqual({ [name]: "value" })
  })

  it("hands on what is named, and what is set, last", () => {
    const env = { GITHUB_TOKEN: "g", NPM_TOKEN: "n", PATH: "/bin", EMPTY: undefined }
    expect(childEnvironment(env, { pass: ["NPM_TOKEN"] })).toEqual({ NPM_TOKEN: "n", PATH: "/bin" })
    expect(childEnvironment(env, { pass: true, set: { PATH: "/usr/bin", API_KEY: "k" } })).toEqual({
      GITHUB_TOKEN: "g",
      NPM_TOKEN: "n",
      PATH: "/usr/bin",
      API_KEY: "k",
    })
  })
})

describe("maskSecrets()", () => {
  const mask = (text: string, env: Record<string, string>) => maskSecrets(text, secretValues(env))

  it("puts the name in the place of the value", () => {
    expect(mask("GET / token=abcdefgh1 abcdefgh1", { GITHUB_TOKEN: "abcdefgh1" })).toBe(
      "GET / token=[masked GITHUB_TOKEN] [masked GITHUB_TOKEN]",
    )
  })

  it("leaves values alone that are short or whose name is no secret", () => {
    const env = { TOKEN: "true", ANTHROPIC_MODEL: "claude-something", PATH: "/usr/local/bin" }
    expect(mask("true claude-something /usr/local/bin", env)).toBe("true claude-something /usr/local/bin")
  })

  it("prefers the longer of two values", () => {
    expect(mask("abcdefgh12", { A_TOKEN: "abcdefgh", B_TOKEN: "abcdefgh12" })).toBe("[masked B_TOKEN]")
  })

  it("masks the lines of a key that is printed with line numbers", () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nw0BAQEFAASCBKcwggSjA\n-----END PRIVATE KEY-----\n"
    const numbered = "1 -----BEGIN PRIVATE KEY-----\n2 MIIEvQIBADANBgkqhkiG\n3 w0BAQEFAASCBKcwggSjA"
    expect(mask(numbered, { SSH_PRIVATE_KEY: key })).toBe(
      "1 -----BEGIN PRIVATE KEY-----\n2 [masked SSH_PRIVATE_KEY]\n3 [masked SSH_PRIVATE_KEY]",
    )
    expect(mask(`key=${key}`, { SSH_PRIVATE_KEY: key })).toBe("key=[masked SSH_PRIVATE_KEY]\n")
  })

  it("never leaves a value, whatever the values are", () => {
    // Few letters, so that values overlap, contain one another and look like masks.
    const letters = fc.constantFrom("a", "b", "[", "]", "masked ", "X_TOKEN", "█", "$&", "\\", ".")
    const text = fc.array(letters, { maxLength: 40 }).map((parts) => parts.join(""))
    const value = fc.array(letters, { minLength: 8, maxLength: 12 }).map((parts) => parts.join(""))
    const law = (parts: string[], values: string[]) => {
      const secrets = values.map((item) => item.trim()).filter((item) => item.length >= 8)
      const input = parts.flatMap((part, i) => [part, values[i % values.length] ?? ""]).join("")
      const output = mask(input, Object.fromEntries(values.map((item, i) => [`X${i}_TOKEN`, item])))
      return secrets.every((secret) => !output.includes(secret))
    }
    fc.assert(fc.property(fc.array(text, { maxLength: 5 }), fc.array(value, { minLength: 1, maxLength: 4 }), law), {
      numRuns: 500,
    })
  })

  it("never leaves a value that could be read across the edge of a mask", () => {
    const env = { A_TOKEN: "abcdefgh", B_TOKEN: "x[masked", C_TOKEN: "masked A_TOKEN" }
    const output = mask("xabcdefgh", env)
    for (const value of Object.values(env)) expect(output).not.toContain(value)
  })
})
