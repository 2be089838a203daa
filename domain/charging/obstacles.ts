/**
 * What stands against a call in its company's ledger before anything is decided, in the order of the
 * checks (decisions.md §1): the company was deleted, the key's own limit is used up, the account is
 * locked, a general limit is used up. Where nothing does, the call is counted in the same visit.
 */
import { accountOf, usedUpLimit } from "./ledger-views.ts"
import type { Ledger } from "./ledger-state.ts"
import type { ServedCall } from "./calls.ts"
import type { LimitReading, Spender } from "./limits.ts"
import { callFault, serveCall } from "./served-calls.ts"

/** What stands against a call: the limit that is used up, or what became of the company. */
export type Obstacle = "closed" | "locked" | LimitReading

/** Which of them stop a call; that a company was deleted always does. */
export interface CallChecks {
  readonly spender: Spender
  readonly lockStops: boolean
  readonly limitsStop: boolean
  readonly ownLimitStops: boolean
}

/** The first that stands against a call; null where nothing does. */
export function obstacleTo(
  state: Ledger,
  { spender, lockStops, limitsStop, ownLimitStops }: CallChecks,
  at: number,
): Obstacle | null {
  const { closed, locked } = accountOf(state)
  if (closed) return "closed"
  const limit = usedUpLimit(state, spender, at)
  if (ownLimitStops && limit?.holder === "key") return limit
  if (lockStops && locked) return "locked"
  return limitsStop ? limit : null
}

/** A call that is let in and counted at once; `checks` are left out where they were made before. */
export interface EnteringCall extends ServedCall {
  readonly checks?: CallChecks
}

/** Lets a call in and counts it, unless something stands against it: then nothing changes. */
export function enterCall(state: Ledger, call: EnteringCall, at: number): Obstacle | null {
  return checked(state, call, at) ?? serveCall(state, call, at)
}

/** What `enterCall` would say. Changes nothing. */
export function entryFault(state: Ledger, call: EnteringCall, at: number): Obstacle | null {
  return checked(state, call, at) ?? callFault(state, call, at)
}

function checked(state: Ledger, { checks }: EnteringCall, at: number): Obstacle | null {
  return checks === undefined ? null : obstacleTo(state, checks, at)
}
