/**
 * Routes as data: the router, the checks, the OpenAPI document and the conformance test derive from them.
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
 * How AI clients call a route, and which arguments they give. The forms and descriptions of the arguments come
 * from the route's schemas.
 */
export interface RouteTool {
  /** Unique in a program, such as `run_command`. */
  readonly name: string
  /** Title for people. */
  readonly title: string
  /** Tells a model when and how to call it. */
  readonly description: string
  /** In listed order: of the path, of the query, of the body. */
  readonly arguments: {
    /** The path's `:names` by argument name: `{ box: "id" }`; all are required. */
    readonly path?: Readonly<Record<string, string>>
    /** Parameters of the query. */
    readonly query?: readonly string[]
    /** Fields of the body. */
    readonly body?: readonly string[]
  }
  readonly annotations: {
    /** Whether it changes nothing. */
    readonly readOnlyHint: boolean
    /** Whether it may destroy data. */
    readonly destructiveHint: boolean
  }
}

/** An example of a valid request to a route. */
export interface RequestExample {
  /** By the path's `:names`. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** JSON, or bytes if the route takes those. */
  readonly body?: object
  /** A field of the body that tests omit, because the request would do too much with it. */
  readonly omittedInTests?: string
}

/** An example; a function if it depends on the time in UTC milliseconds. */
type RouteExample = RequestExample | ((at: number) => RequestExample)

/** Default maximum size of a body, bytes. */
export const BODY_LIMIT_BYTES = 1024 * 1024

/** Default time limit for a body to arrive. */
export const BODY_TIMEOUT_MS = 30_000

/** The caller, as the checks have established it. */
export interface Caller {
  readonly companyId: CompanyId
  /** Null for a person with a session instead of a key. */
  readonly key: ApiKey | null
  /** The person of the key or session, or the one signed in through an app key; null for none. */
  readonly person: Person | null
  readonly spender: Spender
  readonly requestId: string
}

/** A checked request: every part has the type of its schema. */
export interface CheckedRequest<B = undefined, Q = undefined, P = undefined> {
  readonly body: B
  readonly query: Q
  readonly params: P
  /**
   * Ids of the work derive from this, so that a retry finds what was done. With an `Idempotency-Key` it is equal
   * for the same request and attempt.
   */
  readonly seed: Seed
  /** Aborted when the client disconnects; for reads. */
  readonly callerGone: AbortSignal
  /** Aborted when this process is about to stop: a long wait must then end with an answer. */
  readonly stopping: AbortSignal
  /** The call as it was sent, for signatures and addresses. */
  readonly rawRequest: RawRequest
  /** Executes another call with the same key, through all checks, as if it had arrived from outside. */
  readonly callInternally: (
    call: InternalCall,
  ) => Promise<{ readonly status: number; readonly body: string }>
}

/** A call from a handler to a route that answers JSON. */
export interface InternalCall {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Sent as JSON; undefined for none. */
  readonly body?: object
  readonly idempotencyKey: string | null
  /** Faults that the values do not show, by field; the call is rejected for them. */
  readonly faults: Readonly<Record<string, string>>
}

/** The source of derived ids. */
export interface Seed {
  readonly parts: readonly string[]
  /** Whether a retry can have the same seed: the request has an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Returns the seed of the next attempt, for use after this one's charge was refunded. */
  readonly next: () => Promise<Seed>
}

/** A handler's answer. */
export type Reply<R, S extends number = 200> =
  | (BrowserReply & {
      readonly ok: true
      readonly body: R
      /** Default the first of the route's statuses. */
      readonly status?: S
      /** Position of this command's facts; sent as `Ledger-Position`. */
      readonly position?: Position | null
      /** Sent instead of the body: a file, or a long body in pieces. */
      readonly streamedBody?: StreamedBody
      /** The charge that was made for it. */
      readonly chargeId?: string
    })
  | {
      readonly ok: false
      readonly refusal: Refusal
      /** Whether it applies to every request with this `Idempotency-Key`; default it frees the key. */
      readonly isFinal?: boolean
      /** Position of the facts that were recorded before it, if any. */
      readonly position?: Position | null
    }

/** The answer of any handler. */
export type AnyReply = Reply<unknown, number>

