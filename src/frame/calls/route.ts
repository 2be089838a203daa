/**
 * A route is data: from it come the router, the checks it passes, the OpenAPI document and the test
 * that holds it against the specification's table.
 */
import type { ZodType } from "zod"
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { Key } from "../../../domain/access/access.ts"
import type { Person } from "../../../domain/access/grants.ts"
import type { Operation } from "../../../domain/access/operations.ts"
import type { Permission, Role } from "../../../domain/access/permissions.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"
import type { SentFile } from "./files.ts"
import type { Looked } from "./read-position.ts"
import type { RateName } from "./rate-limits.ts"
import type { ErrorCode, Refusal } from "./refusal.ts"

/** Who calls, as far as the checks have found out. */
export interface Caller {
  readonly companyId: CompanyId
  readonly key: Key
  /** The key's person, or the person signed in through a shared key; null for neither. */
  readonly person: Person | null
  readonly spender: Spender
  readonly requestId: string
}

/** A request after its checks: every part has the type of its schema. */
export interface Checked<B, Q> {
  readonly body: B
  readonly query: Q
  /**
   * Ids of the work derive from this, so that carrying a request out again finds what was done.
   * With an `Idempotency-Key` it is the same for the same request and attempt.
   */
  readonly seed: Seed
}

/** What ids derive from. */
export interface Seed {
  readonly parts: readonly string[]
  /** The next attempt's seed: for when the charge of this one was given back. */
  readonly next: () => Promise<Seed>
}

/** What a handler answers. */
export type Reply<R> =
  | {
      readonly ok: true
      readonly body: R
      /** Default 200. */
      readonly status?: 200 | 202
      /** Where the facts of this command stand; sent as `Ledger-Position`. */
      readonly position?: Position | null
      /** What is sent instead of the body, of a route with `files`. */
      readonly file?: SentFile
    }
  | {
      readonly ok: false
      readonly refusal: Refusal
      /** Whether it stands for every request with this `Idempotency-Key`; default it frees the key. */
      readonly isFinal?: boolean
      /** Where the facts stand that were recorded on the way to it, where some were. */
      readonly position?: Position | null
    }

/**
 * What came of a request that was begun before, by a process that died or left it in doubt: its
 * answer, or the seed to begin with, from the checks on.
 */
export type Resumed<R> = { readonly reply: Reply<R> } | { readonly seed: Seed }

/** What an account may have to have: a card that is paid up, any card, or a verified one. */
export type AccountNeed = "managed" | "card" | "verified card"

/** What happens once for ever, by an `Idempotency-Key` that must be given. */
export interface OnceForEver<B, Q, R> {
  /** The answer while another request with the key is still being carried out. */
  readonly inProgress: (ports: Ports, caller: Caller, input: Checked<B, Q>) => Promise<Reply<R>>
  /** The codes it can have ended with, which the same request is then told again. */
  readonly ends: readonly ErrorCode[]
  /** How what was answered as done (200) or not done yet (202) stands now. */
  readonly replay: (ports: Ports, caller: Caller, answered: R) => Promise<Reply<R>>
}

/** A route of the API. */
export interface Route<B = unknown, Q = unknown, R = unknown> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly url: string
  /** The group of the specification it stands in. */
  readonly group: string
  /** One line for the document. */
  readonly summary: string
  /** What the key must be granted; null where the route has no operation of its own. */
  readonly operation: Operation | null
  /** What the key must be granted besides. */
  readonly also?: readonly Operation[]
  /** What the key's person must hold, beside what the operation asks for. */
  readonly permissions?: readonly Permission[]
  /** Who alone may call it. */
  readonly roles?: readonly Role[]
  /** The code for those without the role; default `not_allowed`. */
  readonly roleRefusal?: ErrorCode
  /** Whether it takes a person's own key only, and never the app's shared one. */
  readonly personKey?: boolean
  /** Whether a call is counted as an API call, and stops when the general limit is used up. */
  readonly counted: boolean
  /** Whether a locked account's calls pass: who would pay must not be kept out by the lock. */
  readonly passesLock?: boolean
  /** Which rate limit it counts towards. */
  readonly limit?: RateName
  /** False where it is open to everybody: then no caller is known, and no check of one is made. */
  readonly auth?: false
  /** How many bytes a body may have; default 1 MiB. */
  readonly bodyLimitBytes?: number
  /** What the company's account must have. */
  readonly account?: AccountNeed
  /** Whether it charges, and so takes an `Idempotency-Key`. */
  readonly charged?: boolean
  /** Whether it is no charge and still happens once, for ever, by its `Idempotency-Key`. */
  readonly once?: OnceForEver<B, Q, R>
  readonly body?: ZodType<B>
  readonly query?: ZodType<Q>
  readonly reply: ZodType<R>
  /** The content types of the files that it answers with; default JSON. */
  readonly files?: readonly string[]
  /** The statuses of its answers; default 200. */
  readonly success?: readonly number[]
  /** The codes it can refuse with, beside those of the checks. */
  readonly refuses?: readonly ErrorCode[]
  /** What its refusals say, where the document's shared example of a code is not about it. */
  readonly says?: Readonly<Partial<Record<ErrorCode, string>>>
  /** Why a choice was made where the specification is silent. */
  readonly specGap?: string
  /** Why it is there though the specification does not name it. */
  readonly beyondSpec?: string
  /** The read models it reads, whose progress a caller may wait for. */
  readonly reads?: readonly string[]
  /** Whose state it looks at beside them: for a caller who names a place, as it is at the tail. */
  readonly looks?: readonly Looked[]
  readonly handle: (ports: Ports, caller: Caller, input: Checked<B, Q>) => Promise<Reply<R>>
  /**
   * Goes on with what was begun before. It was let in then, so it runs before the account, the
   * limits and the permissions are looked at: they may refuse by now what it has already paid for.
   */
  readonly resume?: (ports: Ports, caller: Caller, input: Checked<B, Q>) => Promise<Resumed<R>>
}

/** Checks a route's types where it is written, and forgets them for the list of all routes. */
export function route<B, Q, R>(spec: Route<B, Q, R>): Route {
  return spec as unknown as Route
}

/** A route that is open to everybody: its handler is given no caller. */
interface OpenRoute<B, Q, R> extends Omit<
  Route<B, Q, R>,
  | "auth"
  | "operation"
  | "also"
  | "permissions"
  | "roles"
  | "roleRefusal"
  | "personKey"
  | "counted"
  | "passesLock"
  | "handle"
  | "resume"
  | "charged"
> {
  readonly handle: (ports: Ports, input: Checked<B, Q>) => Promise<Reply<R>>
}

/** The same as `route` for one that needs no key. */
export function openRoute<B, Q, R>(spec: OpenRoute<B, Q, R>): Route {
  const { handle, ...rest } = spec
  return route<B, Q, R>({
    ...rest,
    auth: false,
    operation: null,
    counted: false,
    handle: (ports, _nobody, input) => handle(ports, input),
  })
}
