/** Calls the API of a listening server over HTTP. */
import { expectContract } from "./api-contract.ts"
import type { World } from "./world.ts"

/**
 * Returns a function like `World.call` for a server; it checks every answer against the contract.
 *
 * @throws TypeError if the connection ends before the answer
 */
export function apiCallerAt(server: string, { timeoutMs = 60_000 } = {}): World["call"] {
  return async (key, method, url, { body, headers } = {}) => {
    const json = typeof body === "object"
    const sent = json ? JSON.stringify(body) : (body as string)
    const answer = await fetch(`${server}${url}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(json ? { "content-type": "application/json" } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: sent }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await answer.text()
    const type = String(answer.headers.get("content-type"))
    const received = {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: type.startsWith("application/json") ? (JSON.parse(text) as unknown) : text,
    }
    // An HTML page is a proxy's own answer.
    if (!type.startsWith("text/html")) expectContract(method, url, received)
    return received
  }
}
