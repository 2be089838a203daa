/**
 * The cookies of the console: who is signed in, and which browser asked for a code. Over TLS they are of this
 * very host and of no other of its domain (`__Host-`); on this machine alone browsers have no TLS.
 */
import type { AsSent } from "../frame/routes/declare/route.ts"
import { fieldOf } from "../frame/routes/call.ts"
import { tokenCookie, tokenIn } from "../frame/sign-in/browsers.ts"

/** What a browser keeps: the session, or that it asked for a code. */
export type Kept = "session" | "sign-in"

/** What the browser of a call keeps; null for nothing. */
export function keptIn(sent: Pick<AsSent, "headers">, kept: Kept): string | null {
  return tokenIn(sent.headers["cookie"]?.join("; "), nameOf(sent, kept))
}

/** Has a browser keep something for a time; 0 ends it. */
export function keeping(
  sent: Pick<AsSent, "headers">,
  kept: Kept,
  token: string,
  lastsMs: number,
): string {
  return tokenCookie(nameOf(sent, kept), token, lastsMs, isThisMachine(sent))
}

const nameOf = (sent: Pick<AsSent, "headers">, kept: Kept): string =>
  isThisMachine(sent) ? kept : `__Host-${kept}`

/** Whether a browser asks its own machine, by its host name. */
function isThisMachine(sent: Pick<AsSent, "headers">): boolean {
  const host = (fieldOf(sent, "host") ?? "").replace(/:\d+$/, "").toLowerCase()
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]"
}
