/**
 * A simulator of the parts of Stripe's HTTP API that the adapter calls, by its documentation: idempotent creation,
 * lists, retrieval, cancellation, typed errors. Its search is an hour behind; tests check that it is not used.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { CardBehavior } from "./cards-contract.ts"
import { PAYMENTS_STARTED_AT } from "./cards-contract.ts"

/** What the simulator does with the next orders; `halted` creates a payment and never confirms it. */
export type StripeBehavior = CardBehavior | "halted"

/** An error with which Stripe answers an order. */
interface OrderError {
  readonly status: number
  readonly type: string
  readonly code?: string
  readonly param?: string
}

interface Answer {
  readonly status: number
  readonly body: object
}

function refused({ status, ...error }: OrderError, more: object = {}): Answer {
  return { status, body: { error: { message: "No.", ...error, ...more } } }
}

/** How far the search index is behind. */
const SEARCH_LAG_MS = 3_600_000

/** The fields of a PaymentIntent that the adapter reads. */
export interface Intent {
  readonly id: string
  readonly object: "payment_intent"
  readonly amount: number
  /** Seconds. */
  readonly created: number
  readonly customer: string | null
  readonly metadata: Readonly<Record<string, string>>
  status: string
  last_payment_error: object | null
  latest_charge: string | null
}

/** The requested page of a list, newest first. */
function listIntents(intents: readonly Intent[], form: URLSearchParams): Answer {
  const [gte, lte] = [form.get("created[gte]"), form.get("created[lte]")]
  const customer = form.get("customer")
  const found = intents
    .filter(({ created }) => gte === null || created >= Number(gte))
    .filter(({ created }) => lte === null || created <= Number(lte))
    .filter((one) => customer === null || one.customer === customer)
    .toReversed()
  const after = form.get("starting_after")
  const rest = after === null ? found : found.slice(found.findIndex(({ id }) => id === after) + 1)
  const data = rest.slice(0, Number(form.get("limit") ?? 10))
  const has_more = data.length < rest.length
  return { status: 200, body: { object: "list", data, has_more, url: "/v1/payment_intents" } }
}

/** The search result, without the last hour. */
function searchIntents(intents: readonly Intent[], form: URLSearchParams, now: number): Answer {
  const name = /^metadata\['payment'\]:'(\w+)'$/.exec(form.get("query") ?? "")?.[1]
  const data = intents
    .filter(({ metadata }) => metadata["payment"] === name)
    .filter(({ created }) => created * 1_000 < now - SEARCH_LAG_MS)
  return { status: 200, body: { object: "search_result", data, has_more: false, url: "" } }
}

/** Cancels a PaymentIntent that has not ended. */
function cancelIntent(intent: Intent): Answer {
  const open = ["requires_payment_method", "requires_confirmation", "requires_capture"]
  if (!open.includes(intent.status)) {
    const code = "payment_intent_unexpected_state"
    return refused(
      { status: 400, type: "invalid_request_error", code },
      { payment_intent: { ...intent } },
    )
  }
  intent.status = "canceled"
  return { status: 200, body: { ...intent } }
}

/** The state that decides the answer to an order. */
interface IntentState {
  readonly intents: Intent[]
  readonly nextBehavior: StripeBehavior
  readonly now: () => number
}

/** Creates a PaymentIntent, and confirms it if the order says so. */
function createIntent(state: IntentState, form: URLSearchParams): Answer {
  const metadata: Record<string, string> = {}
  for (const [name, value] of form) {
    const field = /^metadata\[(\w+)\]$/.exec(name)?.[1]
    if (field !== undefined) metadata[field] = value
  }
  const intent: Intent = {
    id: `pi_${state.intents.length + 1}`,
    object: "payment_intent",
    amount: Number(form.get("amount")),
    created: Math.floor(state.now() / 1_000),
    customer: form.get("customer"),
    metadata,
    status: "requires_payment_method",
    last_payment_error: null,
    latest_charge: null,
  }
  state.intents.push(intent)
  return form.get("confirm") === "true"
    ? confirm(state, intent, form.get("capture_method") === "manual")
    : { status: 200, body: { ...intent } }
}

function confirm(state: IntentState, intent: Intent, isHold: boolean): Answer {
  switch (state.nextBehavior) {
    case "declined":
      return fail(intent, { status: 402, type: "card_error", code: "card_declined" })
    case "needs_owner":
      return fail(intent, { status: 402, type: "card_error", code: "authentication_required" })
    case "halted":
      return refused({ status: 500, type: "api_error" })
    case "processing":
      intent.status = "processing"
      break
    case "unconfirmed":
      intent.status = "requires_confirmation"
      break
    default:
      intent.status = isHold ? "requires_capture" : "succeeded"
      intent.latest_charge = `ch_${intent.id}`
  }
  return { status: 200, body: { ...intent } }
}

function fail(intent: Intent, error: OrderError): Answer {
  const { status: _status, ...described } = error
  intent.last_payment_error = described
  return refused(error, { payment_intent: { ...intent } })
}

interface ReceivedRequest {
  readonly call: string
  readonly headers: IncomingMessage["headers"]
  readonly form: URLSearchParams
}

