/**
 * A route is data: from it come the router, the checks it passes, the OpenAPI document and the test
 * that holds it against the specification's table.
 */
import type { ZodType } from "zod"
import { z } from "zod"
import type { Position } from "../../../../adapters/eventstore/port.ts"
import type { ApiKey } from "../../../../domain/access/access.ts"
import type { Person, Operation, Permission, Role } from "../../../../domain/access/permissions.ts"
import type { Spender } from "../../../../domain/charging/limits.ts"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Ports } from "../../ports.ts"
import type { CompanyStream } from "../checks/6-position.ts"
import type { RateLimit } from "../checks/rate-limits.ts"
import type { RefusalCode, ErrorCode, Refusal } from "../answers/refusal.ts"
import type { BrowserReply, StreamedBody } from "../answers/answer-bodies.ts"

/**
 * What AI clients call a route by, and what of it they give. Each argument's form and description are
 * those of the route's schemas; all its schemas describe it by `.describe()`.
 */
export interface RouteTool {
  /** Unique in a program, such as `run_command`. */
  readonly name: string
  /** What people are shown. */
  readonly title: string
  /** What a model reads to know when to call it, and how. */
  readonly description: string
  /** In the order in which they are listed: of the path, of the query, of the body. */
  readonly arguments: {
    /** The path's `:names` by what the arguments are called: `{ box: "id" }`; all of them are required. */
    readonly path?: Readonly<Record<string, string>>
    /** Parameters of the query. */
    readonly query?: readonly string[]
    /** Fields of the body. */
    readonly body?: readonly string[]
  }
  readonly annotations: {
    /** Whether it changes nothing. */
    readonly readOnlyHint: boolean
    /** Whether what it changes may be lost by it. */
    readonly destructiveHint: boolean
  }
}

/** A right request to a route, as the route itself shows it. */
export interface RequestExample {
  /** By the path's `:names`. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** JSON; bytes where the route takes those. */
  readonly body?: object
  /** The field of the body that tests leave out, because the request would do too much with it. */
  readonly omittedInTests?: string
}

/** An example; where only the time makes it right, one for a time in UTC milliseconds. */
type RouteExample = RequestExample | ((at: number) => RequestExample)

/** How many bytes a body may have where its route says nothing. */
export const BODY_LIMIT_BYTES = 1024 * 1024

/** How long a body may take to come where its route says nothing. */
export const BODY_TIMEOUT_MS = 30_000

/** Who calls, as far as the checks have found out. */
export interface Caller {
  readonly companyId: CompanyId
  /** Null for somebody who calls without one, by a session. */
  readonly key: ApiKey | null
  /** The key's or the session's person, or who is signed in through a shared key; null for none. */
  readonly person: Person | null
  readonly spender: Spender
  readonly requestId: string
}

/** A request after its checks: every part has the type of its schema. */
export interface CheckedRequest<B = undefined, Q = undefined, P = undefined> {
  readonly body: B
  readonly query: Q
  readonly params: P
  /**
   * Ids of the work derive from this, so that carrying a request out again finds what was done.
   * With an `Idempotency-Key` it is the same for the same request and attempt.
   */
  readonly seed: Seed
  /** Aborted when the caller went away: for work that is a read. */
  readonly callerGone: AbortSignal
  /** Aborted when this process is about to stop: what takes longer than seconds ends its answer. */
  readonly stopping: AbortSignal
  /** The call as it was sent, for what is said by more than its values: a signature, an address. */
  readonly rawRequest: RawRequest
  /** Carries another call out by the same key, through all checks, as if it had come by itself. */
  readonly callInternally: (
    call: InternalCall,
  ) => Promise<{ readonly status: number; readonly body: string }>
}

/** A call that a handler sends on, to a route that answers in JSON. */
export interface InternalCall {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Sent as JSON; undefined for none. */
  readonly body?: object
  readonly idempotencyKey: string | null
  /** What is wrong with it, by the field, that its values do not show: the call is refused for it. */
  readonly faults: Readonly<Record<string, string>>
}

/** What ids derive from. */
export interface Seed {
  readonly parts: readonly string[]
  /** Whether the same request may come again with it: it has an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** The next attempt's seed: for when the charge of this one was given back. */
  readonly next: () => Promise<Seed>
}

/** What a handler answers. */
export type Reply<R, S extends number = 200> =
  | (BrowserReply & {
      readonly ok: true
      readonly body: R
      /** Default the first of the route's. */
      readonly status?: S
      /** Where the facts of this command stand; sent as `Ledger-Position`. */
      readonly position?: Position | null
      /** What is sent instead of the body: a file, or a long body piece by piece. */
      readonly streamedBody?: StreamedBody
      /** What was charged for it. */
      readonly chargeId?: string
    })
  | {
      readonly ok: false
      readonly refusal: Refusal
      /** Whether it stands for every request with this `Idempotency-Key`; default it frees the key. */
      readonly isFinal?: boolean
      /** Where the facts stand that were recorded on the way to it, where some were. */
      readonly position?: Position | null
    }

/** What any handler answers. */
export type AnyReply = Reply<unknown, number>

