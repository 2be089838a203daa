/** A call on its way through the checks, and what a check is. */
import type { CompanyStanding } from "../../../domain/access/access.ts"
import type { Ports } from "../ports.ts"
import type { RateLimits } from "./rate-limits.ts"
import type { Refusal } from "./refusal.ts"
import type { Caller, Route } from "./route.ts"
import type { SignIn, Signed } from "./sign-in.ts"

/** A call on its way through the checks. */
export interface Call {
  readonly route: Route
  readonly requestId: string
  readonly authorization: string | undefined
  /** Who it says is signed in; null where it says nothing of that. */
  readonly signIn: SignIn | null
  /** What a sign-in vouches for; the body is there once it was read. */
  readonly signed: () => Signed
  /** Set by the first check. */
  caller: Caller | null
  standing: CompanyStanding | null
}

/** What the checks work with. */
export interface CheckPorts {
  readonly ports: Ports
  readonly rates: RateLimits
}

/** One check: null lets the call pass. */
export interface Check {
  readonly name: string
  readonly refuse: (checking: CheckPorts, call: Call) => Promise<Refusal | null>
}
