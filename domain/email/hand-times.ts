/** When a mail is handed over again that could not be, or of which nobody knows whether it was. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** After each time that it was put off: sign-in codes want the early ones. */
const AGAIN_AFTER_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS] as const
/** After all of those. */
const AGAIN_EVERY_MS = 4 * HOUR_MS
/** From there on it is bounced. */
const TRIED_FOR_MS = 72 * HOUR_MS
/** Of whom nobody knows whether they have it, it is handed over once more after this. */
const UNKNOWN_AGAIN_AFTER_MS = 15 * MINUTE_MS

/** "Message expired": it was tried for as long as it is (RFC 3463). */
export const EXPIRED = "4.4.7"

/** How often handing over came to what, and when last. */
export interface Tried {
  readonly deferred: number
  readonly unknown: number
  readonly last: "deferred" | "unknown" | null
  readonly at: number
}

/** When it is to be handed over, UTC milliseconds; null where it may not be any more, for two may have it. */
export function dueAt({ deferred, unknown, last, at }: Tried): number | null {
  if (last === null) return at
  if (last === "unknown") return unknown > 1 ? null : at + UNKNOWN_AGAIN_AFTER_MS
  return at + (AGAIN_AFTER_MS[deferred - 1] ?? AGAIN_EVERY_MS)
}

/** Whether what was accepted then is tried no more. */
export const isExpired = (acceptedAt: number, now: number): boolean =>
  now - acceptedAt >= TRIED_FOR_MS
