/** An API call from any source: the web server, the MCP server, git's sign-in or a page with a session. */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { RawRequest, Route, Caller } from "./declare/route.ts"
import { BODY_LIMIT_BYTES, BODY_TIMEOUT_MS, CHUNKED_BODY } from "./declare/route.ts"
import type { RouteVariants } from "./declare/route-variants.ts"
import { isRouteVariants } from "./declare/route-variants.ts"
import type { Refusal } from "./answers/refusal.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"

/** A body that may still be arriving. */
export interface IncomingBody {
  /**
   * Reads the whole body once, even if called again; null if there is none.
   *
   * @throws BodyTooLarge, BodyCutOff, BodyTooLate
   */
  readonly bytes: (mostBytes: number, withinMs: number) => Promise<Uint8Array | null>
  /** Reads the body in pieces as it arrives; once, and not together with `bytes`. */
  readonly chunks: () => AsyncIterable<Uint8Array>
}

/** A person who is known without a key: by a session, a push from a box, or the program itself. */
export interface PersonIdentity {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

export interface ApiCall extends RawRequest {
  /** The requested route, or several that share a method and path. */
  readonly route: Route | RouteVariants
  /** Values of the route's `:names`, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query's parameters, decoded. */
  readonly query: unknown
  readonly body: IncomingBody
  /** Aborted when the client disconnects. */
  readonly callerGone: AbortSignal
  /** Aborted when this process is about to stop. */
  readonly stopping: AbortSignal
  /** Identifies a caller without a key; null if the call carries a key. */
  readonly identify: (() => Promise<PersonIdentity | Refusal>) | null
  /** Faults that the caller's adapter found, by field; default none. */
  readonly faults?: Readonly<Record<string, string>>
}

/** What is known of a request that fails. */
export interface RequestFacts {
  readonly requestId: string
  /** What it pays for; null if nothing. */
  readonly paymentKind: "charge" | "purchase" | null
  /** Whether it has an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Whether an earlier request with the same `Idempotency-Key` may have been executed. */
  readonly mayHaveRun: boolean
}

/** The body is longer than the route allows. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge"
  /** The route's limit. */
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}

/** The body is shorter or longer than its declared length. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff"
}

/** The body did not arrive within the route's time limit. */
export class BodyTooLate extends Error {
  override readonly name = "BodyTooLate"
}

/** Wraps bytes as a body. Reading it throws BodyTooLarge like any other. */
export function bodyFromBytes(bytes: Uint8Array | null): IncomingBody {
  return {
    bytes: async (mostBytes) => {
      if ((bytes?.length ?? 0) > mostBytes) throw new BodyTooLarge(mostBytes)
      return bytes
    },
    chunks: async function* () {
      if (bytes !== null) yield bytes
    },
  }
}

/** Returns the facts of a call before any check. */
export function requestFactsOf(
  call: Pick<ApiCall, "route" | "headers" | "requestId">,
): RequestFacts {
  const isKeyed = (idempotencyKeyOf(call) ?? "") !== ""
  const { route, requestId } = call
  return { requestId, paymentKind: paymentKindOf(route), isKeyed, mayHaveRun: isKeyed }
}

/** Returns what a route's calls pay for; null if nothing. */
export function paymentKindOf(route: Route | RouteVariants): RequestFacts["paymentKind"] {
  if (!isRouteVariants(route) && route.permanentIdempotency !== undefined) return "purchase"
  return route.isCharged === true ? "charge" : null
}

/** Returns the idempotency key; null if the call has none or its route takes none. */
export function idempotencyKeyOf(call: Pick<ApiCall, "route" | "headers">): string | null {
  return paymentKindOf(call.route) === null ? null : headerValue(call, "idempotency-key")
}

/** Marks invalid JSON. It is rejected at validation, because key, account and count are checked first. */
export const INVALID_JSON_BODY = Symbol("broken body")
/** Marks a body that is not plain JSON in UTF-8. */
export const UNSUPPORTED_BODY = Symbol("unsupported body")

/** Maximum nesting of a body, so that recursive code is safe. */
const MAX_NESTING = 64

