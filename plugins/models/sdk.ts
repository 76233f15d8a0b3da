/**
 * The part of the SDK that is loaded: its client, with connection, retries and streams, without the classes of every
 * endpoint, which are three quarters of its size and of the time it takes to load.
 *
 * Invariant: only ever imported lazily; whoever wants a type imports it as a type.
 */

export { BaseAnthropic } from "@anthropic-ai/sdk/client"
