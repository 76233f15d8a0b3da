/**
 * The words of Memory: what is done with which note.
 *
 * Invariant: a note is meant by its name, never by a path.
 */
import { z } from "sous"

/** The name of the note that stands for all of them. */
export const INDEX = "MEMORY"

/** What a call says. */
export const memoryInput = z.strictObject({
  command: z.enum(["view", "write", "edit", "delete"]),
  name: z.string().optional().describe(`Default ${INDEX}`),
  content: z.string().optional().describe("Whole, for write"),
  old_string: z.string().optional(),
  new_string: z.string().optional(),
})
export type MemoryInput = z.output<typeof memoryInput>
