/**
 * A stand-in of those parts of Stripe's HTTP API that the adapter calls, as its documentation describes
 * them: idempotent creation, search, cancelling, and errors with their types.
 */
import { createHash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Next } from "./cards-contract.ts"

/** A PaymentIntent, as far as it is looked at. */
export interface Intent {
  readonly id: string
  readonly object: "payment_intent"
  readonly amount: number
  readonly metadata: Readonly<Record<string, string>>
  status: string
  last_payment_error: object | null
}

/** A request as the stand-in heard it. */
export interface Heard {
  readonly call: string
  readonly headers: IncomingMessage["headers"]
  readonly form: URLSearchParams
}

interface Answer {
  readonly status: number
  readonly body: object
}

/** A running stand-in. */
export interface StripeServer {
  readonly url: string
  readonly intents: Intent[]
  readonly heard: Heard[]
  /** Companies that are customers, with their card; null: a customer without one. */
  readonly customers: Map<string, string | null>
  /** When their cards were made, seconds; default 0. */
  readonly cardsSince: Map<string, number>
  next: Next
  readonly close: () => Promise<void>
}

/** Starts one on a free port. */
export async function startStripeServer(): Promise<StripeServer> {
  const kept = new Map<string, { readonly words: string; readonly answer: Answer }>()
  const server = createServer((request, response) => void serve(request, response))
  const state: StripeServer = {
    url: "",
    intents: [],
    heard: [],
    customers: new Map(),
    cardsSince: new Map(),
    next: "paid",
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
    state.heard.push({ call, headers: request.headers, form })
    if (state.next === "unavailable")
      return send(response, error(429, "rate_limit_error", "rate_limit"))
    const answer = answerTo(state, kept, call, form, request)
    if (state.next === "silent" && /^POST \/v1\/payment_intents($|.*\/cancel$)/.test(call)) {
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

function error(status: number, type: string, code: string, more: object = {}): Answer {
  return { status, body: { error: { type, code, message: "No.", ...more } } }
}

function answerTo(
  state: StripeServer,
  kept: Map<string, { readonly words: string; readonly answer: Answer }>,
  call: string,
  form: URLSearchParams,
  { headers }: IncomingMessage,
): Answer {
  if (call === "GET /v1/customers/search") return list(customersOf(state, form))
  if (call === "GET /v1/payment_intents/search") {
    const wanted = named(form, "payment")
    return list(state.intents.filter(({ metadata }) => metadata["payment"] === wanted))
  }
  const customer = customerCall(state, call, form)
  if (customer !== null) return customer
  const cancelled = /^POST \/v1\/payment_intents\/(\w+)\/cancel$/.exec(call)?.[1]
  if (cancelled !== undefined) return cancel(state, cancelled)
  if (call !== "POST /v1/payment_intents") {
    return error(404, "invalid_request_error", "resource_missing")
  }
  const key = String(headers["idempotency-key"])
  const words = createHash("sha256").update(form.toString()).digest("hex")
  const former = kept.get(key)
  if (former === undefined) {
    const answer = create(state, form)
    kept.set(key, { words, answer })
    return answer
  }
  return former.words === words ? former.answer : error(400, "idempotency_error", "")
}

function list(data: readonly object[]): Answer {
  return { status: 200, body: { object: "search_result", data, has_more: false, url: "" } }
}

/** The value that a search asks for. */
function named(form: URLSearchParams, field: string): string | undefined {
  return new RegExp(`^metadata\\['${field}'\\]:'(\\w+)'$`).exec(form.get("query") ?? "")?.[1]
}

function customersOf(state: StripeServer, form: URLSearchParams): readonly object[] {
  const company = named(form, "company") ?? ""
  const card = state.customers.get(company)
  if (card === undefined) return []
  return [
    {
      id: `cus_${company}`,
      object: "customer",
      invoice_settings: { default_payment_method: card },
    },
  ]
}

/** What is answered of a customer: making one, looking at one, opening the portal for one. */
function customerCall(state: StripeServer, call: string, form: URLSearchParams): Answer | null {
  if (call === "POST /v1/customers") {
    const company = form.get("metadata[company]") ?? ""
    state.customers.set(company, state.customers.get(company) ?? null)
    return { status: 200, body: { id: `cus_${company}`, object: "customer" } }
  }
  if (call === "POST /v1/billing_portal/sessions") {
    // As Stripe answers whose portal has no settings yet.
    if (state.next === "declined") return error(400, "invalid_request_error", "")
    const [customer, back] = [form.get("customer"), form.get("return_url") ?? ""]
    const url = `https://billing.stripe.test/${customer}?back=${encodeURIComponent(back)}`
    return { status: 200, body: { object: "billing_portal.session", url } }
  }
  const company = /^GET \/v1\/customers\/cus_(\w+)$/.exec(call)?.[1]
  if (company === undefined) return null
  const id = state.customers.get(company) ?? null
  const created = state.cardsSince.get(company) ?? 0
  const card = id === null ? null : { id, object: "payment_method", created }
  const body = { id: `cus_${company}`, object: "customer" }
  return { status: 200, body: { ...body, invoice_settings: { default_payment_method: card } } }
}

function cancel(state: StripeServer, id: string): Answer {
  const intent = state.intents.find((one) => one.id === id)
  if (intent === undefined) return error(404, "invalid_request_error", "resource_missing")
  if (!["requires_payment_method", "requires_capture"].includes(intent.status)) {
    const more = { payment_intent: { ...intent } }
    return error(400, "invalid_request_error", "payment_intent_unexpected_state", more)
  }
  intent.status = "canceled"
  return { status: 200, body: intent }
}

function create(state: StripeServer, form: URLSearchParams): Answer {
  const metadata: Record<string, string> = {}
  for (const [name, value] of form) {
    const field = /^metadata\[(\w+)\]$/.exec(name)?.[1]
    if (field !== undefined) metadata[field] = value
  }
  const intent: Intent = {
    id: `pi_${state.intents.length + 1}`,
    object: "payment_intent",
    amount: Number(form.get("amount")),
    metadata,
    status: "requires_payment_method",
    last_payment_error: null,
  }
  state.intents.push(intent)
  return form.get("confirm") === "true"
    ? confirm(state, intent, form.get("capture_method") === "manual")
    : { status: 200, body: { ...intent } }
}

function confirm(state: StripeServer, intent: Intent, isHold: boolean): Answer {
  switch (state.next) {
    case "declined":
      return refuse(intent, "card_error", "card_declined")
    case "needs_owner":
      return refuse(intent, "card_error", "authentication_required")
    case "payment_failed":
      return refuse(intent, "invalid_request_error", "payment_method_unactivated")
    case "processing":
      intent.status = "processing"
      break
    case "unconfirmed":
      intent.status = isHold ? "requires_confirmation" : "requires_capture"
      break
    default:
      intent.status = isHold ? "requires_capture" : "succeeded"
  }
  return { status: 200, body: { ...intent } }
}

function refuse(intent: Intent, type: string, code: string): Answer {
  intent.last_payment_error = { type, code }
  return error(type === "card_error" ? 402 : 400, type, code, { payment_intent: { ...intent } })
}
