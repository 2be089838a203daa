/** The cookie of the house at companies' previews: who is signed in, or which browser asked for a code. */
import type { IncomingMessage } from "node:http"
import { cookieIn } from "../../frame/http/passing/cookies.ts"

/** Of this very host, over TLS or on this machine, and out of reach of what the company publishes. */
export const COOKIE = "__Host-preview"

/** What a browser was given; null for nothing. */
export function tokenOf({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const token = cookieIn(headers.cookie, COOKIE)
  return token !== null && /^[\w-]{43}$/.test(token) ? token : null
}

/** Gives a browser something for a time. */
export function cookieOf(token: string, lastsMs: number): string {
  const rest = "Path=/; Secure; HttpOnly; SameSite=Lax"
  return `${COOKIE}=${token}; Max-Age=${Math.floor(lastsMs / 1_000)}; ${rest}`
}