export interface ParsedBody {
  /** Null if there is none, or if the handler reads it in pieces. */
  readonly bytes: Uint8Array | null
  /** The JSON value, or one of the marks; undefined if there is no body. */
  readonly value: unknown
}

/** An absent body. */
export const NO_BODY: ParsedBody = { bytes: null, value: undefined }

/**
 * Reads a call's body at most once, up to the limit of the first caller; default the route's limit.
 *
 * @throws BodyTooLarge, BodyCutOff, BodyTooLate
 */
export type BodyReader = (mostBytes?: number) => Promise<ParsedBody>

/** Creates the reader of a call's body. */
export function createBodyReader(call: ApiCall): BodyReader {
  let read: Promise<ParsedBody> | null = null
  return (mostBytes) => {
    read ??= readBody(call, mostBytes)
    return read
  }
}

async function readBody(call: ApiCall, mostBytes?: number): Promise<ParsedBody> {
  const { route, body } = call
  // The input of a GET is in its URL.
  if (route.method === "GET") return NO_BODY
  if (!isRouteVariants(route) && route.body === CHUNKED_BODY) return NO_BODY
  const { bodyLimitBytes = BODY_LIMIT_BYTES } = route
  const withinMs = isRouteVariants(route)
    ? BODY_TIMEOUT_MS
    : (route.bodyTimeoutMs ?? BODY_TIMEOUT_MS)
  const bytes = await body.bytes(mostBytes ?? bodyLimitBytes, withinMs)
  if (bytes === null || bytes.length === 0) return NO_BODY
  return { bytes, value: parseJsonBody(call, bytes) }
}

/** Parses a JSON body; returns a mark if it is not one. */
export function parseJsonBody(sent: Pick<RawRequest, "headers">, bytes: Uint8Array): unknown {
  return hasPlainUtf8Body(sent, "application/json") ? parseJson(bytes) : UNSUPPORTED_BODY
}

/** Whether a body has a media type and is UTF-8 without a content encoding (RFC 8259). */
export function hasPlainUtf8Body(sent: Pick<RawRequest, "headers">, mediaType: string): boolean {
  const type = (headerValue(sent, "content-type") ?? "").trim()
  if (type.split(/\s*;/, 1)[0]?.toLowerCase() !== mediaType) return false
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1]
  const encoding = headerValue(sent, "content-encoding") ?? "identity"
  return /^(utf-?8|us-ascii)?$/i.test(charset ?? "") && /^identity$/i.test(encoding)
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const body: unknown = JSON.parse(text)
    return isNestedTooDeep(body) ? INVALID_JSON_BODY : body
  } catch (error) {
    // The decoder throws a TypeError for invalid UTF-8.
    if (error instanceof SyntaxError || error instanceof TypeError) return INVALID_JSON_BODY
    throw error
  }
}

/** Checks the nesting level by level, without recursion. */
function isNestedTooDeep(body: unknown): boolean {
  const isNode = (value: unknown): value is object => typeof value === "object" && value !== null
  let level = [body].filter(isNode)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING) return true
    level = level.flatMap((node) => Object.values(node) as unknown[]).filter(isNode)
  }
  return false
}

/** Returns the cause for a caller's commands. */
export function causeOf({ requestId, spender }: Caller): Cause {
  const { keyId, personId } = spender
  return { command: requestId, actor: null, keyId, personId, reason: null }
}

/** A request at an entry point, before its route is chosen. */
interface EntryRequest extends RawRequest {
  readonly method: string
  /** Values of the path prefix's `:names`, decoded. */
  readonly params: Readonly<Record<string, string>>
}

/** A way to authenticate other than by an API key. */
export interface EntryPoint {
  /** Prefix of the routes' paths: `/console/:company`. */
  readonly pathPrefix: string
  /** Identifies the caller; a refusal if it is unknown or its origin is not allowed. */
  readonly identify: (ports: Ports, entering: EntryRequest) => Promise<PersonIdentity | Refusal>
}

/** Returns the first value of a header field; null if it was not sent. */
export function headerValue({ headers }: Pick<RawRequest, "headers">, name: string): string | null {
  return headers[name]?.[0] ?? null
}
