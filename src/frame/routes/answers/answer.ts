/** Answers as they are sent, stored and replayed. */
import type { CompanyId, KeyId } from "../../../../domain/kernel/ids.ts"
import { formatPositionToken } from "../checks/6-position.ts"
import type { Ports } from "../../ports.ts"
import type { StoredAnswer } from "../idempotency/idempotency.ts"
import type { StreamedBody } from "./answer-bodies.ts"
import { PAGE_HEADERS, escapeHtml, htmlPage } from "./answer-bodies.ts"
import type { Refusal } from "./refusal.ts"
import { refusalBody, refusal } from "./refusal.ts"
import type { AnyReply, Caller, NonApiClient, Route } from "../declare/route.ts"
import { BODY_LIMIT_BYTES, applyErrorFormat } from "../declare/route.ts"
import type { BodyReader, ApiCall } from "../api-call.ts"
import { BodyCutOff, BodyTooLarge, BodyTooLate } from "../api-call.ts"
import { isBrowserRequest } from "../declare/public-form.ts"
import { nonApiClientOf, isRouteVariants } from "../declare/route-variants.ts"

export interface CallAnswer {
  readonly status: number
  /** Header fields, spelled as in the API document. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON text or a page, a streamed body, or nothing. */
  readonly body: string | StreamedBody | null
  /** The error code of a refusal; null for a success. */
  readonly error: string | null
}

/** The caller and charge of a call, for the log; null if unknown. */
export interface AnswerTrace {
  readonly companyId: CompanyId | null
  readonly keyId: KeyId | null
  readonly chargeId: string | null
}

export interface TracedAnswer extends CallAnswer {
  readonly trace: AnswerTrace
}

const JSON_TYPE = "application/json; charset=utf-8"

/** Converts a refusal to an answer. */
export function refusalAnswer(why: Refusal): CallAnswer {
  // A 401 must name an authentication scheme (RFC 9110 §15.5.2).
  const challenge = why.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
  const headers = { ...challenge, ...why.headers, "content-type": JSON_TYPE }
  return {
    status: why.status,
    headers,
    body: JSON.stringify(refusalBody(why)),
    error: why.error,
  }
}

/** Converts a handler's reply to the answer that is stored for its `Idempotency-Key`. */
export function storedAnswerOf(
  ports: Pick<Ports, "storeGeneration">,
  route: Route,
  result: AnyReply,
): StoredAnswer {
  const { position = null } = result
  const token = position === null ? null : formatPositionToken(position, ports.storeGeneration)
  if (!result.ok) {
    const { status, headers } = result.refusal
    const body = JSON.stringify(refusalBody(result.refusal))
    const stored = { status, body, position: token }
    return headers === undefined ? stored : { ...stored, headers }
  }
  const { body, status = route.statuses?.[0] ?? 200, location } = result
  const stored = { status, body: JSON.stringify(body), position: token }
  return location === undefined ? stored : { ...stored, headers: { location } }
}

/** Converts a stored answer to one that is sent. */
export function answerFromStored(
  stored: StoredAnswer,
  error: string | null,
  isReplay = false,
): CallAnswer {
  const { status, body, position } = stored
  const headers = {
    ...stored.headers,
    ...(position === null ? {} : { "Ledger-Position": position }),
    ...(isReplay ? { "Idempotency-Replayed": "true" } : {}),
    "content-type": JSON_TYPE,
  }
  return { status, headers, body, error }
}

/** Converts a handler's reply to an answer; a file, redirect or page replaces the JSON body. */
export function answerFromReply(
  ports: Pick<Ports, "storeGeneration">,
  route: Route,
  result: AnyReply,
): CallAnswer {
  const stored = storedAnswerOf(ports, route, result)
  const bare = answerFromStored(stored, result.ok ? null : result.refusal.error)
  if (!result.ok) return bare
  const { page, cookie } = result
  const answer = cookie === undefined ? bare : withCookie(bare, cookie)
  if (page !== undefined) {
    return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body: page }
  }
  if (result.location !== undefined || route.bodilessStatuses?.includes(stored.status) === true) {
    const { "content-type": _ofNothing, ...headers } = answer.headers
    return { ...answer, headers, body: null }
  }
  if (result.streamedBody === undefined) return answer
  return {
    ...answer,
    headers: { "content-type": result.streamedBody.mediaType },
    body: result.streamedBody,
  }
}

const withCookie = (answer: CallAnswer, cookie: string): CallAnswer => {
  return { ...answer, headers: { ...answer.headers, "set-cookie": cookie } }
}

/**
 * Returns the answer to a replayed request. A permanent request is answered with its current state, unless it
 * ended in a final refusal; the position stays the first answer's.
 */
export async function repeatStoredAnswer(
  ports: Ports,
  route: Route,
  caller: Caller,
  stored: StoredAnswer,
): Promise<StoredAnswer> {
  if (route.permanentIdempotency === undefined || stored.status >= 400) return stored
  const now = storedAnswerOf(
    ports,
    route,
    await route.permanentIdempotency.replay(ports, caller, JSON.parse(stored.body)),
  )
  return stored.status === 200 ? { ...now, position: stored.position } : now
}

/** Returns the refusal of a permanent request without an `Idempotency-Key`. */
export function keyRequiredRefusal(): Refusal {
  const message = "A purchase needs an Idempotency-Key header. Use a new key for each purchase."
  return refusal("idempotency_key_required", message)
}

/** Formats a refusal for a route's non-API client. */
export function answerForClient<A extends CallAnswer>(
  client: NonApiClient | undefined,
  answer: A,
): A {
  const { body, error, status, headers } = answer
  if (client === undefined || error === null || typeof body !== "string") return answer
  const { message } = JSON.parse(body) as Refusal
  const shown = client.formatRefusal({ error, status, message })
  const challenge =
    status === 401 ? { "WWW-Authenticate": `Basic realm="${client.realm}", charset="UTF-8"` } : {}
  return {
    ...answer,
    status: shown.status ?? status,
    headers: { ...headers, ...challenge, "content-type": shown.mediaType },
    body: shown.body,
  }
}

/** Formats an answer for its caller: a page for browsers, the form of other clients or protocols, or unchanged. */
export async function formatForCaller(
  call: Pick<ApiCall, "route" | "headers">,
  body: BodyReader,
  answer: CallAnswer,
): Promise<CallAnswer> {
  const { route } = call
  const client = nonApiClientOf(route)
  if (client !== undefined) return answerForClient(client, answer)
  if (isRouteVariants(route) || answer.error === null) return answer
  const { errorFormat, refusalTitle: title } = route
  if (errorFormat !== undefined)
    return applyErrorFormat(errorFormat, answer, await sentBodyOf(body))
  if (title === undefined || !isBrowserRequest(call)) return answer
  const { message } = JSON.parse(String(answer.body)) as { readonly message: string }
  const page = htmlPage(title, `<p>${escapeHtml(message)}</p>`)
  return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body: page }
}

/**
 * Returns the parsed body of a rejected call; undefined if it cannot be parsed. If the body was not read
 * before the rejection, it is read up to the limit of public routes.
 */
async function sentBodyOf(body: BodyReader): Promise<unknown> {
  try {
    return (await body(BODY_LIMIT_BYTES)).value
  } catch (error) {
    if ([BodyTooLarge, BodyCutOff, BodyTooLate].some((kind) => error instanceof kind)) {
      return undefined
    }
    throw error
  }
}
