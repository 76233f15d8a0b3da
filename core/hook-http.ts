/**
 * A URL as a hook: the event as a POST body, and the JSON of a 2xx response as the answer.
 *
 * Invariant: no status blocks by itself; a header gets only those variables that it was allowed by name; a redirect is
 * not followed, and no body is read beyond its bound.
 */
import { type Heard, lateFailure, type Outside } from "./hook-ending.ts"
import type { HookForm } from "./hook-source.ts"

type HttpForm = Extract<HookForm, { type: "http" }>

/** How much of a response is read, bytes. */
const BODY_BYTES = 2 ** 20

/** Posts the event and hears the answer. */
export async function postHook({ json, source, surroundings, limits }: Outside, form: HttpForm): Promise<Heard> {
  const { signal, timeoutMs } = limits
  const time = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(form.url, {
      method: "POST",
      body: json,
      headers: { ...headersOf(form, surroundings.env), "content-type": "application/json" },
      redirect: "manual",
      signal: AbortSignal.any([signal, time]),
    })
    const { status } = response
    const body = await readBody(response)
    if (body === undefined) return { failure: `its answer is longer than ${BODY_BYTES} bytes`, exit: status }
    if (!response.ok) return { failure: `it answered with the status ${status}`, exit: status }
    // A native hook may answer what it likes beside an answer; the other protocol knows nothing but JSON here.
    const isForeign = source.dialect === "claude-code" && body.trim() !== "" && !body.trimStart().startsWith("{")
    if (isForeign) return { failure: "it answered with something that is no JSON object", exit: status }
    return { exit: 0, status, stdout: body, stderr: "" }
  } catch (error) {
    if (signal.aborted) return { calledOff: true }
    if (time.aborted) return { failure: lateFailure(timeoutMs) }
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException }
    return { failure: `it could not be reached: ${cause?.code ?? cause?.message ?? message}` }
  }
}

function headersOf({ headers = {}, headerEnv = [] }: HttpForm, env: Readonly<Record<string, string | undefined>>) {
  const fill = (value: string) =>
    value.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, bare) => {
      const name = braced ?? bare
      return headerEnv.includes(name) ? (env[name] ?? "") : ""
    })
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]))
}

/** The whole body, or undefined when it is too long. */
async function readBody(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}
