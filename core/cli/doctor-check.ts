/**
 * What `sous doctor` looks at, as an ordered list: the machine first, then this person's folders, then this project.
 *
 * Invariant: each check stands by itself: what one finds broken keeps no other from being made.
 */

import { findFolders, findLocks } from "./doctor-folder.ts"
import { findGit, findNode, findSearch, findTerminal } from "./doctor-machine.ts"
import { findHooks, findModel, findPacks, findPlugins, findSettings, findTrust } from "./doctor-place.ts"
import type { DoctorCheck } from "./doctor-row.ts"

/** In the order of the answer. */
export const DOCTOR_CHECKS: readonly DoctorCheck[] = [
  { what: "node", find: findNode },
  { what: "git", find: findGit },
  { what: "search", find: findSearch },
  { what: "terminal", find: findTerminal },
  { what: "folders", find: findFolders },
  { what: "locks", find: findLocks },
  { what: "model", find: findModel },
  { what: "trust", find: findTrust },
  { what: "settings", find: findSettings },
  { what: "hooks", find: findHooks },
  { what: "plugins", find: findPlugins },
  { what: "packs", find: findPacks },
]
