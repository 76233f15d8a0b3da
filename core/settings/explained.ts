/**
 * What is said about one key of the settings: the value in force, who set it, what that beat, what was ignored and why.
 *
 * Invariant: plain data, printed by `sous config --json` as it is.
 */
import type { Origin } from "../permission/decision.ts"
import type { MergeRule } from "./schema.ts"

/** A value with the place that set it. */
export interface ExplainedValue extends Origin {
  value: unknown
  /** Of a record: which of its names; dotted where records lie in records. */
  name?: string
  /** A person granted it when asked: on this day (ISO 8601, UTC). */
  granted?: string
}

/** A value that does not count. */
export interface IgnoredSetting extends ExplainedValue {
  /** Dotted, as in its file. */
  path: string
  /** One clause. */
  reason: string
}

/** All about one key. */
export interface ExplainedSetting {
  /** Dotted. */
  key: string
  /** Left out: no key of ours. */
  sentence?: string
  merge?: MergeRule
  default?: unknown
  /** What is in force; left out: nothing. */
  value?: unknown
  /** Keys with one value: who set it; left out: nobody. */
  by?: Origin
  /** Lists: each entry. Records: each name. Strongest scope first. */
  entries?: ExplainedValue[]
  beaten: ExplainedValue[]
  ignored: IgnoredSetting[]
  /** What a start makes of it beyond that, one sentence. */
  note?: string
}