/** A running simulator. */
export interface StripeServer {
  readonly url: string
  readonly intents: Intent[]
  readonly requests: ReceivedRequest[]
  /** The card of each customer, by company id; null for a customer without a card. */
  readonly customers: Map<string, string | null>
  /** When each customer's card was created, in seconds; default 0. */
  readonly cardsAddedAt: Map<string, number>
  nextBehavior: StripeBehavior
  /** The error that every order gets; null: `nextBehavior` decides. */
  orderError: OrderError | null
  /** The error that every read gets, or `broken` to drop the connection; null for normal answers. */
  readError: OrderError | "broken" | null
  /** Whether the answers to orders are lost. */
  isDroppingResponses: boolean
  /** Its clock, UTC milliseconds. */
  now: () => number
  readonly close: () => Promise<void>
}

/** Answers by idempotency key, with the hash of the request's parameters. */
type IdempotentAnswers = Map<string, { readonly requestHash: string; readonly answer: Answer }>

/** Starts a simulator on a free port. */
export async function startStripeServer(): Promise<StripeServer> {
  const idempotentAnswers: IdempotentAnswers = new Map()
  const server = createServer((request, response) => void serve(request, response))
  const state: StripeServer = {
    url: "",
    intents: [],
    requests: [],
    customers: new Map(),
    cardsAddedAt: new Map(),
    nextBehavior: "paid",
    orderError: null,
    readError: null,
    isDroppingResponses: false,
    now: () => PAYMENTS_STARTED_AT,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request)
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://stripe.test")
    const form = request.method === "GET" ? searchParams : new URLSearchParams(text)
    const call = `${request.method} ${pathname}`
    state.requests.push({ call, headers: request.headers, form })
    if (state.nextBehavior === "unavailable")
      return send(response, refused({ status: 429, type: "rate_limit_error", code: "rate_limit" }))
    if (request.method === "GET" && state.readError !== null) {
      if (state.readError === "broken") response.destroy()
      else send(response, refused(state.readError))
      return
    }
    const answer = answerTo(state, idempotentAnswers, call, form, request)
    const isLost = state.nextBehavior === "silent" || state.isDroppingResponses
    if (isLost && /^POST \/v1\/payment_intents($|.*\/cancel$)/.test(call)) {
      response.destroy()
      return
    }
    send(response, answer)
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

const MISSING: OrderError = { status: 404, type: "invalid_request_error", code: "resource_missing" }

function answerTo(
  state: StripeServer,
  idempotentAnswers: IdempotentAnswers,
  call: string,
  form: URLSearchParams,
  { headers }: IncomingMessage,
): Answer {
  const { intents } = state
  if (call === "GET /v1/payment_intents/search") return searchIntents(intents, form, state.now())
  if (call === "GET /v1/payment_intents") return listIntents(intents, form)
  const customer = customerCall(state, call, form)
  if (customer !== null) return customer
  const [, id, act] = /^\w+ \/v1\/payment_intents\/(\w+)(\/cancel)?$/.exec(call) ?? []
  const intent = intents.find((one) => one.id === id)
  if (id !== undefined && intent === undefined) return refused(MISSING)
  if (intent !== undefined) {
    return act === undefined ? { status: 200, body: { ...intent } } : cancelIntent(intent)
  }
  if (call !== "POST /v1/payment_intents") return refused(MISSING)
  return answerOrder(state, idempotentAnswers, String(headers["idempotency-key"]), form)
}

function answerOrder(
  state: StripeServer,
  idempotentAnswers: IdempotentAnswers,
  key: string,
  form: URLSearchParams,
): Answer {
  const requestHash = createHash("sha256").update(form.toString()).digest("hex")
  const former = idempotentAnswers.get(key)
  if (former !== undefined) {
    if (former.requestHash === requestHash) return former.answer
    return refused({ status: 400, type: "idempotency_error" })
  }
  // Invalid parameters are answered before anything is stored under the key.
  if (state.orderError !== null) return refused(state.orderError)
  if (state.nextBehavior === "misconfigured") {
    return refused({ status: 400, type: "invalid_request_error", code: "parameter_missing" })
  }
  const answer = createIntent(state, form)
  idempotentAnswers.set(key, { requestHash, answer })
  return answer
}

/** Answers the calls that create or read a customer or open its portal; null for other calls. */
function customerCall(state: StripeServer, call: string, form: URLSearchParams): Answer | null {
  if (call === "GET /v1/customers/search") {
    return { status: 200, body: { object: "search_result", data: [], has_more: false, url: "" } }
  }
  if (call === "POST /v1/customers") {
    const company = form.get("metadata[company]") ?? ""
    state.customers.set(company, state.customers.get(company) ?? null)
    return { status: 200, body: { id: `cus_${company}`, object: "customer" } }
  }
  if (call === "POST /v1/billing_portal/sessions") {
    // Stripe's answer if the portal has no settings yet.
    if (state.nextBehavior === "declined")
      return refused({ status: 400, type: "invalid_request_error" })
    const [customer, back] = [form.get("customer"), form.get("return_url") ?? ""]
    const url = `https://billing.stripe.test/${customer}?back=${encodeURIComponent(back)}`
    return { status: 200, body: { object: "billing_portal.session", url } }
  }
  const company = /^GET \/v1\/customers\/cus_(\w+)$/.exec(call)?.[1]
  if (company === undefined) return null
  const id = state.customers.get(company)
  if (id === undefined) return refused({ ...MISSING, param: "id" })
  const created = state.cardsAddedAt.get(company) ?? 0
  const card = id === null ? null : { id, object: "payment_method", created }
  const body = { id: `cus_${company}`, object: "customer" }
  return { status: 200, body: { ...body, invoice_settings: { default_payment_method: card } } }
}