/** What came of a request begun before: its answer, or the seed to go on with; the given one where nothing is found. */
export type ResumeResult<R, S extends number = 200> =
  { readonly reply: Reply<R, S> } | { readonly seed: Seed }

/** What an account may have to have: a card that is paid up, any card, or a verified one. */
export type AccountRequirement = "managed" | "card" | "verified card"

/** A body that is taken as it is sent, of any type: its handler gets the bytes. */
export const RAW_BODY = z.custom<Uint8Array>()
/** A body that is taken piece by piece while it is sent, of any type and length. */
export const CHUNKED_BODY = z.custom<AsyncIterable<Uint8Array>>()

/** What happens once for ever, by an `Idempotency-Key` that must be given. */
export interface PermanentIdempotency<I, R, S extends number> {
  /** The answer while another request with the key is still being carried out. */
  readonly inProgress: (ports: Ports, caller: Caller, input: I) => Promise<Reply<R, S>>
  /** The codes it can have ended with, which the same request is then told again. */
  readonly finalCodes: readonly RefusalCode[]
  /** How what was answered as done (200) or not done yet (202) stands now. */
  readonly replay: (ports: Ports, caller: Caller, answered: R) => Promise<Reply<R, S>>
}

/**
 * How another client speaks than the API's, such as git: it signs in by Basic, with a key for the password
 * (RFC 7617), goes on with one thing over several calls, and shows people what is refused only where it is
 * said as it reads it.
 */
export interface NonApiClient {
  /** What people are asked for a name and a password of. */
  readonly realm: string
  /** The refusal of a key that is good, and not for the name or the path it came with; null where it is. */
  readonly accessRefusal: (
    ports: Ports,
    caller: Caller,
    asked: { readonly user: string; readonly params: Readonly<Record<string, string>> },
  ) => Promise<Refusal | null>
  /** Whether a call goes on with one that was counted: then it is not counted itself. */
  readonly isContinuation?: (ports: Ports, caller: Caller) => Promise<boolean>
  /** A refusal as it is shown. */
  readonly formatRefusal: (why: Pick<Refusal, "error" | "status" | "message">) => FormattedRefusal
}

/** A refusal as a client shows it. */
interface FormattedRefusal {
  /** Default the refusal's own. */
  readonly status?: number
  readonly mediaType: string
  readonly body: string
}

/** What a route says of itself that no schema has a part in. */
export interface RouteDescription {
  /** One word that clients call it by, such as `sendText`; unique in a program. */
  readonly name: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With `:names` for parameters. */
  readonly url: string
  /** The group of the specification it stands in. */
  readonly group: string
  /** One line for the document. */
  readonly summary: string
  /** A right request, where one says something in its path, query or body; sent over and over by tests. */
  readonly example?: RouteExample
  /** What the key must be granted; null where the route has no operation of its own. */
  readonly operation: Operation | null
  /** What the key must be granted besides. */
  readonly additionalOperations?: readonly Operation[]
  /** What the key's person must hold, beside what the operation asks for. */
  readonly permissions?: readonly Permission[]
  /** Who alone may call it. */
  readonly roles?: readonly Role[]
  /** The code for those without the role; default `not_allowed`. */
  readonly roleRefusalCode?: RefusalCode
  /** Whether it takes a person's own key only, and never the app's shared one. */
  readonly isPersonKeyOnly?: boolean
  /** Whether a call is counted as an API call, and stops when the general limit is used up. */
  readonly isCounted: boolean
  /** Whether a locked account's calls pass: who would pay must not be kept out by the lock. */
  readonly isAllowedWhenLocked?: boolean
  /** Which rate limit it counts towards. */
  readonly rateLimit?: RateLimit
  /** False where it is open to everybody: then no caller is known, and no check of one is made. */
  readonly auth?: false
  /** How many bytes a body may have; default 1 MiB. A body taken by `PIECES` is counted by its handler. */
  readonly bodyLimitBytes?: number
  /** How long a body may take to come, milliseconds; default 30 seconds. */
  readonly bodyTimeoutMs?: number
  /** What the company's account must have. */
  readonly accountRequirement?: AccountRequirement
  /** Whether it charges, and so takes an `Idempotency-Key`. */
  readonly isCharged?: boolean
  /** The content types of the files that it answers with; default JSON. */
  readonly fileTypes?: readonly string[]
  /** The statuses of those of its answers that have no body. */
  readonly bodilessStatuses?: readonly number[]
  /** How its refusals are said, where not as those of the API. */
  readonly errorFormat?: ErrorFormat
  /** The codes it can refuse with, beside those of the checks. */
  readonly refusalCodes?: readonly RefusalCode[]
  /** What stands above its refusals, whoever's, where a browser asks: those are pages then. */
  readonly refusalTitle?: string
  /** Error codes of single body fields, which win over `validation`. */
  readonly fieldFaultCodes?: Readonly<Record<string, RefusalCode>>
  /** What its refusals say, where the document's shared example of a code is not about it. */
  readonly refusalMessages?: Readonly<Partial<Record<ErrorCode, string>>>
  /** Why a choice was made where the specification is silent. */
  readonly specGap?: string
  /** Why it is there though the specification does not name it. */
  readonly beyondSpec?: string
  /** The read models it reads, whose progress a caller may wait for. */
  readonly readModels?: readonly string[]
  /** How those speak that it is for, where they are no clients of the API: then it is a page. */
  readonly nonApiClient?: NonApiClient
  /** Whose state it looks at beside them: for a caller who names a place, as it is at the tail. */
  readonly readStreams?: readonly CompanyStream[]
  /** What AI clients call it by; absent where they do not. Its answers are JSON. */
  readonly tool?: RouteTool
}

