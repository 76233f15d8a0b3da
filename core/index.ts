/**
 * The public surface: all that plugins and recipes import as "sous". What is not named here is private.
 */

export { z } from "zod"
export type { ErrorCode, ErrorDetails } from "./error.ts"
export { formatError, isSousError, nearestName, SousError, suggest } from "./error.ts"
export type { EventBody, HookOutcome, PluginReport, RunEvent } from "./event.ts"
export { EVENT_VERSION } from "./event.ts"
export type { Hook, HookAnswer, HookEvent, HookHandler, HookPayload, Hooks } from "./hook.ts"
export { allow, ask, block, HOOKS, inject, pass, rewrite } from "./hook.ts"
export type * from "./message.ts"
export type * from "./model.ts"
export { createModelFault, isModelFault } from "./model.ts"
export type * from "./permission/decision.ts"
export type * from "./plugin.ts"
export { definePlugin } from "./plugin.ts"
export type * from "./step.ts"
export type * from "./tool.ts"
export { defineTool } from "./tool.ts"
