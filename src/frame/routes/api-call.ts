/**
 * A call as it comes in, whoever brings it: the web server, the MCP server, git's sign-in or a page
 * with a session. Nothing here knows a web framework.
 */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { RawRequest, Route, Caller } from "./declare/route.ts"
import { BODY_LIMIT_BYTES, BODY_TIMEOUT_MS, CHUNKED_BODY } from "./declare/route.ts"
import type { RouteVariants } from "./declare/route-variants.ts"
import { isRouteVariants } from "./declare/route-variants.ts"
import type { Refusal } from "./answers/refusal.ts"
import type { RequestFacts } from "./answers/error-refusals.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"

/** A body that is still on its way. */
export interface IncomingBody {
  /**
   * The whole of it, read once however often it is asked for; null where there is none.
   *
   * @throws BodyTooLarge, BodyCutOff, BodyTooLate
   */
  readonly bytes: (mostBytes: number, withinMs: number) => Promise<Uint8Array | null>
  /** The same piece by piece, for whoever takes it as it comes: once, and not beside `bytes`. */
  readonly chunks: () => AsyncIterable<Uint8Array>
}

/** Somebody who is known without a key: by a console's session, a box's push, or the program itself. */
export interface PersonIdentity {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

/** A call. */
export interface ApiCall extends RawRequest {
  /** What is asked for: a route, or several that share a verb and a path. */
  readonly route: Route | RouteVariants
  /** What stands at the route's `:names`, decoded. */
  readonly params: Readonly<Record<string, string>>
  /** The query's parameters, decoded. */
  readonly query: unknown
  readonly body: IncomingBody
  /** Aborted when the caller went away. */
  readonly callerGone: AbortSignal
  /** Aborted when this process is about to stop. */
  readonly stopping: AbortSignal
  /** Who calls, where it came by another way than with a key; null: the call says it itself. */
  readonly identify: (() => Promise<PersonIdentity | Refusal>) | null
  /** What whoever brings it found wrong with what it was given, by the field; default nothing. */
  readonly faults?: Readonly<Record<string, string>>
}

/** The body is longer than the route takes. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge"
}

/** The body ended before its length was reached, or went on behind it. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff"
}

/** The body did not come in the time that the route gives it. */
export class BodyTooLate extends Error {
  override readonly name = "BodyTooLate"
}

/** A body that is at hand already. Reading it throws BodyTooLarge, like one that comes in. */
export function bodyFromBytes(bytes: Uint8Array | null): IncomingBody {
  return {
    bytes: async (mostBytes) => {
      if ((bytes?.length ?? 0) > mostBytes) throw new BodyTooLarge(`more than ${mostBytes} bytes`)
      return bytes
    },
    chunks: async function* () {
      if (bytes !== null) yield bytes
    },
  }
}

/** What is known of a call before anything was looked at. */
export function requestFactsOf(
  call: Pick<ApiCall, "route" | "headers" | "requestId">,
): RequestFacts {
  const isKeyed = (idempotencyKeyOf(call) ?? "") !== ""
  const { route, requestId } = call
  return { requestId, paymentKind: paymentKindOf(route), isKeyed, mayHaveRun: isKeyed }
}

/** What a route's calls pay for; null where it is nothing. */
export function paymentKindOf(route: Route | RouteVariants): RequestFacts["paymentKind"] {
  if (!isRouteVariants(route) && route.permanentIdempotency !== undefined) return "purchase"
  return route.isCharged === true ? "charge" : null
}

/** The idempotency key of what takes one; null where it has none. */
export function idempotencyKeyOf(call: Pick<ApiCall, "route" | "headers">): string | null {
  return paymentKindOf(call.route) === null ? null : headerValue(call, "idempotency-key")
}

/**
 * The body is not valid JSON. It does not end a call by itself, because key, account and count are checked
 * before the body is looked at: validation refuses this mark.
 */
export const INVALID_JSON_BODY = Symbol("broken body")
/** The body has a content type other than JSON in UTF-8, or an encoding. */
export const UNSUPPORTED_BODY = Symbol("unsupported body")

/** No request here nests deeper; what walks a body may so call itself. */
const MAX_NESTING = 64

/** A body that was read. */
export interface ParsedBody {
  /** Null where there is none, and where it is taken piece by piece. */
  readonly bytes: Uint8Array | null
  /** What stands in it; undefined for nothing, else perhaps one of the marks. */
  readonly value: unknown
}

/** Nothing was sent. */
export const NO_BODY: ParsedBody = { bytes: null, value: undefined }

/**
 * Reads the body of a call at most once, up to as many bytes as the first who asks takes of it; default as
 * many as its route does.
 *
 * @throws BodyTooLarge, BodyCutOff, BodyTooLate
 */
export type BodyReader = (mostBytes?: number) => Promise<ParsedBody>

/** The body of a call, to be read. */
export function createBodyReader(call: ApiCall): BodyReader {
  let read: Promise<ParsedBody> | null = null
  return (mostBytes) => {
    read ??= readBody(call, mostBytes)
    return read
  }
}

async function readBody(call: ApiCall, mostBytes?: number): Promise<ParsedBody> {
  const { route, body } = call
  // What is asked for by GET is in its address.
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

/** What stands in a body of JSON; one of the marks where it is none. */
export function parseJsonBody(sent: Pick<RawRequest, "headers">, bytes: Uint8Array): unknown {
  return hasPlainUtf8Body(sent, "application/json") ? parseJson(bytes) : UNSUPPORTED_BODY
}

/** Whether a body is of a type and in UTF-8, as JSON is (RFC 8259): nothing here takes off an encoding. */
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
    // A TypeError is the decoder's: these bytes are no UTF-8.
    if (error instanceof SyntaxError || error instanceof TypeError) return INVALID_JSON_BODY
    throw error
  }
}

/** Looks level by level, without calling itself. */
function isNestedTooDeep(body: unknown): boolean {
  const isNode = (value: unknown): value is object => typeof value === "object" && value !== null
  let level = [body].filter(isNode)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING) return true
    level = level.flatMap((node) => Object.values(node) as unknown[]).filter(isNode)
  }
  return false
}

/** The cause of what this caller asks for. */
export function causeOf({ requestId, spender }: Caller): Cause {
  const { keyId, personId } = spender
  return { command: requestId, actor: null, keyId, personId, reason: null }
}

/** A call on its way in, before its route is looked at. */
interface EntryRequest extends RawRequest {
  readonly method: string
  /** What stands at the `:names` of the way's path, decoded. */
  readonly params: Readonly<Record<string, string>>
}

/** A way in. */
export interface EntryPoint {
  /** What stands before the path of each route: `/console/:company`. */
  readonly pathPrefix: string
  /** Who calls; the refusal of whoever is nobody, or may not come from where they come. */
  readonly identify: (ports: Ports, entering: EntryRequest) => Promise<PersonIdentity | Refusal>
}

/** The first value of a header field; null where it was not sent. */
export function headerValue({ headers }: Pick<RawRequest, "headers">, name: string): string | null {
  return headers[name]?.[0] ?? null
}
