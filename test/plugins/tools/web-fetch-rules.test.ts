/**
 * WebFetch under real rules: what decides before it runs, and what its rules let it reach when it does.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { PermissionCall } from "../../../core/permission/decision.ts"
import { createWebRules } from "../../../core/permission/web.ts"
import { webFetchTool } from "../../../plugins/tools/web-fetch.ts"
import { decideIn, type Folders, makeProject, rulesOf, type TestRules } from "../../core/permission/fixture.ts"
import { lastResults, runPrompt } from "../../harness.ts"
import { createSite, page, redirect, type Site } from "./web-site.ts"

let folders: Folders & { remove(): Promise<void> }
let site: Site
beforeAll(async () => {
  folders = await makeProject()
  site = await createSite({
    "/": page("text/plain", "here"),
    "/out": redirect("http://169.254.169.254/"),
    "/in": redirect("/secret"),
    "/secret": page("text/plain", "hidden"),
  })
})
afterAll(async () => {
  await folders.remove()
  await site.close()
})

function callOf(url: string): PermissionCall {
  const input = { url, prompt: "summarise" }
  const targets = webFetchTool.targets!(input, { cwd: folders.project })
  return { tool: "WebFetch", ruleName: "WebFetch", input, readOnly: true, targets }
}

const one: TestRules = { allow: ["WebFetch(domain:example.com)"] }
const below: TestRules = { allow: ["WebFetch(domain:*.example.com)"] }
const label: TestRules = { allow: ["WebFetch(domain:example.*)"] }
const notEvil: TestRules = { allow: ["WebFetch"], deny: ["WebFetch(domain:evil.com)", "WebFetch(domain:*.evil.com)"] }

describe("decide() on a call of WebFetch", () => {
  it.each<[TestRules, string, string, string]>([
    [one, "https://example.com@evil.com/", "ask", "a user name"],
    [one, "https://evil.com\\@example.com/", "ask", "a backslash ends the host"],
    [one, "https://example.com%00.evil.com/", "ask", "an encoded NUL"],
    [one, "http://example.com:8080/", "allow", "the rule names the host, whatever the port"],
    [one, " https://evil.com/", "ask", "a leading blank"],
    [one, "https://EXAMPLE.com/", "allow", "case"],
    [one, "https://example.com/%2e%2e/x", "allow", "an encoded path"],
    [label, "https://example.evil.com/", "ask", "a wildcard crosses no dot"],
    [label, "https://example.org/", "allow", "a wildcard for one label"],
    [below, "https://a.example.com.evil.com/", "ask", "a suffix"],
    [below, "https://a.b.example.com/x", "allow", "any depth"],
    [notEvil, "https://user:pw@evil.com/", "deny", "a user name hides no host"],
    [notEvil, "https://sub.evil.com/", "deny", "a subdomain"],
    [{}, "https://huggingface.co/api/attacker/download?x=canary", "ask", "no host is allowed without a rule"],
    [{ mode: "acceptEdits" }, "https://example.com/", "ask", "it is no edit"],
    // The host is allowed; that the server leads on is seen when it answers: the test of redirects below.
    [one, "https://example.com/redirect?to=http://169.254.169.254/", "allow", "the host that is asked first"],
  ])("%j %s: %s, %s", async (rules, url, behavior) => {
    const { mode = "default" } = rules
    const decision = await decideIn(folders, callOf(url), rulesOf(rules, folders), { mode })
    expect(decision.behavior, decision.reason).toBe(behavior)
  })
})

describe("createWebRules()", () => {
  const webOf = (rules: TestRules, grants: string[] = [], url = "https://example.com/a") =>
    createWebRules(
      rulesOf(rules, folders),
      () => callOf(url),
      () => grants.map((text) => ({ text, behavior: "allow", scope: "session" })),
    )

  it.each<[TestRules, string]>([
    [{ allow: ["WebFetch(domain:127.0.0.1)"] }, "127.0.0.1"],
    [{ allow: ["WebFetch(domain:LOCALHOST.)"] }, "localhost"],
    [{ allow: ["WebFetch(domain:[::1])"] }, "[::1]"],
    [{ ordered: ["allow WebFetch(domain:10.0.0.5)"] }, "10.0.0.5"],
    [{ net: ["127.0.0.1:3000"] }, "127.0.0.1"],
    [{ net: ["a.test", "[::1]"] }, "[::1]"],
  ])("%j names %s", (rules, host) => {
    const web = webOf(rules)
    expect([web.names(host), web.names("127.0.0.2")]).toEqual([true, false])
  })

  it.each<TestRules>([
    {},
    { allow: ["WebFetch"] },
    { allow: ["WebFetch(*)"] },
    { allow: ["WebFetch(domain:*)"] },
    { allow: ["WebFetch(domain:127.0.0.*)"] },
    { allow: ["WebFetch(127.0.0.1)"] },
    { allow: ["Other(domain:127.0.0.1)"] },
    { deny: ["WebFetch(domain:127.0.0.1)"], ask: ["WebFetch(domain:127.0.0.1)"] },
    { ordered: ["deny WebFetch(domain:127.0.0.1)"] },
    { net: true },
    { net: ["*"] },
    { net: ["*.0.0.1"] },
    { all: true },
  ])("%j names no host", (rules) => {
    expect(webOf(rules).names("127.0.0.1")).toBe(false)
  })

  it("takes what a person always allows for this conversation", () => {
    expect(webOf({}, ["WebFetch(domain:localhost)"]).names("localhost")).toBe(true)
  })

  it.each<[TestRules, string, boolean, string]>([
    [{}, "https://example.com/secret", false, "there is no rule"],
    [{ deny: ["WebFetch(https://example.com/secret*)"] }, "https://example.com/secret", true, "a denied address"],
    [
      { ask: ["WebFetch(https://example.com/secret*)"] },
      "https://example.com/secret",
      true,
      "nobody was asked about it",
    ],
    [{ ordered: ["deny WebFetch(*secret*)"] }, "https://example.com/secret", true, "an ordered rule"],
    [
      { ask: ["WebFetch", "WebFetch(domain:example.com)"] },
      "https://example.com/b",
      false,
      "the answer holds for the host",
    ],
    [{ deny: ["WebFetch(domain:evil.com)"] }, "https://evil.com/", true, "a denied host"],
  ])("%j guards %s: %s, %s", (rules, url, guarded) => {
    expect(webOf(rules).guards(url)).toBe(guarded)
  })
})

describe("WebFetch in a run", () => {
  const turns = (path: string) => [
    { tool: { WebFetch: { url: site.origin + path, prompt: "what?" } } },
    { text: "done" },
  ]
  const rule = (behavior: "allow" | "deny", text: string) => ({ text, behavior, scope: "cli" as const })

  it("reaches loopback when a flag names it", async () => {
    const { bodies } = await runPrompt(turns("/"), { flags: { allow: { net: ["127.0.0.1"] }, deny: {} } })
    expect(lastResults(bodies[1])).toEqual([{ isError: false, text: expect.stringMatching(/here$/) }])
  })

  it("does not reach it by a rule for all hosts, and says what would", async () => {
    const before = site.seen.length
    const { bodies } = await runPrompt(turns("/"), { rules: [rule("allow", "WebFetch")] })
    expect(lastResults(bodies[1])).toEqual([
      { isError: true, text: expect.stringContaining("WebFetch(domain:127.0.0.1)") },
    ])
    expect(site.seen).toHaveLength(before)
  })

  it("is not even called without a rule", async () => {
    const { bodies, result } = await runPrompt(turns("/"))
    expect(lastResults(bodies[1])[0]?.text).toContain("No rule allows WebFetch")
    expect(result.status).toBeDefined()
  })

  it("hands a redirect to another host back", async () => {
    const { bodies } = await runPrompt(turns("/out"), { rules: [rule("allow", "WebFetch(domain:127.0.0.1)")] })
    const [result] = lastResults(bodies[1])
    expect(result).toEqual({ isError: false, text: expect.stringContaining("was not followed") })
    expect(result?.text).toContain("https://169.254.169.254/")
  })

  it("hands a redirect back that a deny rule speaks of", async () => {
    const rules = [rule("allow", "WebFetch(domain:127.0.0.1)"), rule("deny", "WebFetch(*/secret)")]
    const { bodies } = await runPrompt(turns("/in"), { rules })
    expect(lastResults(bodies[1])[0]?.text).toContain("was not followed")
    expect(site.seen.at(-1)).toBe("GET /in")
  })
})