/** The parts of a route whose types follow from its schemas. */
export interface TypedRouteParts<P, Q, B, R, S extends number, C = Caller> {
  readonly params?: ZodType<P>
  readonly query?: ZodType<Q>
  /** JSON of this form, `BYTES` or `PIECES`. */
  readonly body?: ZodType<B>
  readonly reply: ZodType<R>
  /** The statuses of its answers, the usual one first; default 200. */
  readonly statuses?: readonly S[]
  /** Whether it is no charge and still happens once, for ever, by its `Idempotency-Key`. */
  readonly permanentIdempotency?: NoInfer<PermanentIdempotency<CheckedRequest<B, Q, P>, R, S>>
  readonly handle: NoInfer<
    (ports: Ports, caller: C, input: CheckedRequest<B, Q, P>) => Promise<Reply<R, S>>
  >
  /**
   * Goes on with what was begun before. It was let in then, so it runs before the account, the
   * limits and the permissions are looked at: they may refuse by now what it has already paid for.
   */
  readonly resume?: NoInfer<
    (ports: Ports, caller: Caller, input: CheckedRequest<B, Q, P>) => Promise<ResumeResult<R, S>>
  >
}

/** A route of the API, its types forgotten. Only a route without `auth` is called without a caller. */
export type Route = RouteDescription &
  TypedRouteParts<unknown, unknown, unknown, unknown, number, Caller | null>

/**
 * Checks a route's types where it is written, and forgets them for the list of all routes.
 *
 * @throws RangeError where what is charged could not be told from another request with the same key
 */
export function route<R, const S extends number = 200, B = undefined, Q = undefined, P = undefined>(
  spec: RouteDescription & TypedRouteParts<P, Q, B, R, S>,
): Route {
  const isPieces = (spec.body as unknown) === CHUNKED_BODY
  if (isPieces && (spec.isCharged === true || spec.permanentIdempotency !== undefined)) {
    throw new RangeError(`${spec.url} is charged: take its body as BYTES, or two are alike`)
  }
  return spec as unknown as Route
}

/** What only a caller who is known can be asked. */
type CallerOnlyField =
  | "auth"
  | "operation"
  | "additionalOperations"
  | "permissions"
  | "roles"
  | "roleRefusalCode"
  | "isPersonKeyOnly"
  | "isCounted"
  | "isAllowedWhenLocked"
  | "isCharged"

/** The same as `route` for one that needs no key: its handler is given no caller. */
export function publicRoute<
  R,
  const S extends number = 200,
  B = undefined,
  Q = undefined,
  P = undefined,
>(
  spec: Omit<RouteDescription, CallerOnlyField> &
    Omit<TypedRouteParts<P, Q, B, R, S>, "handle" | "resume" | "permanentIdempotency"> & {
      readonly handle: NoInfer<
        (ports: Ports, input: CheckedRequest<B, Q, P>) => Promise<Reply<R, S>>
      >
    },
): Route {
  const { handle, ...rest } = spec
  return route<R, S, B, Q, P>({
    ...rest,
    auth: false,
    operation: null,
    isCounted: false,
    handle: (ports, _nobody, input) => handle(ports, input),
  })
}

/** Header fields by their names in small letters; each with all values that were sent, apart. */
export type HeaderFields = Readonly<Record<string, readonly string[] | undefined>>

/** A call as it was sent. */
export interface RawRequest {
  readonly requestId: string
  readonly headers: HeaderFields
  /** Path and query as they were sent: what a signature is over. */
  readonly target: string
  /** Where it comes from, as far as trusted proxies say. */
  readonly address: string
}

/** How the refusals of a route are said. */
export interface ErrorFormat {
  /** What they look like, for the document. */
  readonly schema: ZodType
  /**
   * A refusal in this form; its status stays.
   *
   * @param why its status, and the body that it has in the API's own form
   * @param sent what stands in the body of the request; undefined where nobody can read it
   */
  readonly format: (
    why: { readonly status: number; readonly body: Readonly<Record<string, unknown>> },
    sent: unknown,
  ) => object
}

/** A refusal as it is said by a form; what is none stays as it is. */
export function applyErrorFormat<A extends { status: number; body: unknown; error: string | null }>(
  form: ErrorFormat | undefined,
  answer: Readonly<A>,
  sent: unknown,
): Readonly<A> {
  const { status, error, body } = answer
  if (form === undefined || error === null) return answer
  const why = { status, body: JSON.parse(String(body)) as Readonly<Record<string, unknown>> }
  return { ...answer, body: JSON.stringify(form.format(why, sent)) }
}