/** The result of a resumed request: its answer, or the seed to continue with (the given one if nothing was done). */
export type ResumeResult<R, S extends number = 200> =
  { readonly reply: Reply<R, S> } | { readonly seed: Seed }

/** What an account must have: a card and no debt, any card, or a verified one. */
export type AccountRequirement = "managed" | "card" | "verified card"

/** A body of any type, read as bytes. */
export const RAW_BODY = z.custom<Uint8Array>()
/** A body of any type and length, read in pieces as it arrives. */
export const CHUNKED_BODY = z.custom<AsyncIterable<Uint8Array>>()

/** Rules of a request that happens once forever, with a required `Idempotency-Key`. */
export interface PermanentIdempotency<I, R, S extends number> {
  /** Answers while another request with the key is in progress. */
  readonly inProgress: (ports: Ports, caller: Caller, input: I) => Promise<Reply<R, S>>
  /** The codes of final refusals, which a retry gets again. */
  readonly finalCodes: readonly RefusalCode[]
  /** Returns the current state of work that was answered as done (200) or pending (202). */
  readonly replay: (ports: Ports, caller: Caller, answered: R) => Promise<Reply<R, S>>
}

/**
 * The protocol of a client other than those of the API, such as git: it signs in by Basic with a key as the
 * password (RFC 7617), may use several calls for one action, and shows refusals in its own format.
 */
export interface NonApiClient {
  /** Shown when the client asks for name and password. */
  readonly realm: string
  /** Rejects a valid key that does not fit the name or path; null if it does. */
  readonly accessRefusal: (
    ports: Ports,
    caller: Caller,
    asked: { readonly user: string; readonly params: Readonly<Record<string, string>> },
  ) => Promise<Refusal | null>
  /** Whether a call continues a counted one: then it is not counted again. */
  readonly isContinuation?: (ports: Ports, caller: Caller) => Promise<boolean>
  readonly formatRefusal: (why: Pick<Refusal, "error" | "status" | "message">) => FormattedRefusal
}

interface FormattedRefusal {
  /** Default the refusal's own status. */
  readonly status?: number
  readonly mediaType: string
  readonly body: string
}

/** The properties of a route other than its schemas. */
export interface RouteDescription {
  /** Function name for clients, such as `sendText`; unique in a program. */
  readonly name: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With `:names` for parameters. */
  readonly url: string
  /** Its group in the specification. */
  readonly group: string
  /** One line for the document. */
  readonly summary: string
  /** An example request, if the route has parameters or a body; tests send it repeatedly. */
  readonly example?: RouteExample
  /** The operation that the key must be granted; null if the route needs none. */
  readonly operation: Operation | null
  /** Further operations that the key must be granted. */
  readonly additionalOperations?: readonly Operation[]
  /** Permissions that the person needs in addition to the operation's. */
  readonly permissions?: readonly Permission[]
  /** The only roles that may call it. */
  readonly roles?: readonly Role[]
  /** Error code for persons without the role; default `not_allowed`. */
  readonly roleRefusalCode?: "not_allowed" | "role"
  /** Whether it takes only a person's own key, not the app key. */
  readonly isPersonKeyOnly?: boolean
  /** Whether a call is counted as an API call, and rejected when the general limit is used up. */
  readonly isCounted: boolean
  /** Whether locked accounts may call it, for example to pay. */
  readonly isAllowedWhenLocked?: boolean
  /** The rate limit that it counts towards. */
  readonly rateLimit?: RateLimit
  /** False for a public route: no caller is identified or checked. */
  readonly auth?: false
  /** Maximum size of a body; default 1 MiB. The handler of a `CHUNKED_BODY` counts by itself. */
  readonly bodyLimitBytes?: number
  /** Time limit for a body to arrive, milliseconds; default 30 seconds. */
  readonly bodyTimeoutMs?: number
  /** What the company's account must have. */
  readonly accountRequirement?: AccountRequirement
  /** Whether it charges, and so takes an `Idempotency-Key`. */
  readonly isCharged?: boolean
  /** Content types of the files that it answers with; default JSON. */
  readonly fileTypes?: readonly string[]
  /** Statuses of answers without a body. */
  readonly bodilessStatuses?: readonly number[]
  /** Error format for clients of another protocol; default the API's. */
  readonly errorFormat?: ErrorFormat
  /** Error codes of its own, in addition to those of the checks. */
  readonly refusalCodes?: readonly RefusalCode[]
  /** Title of the page that a browser gets for any refusal of this route. */
  readonly refusalTitle?: string
  /** Error codes of single body fields, which win over `validation`. */
  readonly fieldFaultCodes?: Readonly<Record<string, RefusalCode>>
  /** Messages for the document where the common example of a code does not apply. */
  readonly refusalMessages?: Readonly<Partial<Record<ErrorCode, string>>>
  /** Why a choice was made where the specification is silent. */
  readonly specGap?: string
  /** Why it exists although the specification does not name it. */
  readonly beyondSpec?: string
  /** The read models that it reads; a caller can wait for their progress. */
  readonly readModels?: readonly string[]
  /** Protocol of non-API clients; set it for routes that serve browsers or git. */
  readonly nonApiClient?: NonApiClient
  /** Additional streams that this route reads; refreshed for a caller with a `Ledger-Position`. */
  readonly readStreams?: readonly CompanyStream[]
  /** The route as a tool of AI clients; absent if it is none. Its answers are JSON. */
  readonly tool?: RouteTool
}

