/**
 * WebFetch: a web address → the page's text as markdown, or an image.
 *
 * Invariant: nothing of it is loaded before it is called; what it may reach is said by rules and flags, never by a page.
 */
import { defineTool, type Tool, z } from "sous"
import { answering } from "./refusal.ts"
import type { WebOptions } from "./web-visit.ts"

const input = z.strictObject({
  url: z.string().min(1),
  prompt: z.string().describe("What to look for in the page"),
})
type Input = z.output<typeof input>

/** Makes the tool; a run uses `webFetchTool`. */
export function createWebFetch(options: WebOptions = {}): Tool<Input> {
  return defineTool({
    name: "WebFetch",
    description:
      "Fetch a web page: HTML as markdown, other text as it is, images. You get the page itself, nobody answers the prompt for you. http becomes https; a redirect to another host is told, not followed. Kept for 15 minutes. No logins.",
    input,
    readOnly: true,
    concurrencySafe: true,
    targets: ({ url }) => [{ kind: "url", url }],
    execute: answering(async (input: Input, context) => {
      const { visit } = await import("./web-visit.ts")
      return await visit(input, context, options)
    }),
  })
}

/** Fetches one page. */
export const webFetchTool = createWebFetch()
