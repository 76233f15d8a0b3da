/**
 * The process of an isolated plugin: what the host asks on descriptor 3 → answers, until the host closes it.
 *
 * Invariant: it ends with its host, however that ends. What is closed in here is closed before the plugin is loaded; what
 * Node itself keeps from the plugin, the host said when it started the process.
 */
import { Socket } from "node:net"
import { createDecoder, encodeFrame } from "../pack/isolate-frame.ts"
import type { ChildMessage, HostMessage } from "../pack/isolate-message.ts"
import { harden } from "./harden.ts"
import { createService } from "./service.ts"

/** Where the host speaks, and where it answers what a tool asks while it stands still. */
const [MAIN, SIDE] = [3, 4]

harden()
const main = new Socket({ fd: MAIN, readable: true, writable: true })
const leave = () => process.exit(0)
const service = createService({ send, side: SIDE })
const decoder = createDecoder((message) => service.take(message as HostMessage))
main.on("data", (piece: Buffer) => decoder.push(piece))
main.on("end", leave).on("close", leave).on("error", leave)

/** A message that cannot be sent is a fault of whoever made it. */
function send(message: ChildMessage): void {
  main.write(encodeFrame(message))
}