/** The properties of a route whose types follow from its schemas. */
export interface TypedRouteParts<P, Q, B, R, S extends number, C = Caller> {
  readonly params?: ZodType<P>
  readonly query?: ZodType<Q>
  /** JSON with this schema, `RAW_BODY` or `CHUNKED_BODY`. */
  readonly body?: ZodType<B>
  readonly reply: ZodType<R>
  /** The statuses of its answers, the usual one first; default 200. */
  readonly statuses?: readonly S[]
  /** Set if it does not charge and still happens once forever, by its `Idempotency-Key`. */
  readonly permanentIdempotency?: NoInfer<PermanentIdempotency<CheckedRequest<B, Q, P>, R, S>>
  readonly handle: NoInfer<
    (ports: Ports, caller: C, input: CheckedRequest<B, Q, P>) => Promise<Reply<R, S>>
  >
  /**
   * Continues a request that was begun before. It was admitted then, so this runs before account, limits and
   * permissions are checked, which may now reject what is already paid.
   */
  readonly resume?: NoInfer<
    (ports: Ports, caller: Caller, input: CheckedRequest<B, Q, P>) => Promise<ResumeResult<R, S>>
  >
}

/** A route without its types. Only a public route is called without a caller. */
export type Route = RouteDescription &
  TypedRouteParts<unknown, unknown, unknown, unknown, number, Caller | null>

/**
 * Checks a route's types and erases them for the common list.
 *
 * @throws RangeError if a paid route's body is `CHUNKED_BODY`, because retries could not be recognized
 */
export function route<R, const S extends number = 200, B = undefined, Q = undefined, P = undefined>(
  spec: RouteDescription & TypedRouteParts<P, Q, B, R, S>,
): Route {
  const isPieces = (spec.body as unknown) === CHUNKED_BODY
  if (isPieces && (spec.isCharged === true || spec.permanentIdempotency !== undefined)) {
    throw new RangeError(`${spec.url} is charged: its body must be RAW_BODY, not CHUNKED_BODY`)
  }
  return spec as unknown as Route
}

/** The properties that need a known caller. */
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

/** `route` for one that needs no key: its handler gets no caller. */
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
    handle: (ports, _caller, input) => handle(ports, input),
  })
}

/** Header fields by lowercase name; each with all values that were sent. */
export type HeaderFields = Readonly<Record<string, readonly string[] | undefined>>

/** A call as it was sent. */
export interface RawRequest {
  readonly requestId: string
  readonly headers: HeaderFields
  /** Path and query as sent; signatures cover them. */
  readonly target: string
  /** The client's address, as trusted proxies report it. */
  readonly address: string
}

export interface ErrorFormat {
  /** Schema for the document. */
  readonly schema: ZodType
  /**
   * Formats a refusal; its status stays.
   *
   * @param why its status, and its body in the API's own format
   * @param sent the parsed body of the request; undefined if it cannot be parsed
   */
  readonly format: (
    why: { readonly status: number; readonly body: Readonly<Record<string, unknown>> },
    sent: unknown,
  ) => object
}

/** Applies an error format to a refusal; other answers stay as they are. */
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
