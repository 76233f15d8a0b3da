/**
 * A web address from a model → the address as it is fetched, and the network addresses that a connection may go to.
 *
 * Invariant: a host is resolved once, every address that it has is checked, and a connection goes to one of these; what
 * is not plainly public is reached only when a rule or flag names that very address.
 *
 * Source: the IANA registries of special-purpose addresses (RFC 6890), RFC 6761 for localhost.
 */
import type { LookupAddress } from "node:dns"
import { lookup } from "node:dns/promises"
import { BlockList, isIP } from "node:net"
import type { ToolContext } from "sous"
import { Refused } from "./refusal.ts"

/** What the rules say; see `ToolContext`. */
export type WebRules = NonNullable<ToolContext["web"]>

/** Finds all addresses of a host; dns.lookup when none is given. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** Longer addresses carry data out rather than name a page. In characters. */
const MAX_URL_CHARS = 2000

/** Reads a web address strictly. Throws Refused for what browsers and servers could take for different things. */
export function parseAddress(text: string): URL {
  const trimmed = text.trim()
  const refuse = (why: string) => new Refused(`"${clip(trimmed)}" is not fetched: ${why}`)
  if (trimmed.length > MAX_URL_CHARS) throw refuse(`it has more than ${MAX_URL_CHARS} characters; use a shorter one`)
  if (/[\s\p{Cc}\\]/u.test(trimmed))
    throw refuse("it holds blanks, control characters or backslashes; percent-encode them")
  if (/%00/.test(trimmed)) throw refuse("it holds an encoded NUL; leave it out")
  if (!URL.canParse(trimmed)) throw refuse("it is no web address; give the whole of one, with https://")
  const url = new URL(trimmed)
  if (!/^https?:$/.test(url.protocol)) throw refuse(`${url.protocol} is not http or https; use another tool for it`)
  if (/^\w+:\/*[^/?#]*@/.test(trimmed)) throw refuse("it holds a user name or an @ before the host; leave that out")
  url.hash = ""
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1)
  return url
}

/**
 * Turns http into https. Left as they are: localhost and addresses of numbers that a rule or flag names, since those
 * seldom have a certificate.
 */
export function upgradeAddress(url: URL, rules: WebRules): URL {
  const plain = (isIP(bare(url.hostname)) !== 0 || isLocalhost(url.hostname)) && rules.names(url.hostname)
  if (url.protocol !== "http:" || plain) return url
  const upgraded = new URL(url)
  upgraded.protocol = "https:"
  return upgraded
}

/** Resolves the host of an address. Throws Refused when it has none, or one that may not be reached. */
export async function resolveAddress(
  url: URL,
  options: { rules: WebRules; find?: Lookup | undefined; signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const host = bare(url.hostname)
  const family = isIP(host)
  const addresses = family === 0 ? await findAddresses(host, options) : [{ address: host, family }]
  checkAddresses(url, addresses, options.rules)
  return addresses
}

/** Throws Refused when one of the addresses is neither public nor named. */
export function checkAddresses(url: URL, addresses: readonly LookupAddress[], rules: WebRules): void {
  const refused = addresses.find((one) => !isPublic(one) && !isNamed(url.hostname, one, rules))
  if (refused === undefined) return
  const named = isLocalhost(url.hostname) ? url.hostname : hostOf(refused)
  const where = named === url.hostname ? "is" : `is at ${refused.address},`
  throw new Refused(
    `"${url.hostname}" ${where} a local, private or reserved address, which WebFetch does not reach. A person can allow it with --allow-net=${named} or the rule "WebFetch(domain:${named})"`,
  )
}

/** True for an address that anybody on the internet can reach, and that is no form of another address. */
export function isPublic({ address, family }: LookupAddress): boolean {
  const [plain = ""] = address.split("%")
  if (family === 4) return isIP(plain) === 4 && !SPECIAL.check(plain, "ipv4")
  return isIP(plain) === 6 && UNICAST.check(plain, "ipv6") && !SPECIAL.check(plain, "ipv6")
}

function isNamed(host: string, one: LookupAddress, rules: WebRules): boolean {
  return (
    rules.names(hostOf(one)) || (isLocalhost(host) && LOOPBACK.check(one.address, typeOf(one)) && rules.names(host))
  )
}

async function findAddresses(
  host: string,
  { find = findAll, signal }: { find?: Lookup | undefined; signal: AbortSignal },
): Promise<readonly LookupAddress[]> {
  const found = await untilAborted(find(host), signal).catch((error: NodeJS.ErrnoException) => {
    if (signal.aborted) throw error
    const why = error.code === "EAI_AGAIN" ? "the name server does not answer" : "no such host is known"
    throw new Refused(`"${host}" cannot be reached: ${why}`)
  })
  if (found.length === 0) throw new Refused(`"${host}" cannot be reached: it has no address`)
  return found
}

function findAll(host: string): Promise<LookupAddress[]> {
  return lookup(host, { all: true })
}

/** A lookup in the system's own library cannot be ended, only left alone. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener("abort", onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}

/** A network address as the host of a URL: one spelling for each. */
function hostOf({ address, family }: LookupAddress): string {
  const [plain = ""] = address.split("%")
  return family === 6 ? new URL(`http://[${plain}]/`).hostname : plain
}

function isLocalhost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost")
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, "")
}

function typeOf({ family }: LookupAddress): "ipv4" | "ipv6" {
  return family === 6 ? "ipv6" : "ipv4"
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

const LOOPBACK = listOf(["127.0.0.0/8", "::1/128"])

/** All that is given out for hosts of IPv6; mapped, NAT64, unique-local, link-local and multicast addresses lie outside. */
const UNICAST = listOf(["2000::/3"])

const SPECIAL = listOf([
  "0.0.0.0/8", // this network, unspecified
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; a cloud's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // a cloud's metadata
  "169.254.0.0/16", // link-local; most clouds' metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; a cloud's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relay
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
  "2001::/23", // protocol assignments, Teredo among them
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "3fff::/20", // documentation
])

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = "", bits] = range.split("/")
    list.addSubnet(network, Number(bits), network.includes(":") ? "ipv6" : "ipv4")
  }
  return list
}
