/**
 * The process of an isolated plugin: what the host asks on stdin → answers on descriptor 3, until the host closes stdin.
 *
 * Invariant: it ends with its host, however that ends. What is closed in here is closed before the plugin is loaded; what
 * Node itself keeps from the plugin, the host said when it started the process.
 */
import { writeSync } from "node:fs"
import { Readable } from "node:stream"
import { createDecoder, encodeFrame } from "../pack/isolate-frame.ts"
import type { ChildMessage, HostMessage } from "../pack/isolate-message.ts"
import { harden } from "./harden.ts"
import { createService } from "./service.ts"

/** Where answers go, and where the host answers what a tool asks while it stands still. */
const [MAIN, SIDE] = [3, 4]

harden()
// Of all pipes that were inherited, some Nodes let only the standard ones be read without the right to use the network.
const { stdin } = process
Object.defineProperty(process, "stdin", { value: Readable.from([]) })
const leave = () => process.exit(0)
const service = createService({ send, side: SIDE })
const decoder = createDecoder((message) => service.take(message as HostMessage))
stdin.on("data", (piece: Buffer) => decoder.push(piece))
stdin.on("end", leave).on("close", leave).on("error", leave)

/** A message that cannot be sent is a fault of whoever made it. Waits for a host that is slow to read. */
function send(message: ChildMessage): void {
  const frame = encodeFrame(message)
  for (let sent = 0; sent < frame.length; ) sent += writeSync(MAIN, frame, sent)
}
