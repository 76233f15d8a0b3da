/**
 * What is known of Anthropic's models without asking: limits, prices, efforts. Data with a date.
 *
 * Invariant: a figure that could not be found is absent, never guessed; settings beat the prices, the Models API the
 * limits.
 *
 * Source: https://platform.claude.com/docs/en/about-claude/models/overview and …/about-claude/pricing
 */
import type { Effort, ModelLimits, Price } from "sous"

/** The day on which the figures below were looked up. */
export const KNOWN_AS_OF = "2026-11-29"

/** What the provider goes by for one model. */
export interface KnownModel {
  limits: ModelLimits
  /** USD per million tokens; cache writes at the price of five minutes. */
  price?: Price
  /** In rising order; empty: the model takes none. */
  efforts: readonly Effort[]
  structuredOutput: boolean
  /** True: it thinks unless told not to, and shows nothing of it unless asked (`thinking.display`). */
  hidesThinking: boolean
}

/** Short names for the newest model of a line. */
export const ALIASES: Readonly<Record<string, string>> = {
  fable: "claude-fable-5-2",
  opus: "claude-opus-5-5",
  sonnet: "claude-sonnet-5-5",
  haiku: "claude-haiku-5-5",
}

/** What is known of an id, a dated one (`claude-haiku-4-5-20251001`) included. */
export function knownModel(id: string): KnownModel | undefined {
  const undated = id.replace(/-\d{8}$/, "")
  return [id, undated].filter((one) => Object.hasOwn(KNOWN, one)).map((one) => KNOWN[one])[0]
}

/** All ids of the table. */
export function knownIds(): string[] {
  return Object.keys(KNOWN)
}

const LONG: ModelLimits = { contextWindow: 1_000_000, maxOutput: 128_000 }
const SHORT: ModelLimits = { contextWindow: 200_000, maxOutput: 64_000 }
const TO_HIGH: readonly Effort[] = ["low", "medium", "high"]
const WITH_MAX: readonly Effort[] = [...TO_HIGH, "max"]
const ALL: readonly Effort[] = [...TO_HIGH, "xhigh", "max"]

const KNOWN: Readonly<Record<string, KnownModel>> = {
  "claude-fable-5-2": thinker(price(8, 40, 0.2, 10)),
  "claude-mythos-5-2": thinker(),
  "claude-fable-5-1": thinker(price(10, 50, 0.25, 12.5)),
  "claude-mythos-5-1": thinker(price(10, 50, 0.25, 12.5)),
  "claude-fable-5": thinker(price(10, 50, 1, 12.5)),
  "claude-mythos-5": thinker(price(10, 50, 1, 12.5)),
  "claude-opus-5-5": thinker(price(4, 20, 0.2, 5)),
  "claude-opus-5": thinker(price(5, 25, 0.5, 6.25)),
  "claude-opus-4-8": plain(LONG, ALL, price(5, 25, 0.5, 6.25)),
  "claude-opus-4-7": plain(LONG, ALL, price(5, 25, 0.5, 6.25)),
  "claude-opus-4-6": plain(LONG, WITH_MAX, price(5, 25, 0.5, 6.25)),
  "claude-opus-4-5": plain(SHORT, TO_HIGH, price(5, 25, 0.5, 6.25)),
  "claude-sonnet-5-5": thinker(price(2, 10, 0.1, 2.5)),
  "claude-sonnet-5": thinker(price(2, 10, 0.2, 2.5)),
  "claude-sonnet-4-6": plain(LONG, WITH_MAX, price(3, 15, 0.3, 3.75)),
  "claude-sonnet-4-5": plain(SHORT, [], price(3, 15, 0.3, 3.75)),
  "claude-haiku-5-5": thinker({
    ...price(0.1, 0.5, 0.01, 0.125),
    longPrompt: { above: 100_000, ...price(0.5, 2.5, 0.05, 0.625) },
  }),
  "claude-haiku-4-5": plain(SHORT, [], price(1, 5, 0.1, 1.25)),
}

function price(input: number, output: number, cacheRead: number, cacheWrite: number): Price {
  return { input, output, cacheRead, cacheWrite }
}

/** A model of the fifth generation: large, with every effort, thinking by itself. */
function thinker(cost?: Price): KnownModel {
  const known = { limits: LONG, efforts: ALL, structuredOutput: true, hidesThinking: true }
  return cost === undefined ? known : { ...known, price: cost }
}

function plain(limits: ModelLimits, efforts: readonly Effort[], cost: Price): KnownModel {
  return { limits, efforts, price: cost, structuredOutput: true, hidesThinking: false }
}
