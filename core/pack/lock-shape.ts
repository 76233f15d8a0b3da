/**
 * The shape of `sous.lock`: what is written down of each pack, and nothing else.
 *
 * Invariant: strict: a key that is not here, a path that leaves its pack, and a source that is not pinned are refused.
 */
import { z } from "zod"
import { isInsidePath, isPackName } from "./name.ts"

/** Grows when an older reader would misread a lock. */
export const LOCK_VERSION = 1

/** A sum over the bytes of an archive. Source: https://www.w3.org/TR/SRI/ */
const integrity = z
  .string()
  .regex(/^sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2}$/, "expected an integrity of sha256 or more")

const text = z.string().min(1)
const list = z.array(text).optional()
const path = text.refine(isInsidePath, { error: "expected a path inside the pack" })
const version = text.regex(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/, "expected a version")

/** Where bytes came from, exactly. */
const resolved = text.refine(isPinned, {
  error: "expected one that is pinned: an archive of https or of a registry, a folder, or a repository with #COMMIT",
})

const lockedHook = z.strictObject({
  event: text,
  matcher: z.string().optional(),
  dialect: z.enum(["native", "claude-code"]),
  does: z.string(),
  if: text.optional(),
  onFailure: z.enum(["block", "ask", "allow"]).optional(),
  async: z.union([z.boolean(), z.literal("rewake")]).optional(),
  once: z.literal(true).optional(),
  timeoutMs: z.number().positive().optional(),
  /** Of an address: what is sent along, and the variables whose values may stand in it. */
  headers: z.record(z.string(), z.string()).optional(),
  env: list,
  /** Of a question: the model that is asked, and whether its no is told to the agent instead of ending the turn. */
  model: text.optional(),
  continueOnBlock: z.boolean().optional(),
})

const content = {
  version,
  apiVersion: z.int().positive(),
  capabilities: z.strictObject({ tools: list, exec: list, net: list, env: list, read: list, write: list }),
  plugins: z.array(path).optional(),
  recipes: z.array(path).optional(),
  hooks: z.array(lockedHook).optional(),
  permissions: z.strictObject({ allow: list, ask: list, deny: list }).optional(),
  adds: z
    .strictObject({
      hooks: list,
      models: list,
      agents: list,
      recipes: list,
      context: list,
      compaction: list,
      judges: z.boolean().optional(),
    })
    .optional(),
  unused: z.record(z.string(), z.array(z.string())).optional(),
  dialect: z.literal("claude-code").optional(),
  modules: z.record(path, text).optional(),
}

/** A package of a registry: what somebody wrote into a lock never makes anything else of it. */
const archive = text.refine(isWeb, { error: "expected the address of an archive in a registry" })

const dependency = z.strictObject({ version, resolved: archive, integrity })

const entry = z
  .strictObject({
    ...content,
    source: text,
    resolved,
    integrity: integrity.optional(),
    tree: z.string().regex(/^[0-9a-f]{64}$/, "expected a sha256"),
    dependencies: z.record(path, dependency).optional(),
    inProcess: z.literal(true).optional(),
  })
  .refine(({ resolved: from, integrity: sum }) => sum !== undefined || /^(?:git\+|file:)/.test(from), {
    path: ["integrity"],
    error: "an archive has to have one",
  })

/** A whole lock. */
export const lockSchema = z.strictObject({
  lockVersion: z.literal(LOCK_VERSION),
  packs: z.record(text.refine(isPackName, { error: "expected the name of a pack" }), entry),
})

export type LockedHook = z.output<typeof lockedHook>
/** The part of an entry that the content itself says. */
export type LockedContent = z.output<z.ZodObject<typeof content>>
/** A package that a pack needs, in its own `node_modules`. */
export type LockedDependency = z.output<typeof dependency>
/** All that is written down of one pack. */
export type LockEntry = z.output<typeof entry>

/** True for what is fetched from an address, and neither cloned nor read from this disk. */
export function isWeb(from: string): boolean {
  return /^https?:\/\/./.test(from) && URL.canParse(from)
}

function isPinned(from: string): boolean {
  if (from.startsWith("git+"))
    return /^git\+(?:https|ssh|file):[^#]+#[0-9a-f]{40}(?:[0-9a-f]{24})?(?:::path:[^#]+)?$/.test(from)
  return isWeb(from) || from.startsWith("file:")
}
