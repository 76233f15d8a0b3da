/**
 * The entry "sous/testing": recipes run offline, models without a network, a server that speaks the
 * Messages API, and the laws of a loop.
 */

export type { Turn, TurnInput } from "../models/turn.ts"
export { loadScript } from "../models/turn-file.ts"
export type { TurnMaker } from "../models/turn-list.ts"
export { checkAppendOnly, checkConversation, type GrowingRequest } from "./check.ts"
export { type RecipeRun, type RunRecipeOptions, runRecipe } from "./run.ts"
export {
  createModelServer,
  type ModelServer,
  type ModelServerOptions,
  type ServedRequest,
  type TurnSource,
} from "./server.ts"
export { cassette, type StandIn, scriptModel } from "./stand-in.ts"
