/** Answers as they are sent, kept, and sent again. */
import type { CompanyId, KeyId } from "../../../../domain/kernel/ids.ts"
import { tokenOf } from "../checks/6-position.ts"
import type { Ports } from "../../ports.ts"
import type { KeptAnswer } from "../idempotency/idempotency.ts"
import type { Sent } from "./sent.ts"
import { PAGE_HEADERS, escaped, htmlPage } from "./sent.ts"
import type { Refusal } from "./refusal.ts"
import { bodyOf, refusal } from "./refusal.ts"
import type { AnyReply, Caller, OtherClient, Route } from "../declare/route.ts"
import { BODY_LIMIT_BYTES, formed } from "../declare/route.ts"
import type { OpenBody, Call } from "../call.ts"
import { BodyCutOff, BodyTooLarge, BodyTooLate } from "../call.ts"
import { isBrowser } from "../declare/form-sender.ts"
import { clientOf, isOneOf } from "../declare/one-of.ts"

/** An answer. */
export interface Answer {
  readonly status: number
  /** Header fields in the spelling of the documents. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON text or a page, something that is sent piece by piece, or nothing. */
  readonly body: string | Sent | null
  /** The code of a refusal; null where it is none. */
  readonly error: string | null
}

/** Who asked and what was charged for it, as far as is known: for the log. */
export interface Trace {
  readonly companyId: CompanyId | null
  readonly keyId: KeyId | null
  readonly chargeId: string | null
}

/** An answer, with what its line in the log says beside it. */
export interface TracedAnswer extends Answer {
  readonly trace: Trace
}

const JSON_TYPE = "application/json; charset=utf-8"

/** A refusal as an answer. */
export function refused(why: Refusal): Answer {
  // HTTP asks for it (RFC 9110, 15.5.2): how one says who one is.
  const challenge = why.status === 401 ? { "WWW-Authenticate": "Bearer" } : {}
  const headers = { ...challenge, ...why.headers, "content-type": JSON_TYPE }
  return {
    status: why.status,
    headers,
    body: JSON.stringify(bodyOf(why)),
    error: why.error,
  }
}

/** What a handler said, as it is kept under an `Idempotency-Key`. */
export function keptOf(
  ports: Pick<Ports, "storeGeneration">,
  route: Route,
  result: AnyReply,
): KeptAnswer {
  const { position = null } = result
  const token = position === null ? null : tokenOf(position, ports.storeGeneration)
  if (!result.ok) {
    const { status, headers } = result.refusal
    const body = JSON.stringify(bodyOf(result.refusal))
    const kept = { status, body, position: token }
    return headers === undefined ? kept : { ...kept, headers }
  }
  const { body, status = route.success?.[0] ?? 200, location } = result
  const kept = { status, body: JSON.stringify(body), position: token }
  return location === undefined ? kept : { ...kept, headers: { location } }
}

/** A kept answer as it is sent. */
export function answerOf(kept: KeptAnswer, error: string | null, isReplay = false): Answer {
  const { status, body, position } = kept
  const headers = {
    ...kept.headers,
    ...(position === null ? {} : { "Ledger-Position": position }),
    ...(isReplay ? { "Idempotency-Replayed": "true" } : {}),
    "content-type": JSON_TYPE,
  }
  return { status, headers, body, error }
}

/** What a handler said, as it is sent: a file, a way elsewhere and a page stand in place of its JSON. */
export function answerTo(
  ports: Pick<Ports, "storeGeneration">,
  route: Route,
  result: AnyReply,
): Answer {
  const kept = keptOf(ports, route, result)
  const bare = answerOf(kept, result.ok ? null : result.refusal.error)
  if (!result.ok) return bare
  const { page, cookie } = result
  const answer = cookie === undefined ? bare : withCookie(bare, cookie)
  if (page !== undefined) {
    return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body: page }
  }
  if (result.location !== undefined || route.bodiless?.includes(kept.status) === true) {
    const { "content-type": _ofNothing, ...headers } = answer.headers
    return { ...answer, headers, body: null }
  }
  if (result.sends === undefined) return answer
  return { ...answer, headers: { "content-type": result.sends.mediaType }, body: result.sends }
}

const withCookie = (answer: Answer, cookie: string): Answer => {
  return { ...answer, headers: { ...answer.headers, "set-cookie": cookie } }
}

/**
 * A kept answer as it is sent again. What happens once for ever is told as it stands by now, except
 * for a final refusal; a read may still wait for the place of what was done by the first answer.
 */
export async function answerAgain(
  ports: Ports,
  route: Route,
  caller: Caller,
  kept: KeptAnswer,
): Promise<KeptAnswer> {
  if (route.once === undefined || kept.status >= 400) return kept
  const now = keptOf(ports, route, await route.once.replay(ports, caller, JSON.parse(kept.body)))
  return kept.status === 200 ? { ...now, position: kept.position } : now
}

/** The refusal of what happens once and came without a key to know it by. */
export function keyRequired(): Refusal {
  const message = "A purchase needs the header Idempotency-Key: a new one for each purchase."
  return refusal("idempotency_key_required", message)
}

/** An answer as a route's clients read it: of refusals, what they show to people. */
export function answerFor<A extends Answer>(client: OtherClient | undefined, answer: A): A {
  const { body, error, status, headers } = answer
  if (client === undefined || error === null || typeof body !== "string") return answer
  const { message } = JSON.parse(body) as Refusal
  const shown = client.shown({ error, status, message })
  const challenge =
    status === 401 ? { "WWW-Authenticate": `Basic realm="${client.realm}", charset="UTF-8"` } : {}
  return {
    ...answer,
    status: shown.status ?? status,
    headers: { ...headers, ...challenge, "content-type": shown.mediaType },
    body: shown.body,
  }
}

/**
 * An answer as it is sent to who asked: people in a browser see a refusal of a page as one, other clients
 * as they show it, and those of another protocol in its form.
 */
export async function shownTo(
  call: Pick<Call, "route" | "headers">,
  body: OpenBody,
  answer: Answer,
): Promise<Answer> {
  const { route } = call
  const client = clientOf(route)
  if (client !== undefined) return answerFor(client, answer)
  if (isOneOf(route) || answer.error === null) return answer
  const { errorForm, refusalTitle: title } = route
  if (errorForm !== undefined) return formed(errorForm, answer, await sentIn(body))
  if (title === undefined || !isBrowser(call)) return answer
  const { message } = JSON.parse(String(answer.body)) as { readonly message: string }
  const page = htmlPage(title, `<p>${escaped(message)}</p>`)
  return { ...answer, headers: { ...answer.headers, ...PAGE_HEADERS }, body: page }
}

/**
 * What stands in the body of a call that was refused; undefined where it cannot be read. What was refused
 * before that is read now, as much of it as anybody may send who needs no key.
 */
async function sentIn(body: OpenBody): Promise<unknown> {
  try {
    return (await body(BODY_LIMIT_BYTES)).value
  } catch (error) {
    if ([BodyTooLarge, BodyCutOff, BodyTooLate].some((kind) => error instanceof kind)) {
      return undefined
    }
    throw error
  }
}
