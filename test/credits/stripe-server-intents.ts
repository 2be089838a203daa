/** The PaymentIntents of the simulator of Stripe. */
import type { Next } from "./cards-contract.ts"

/** What the simulator does with the next orders; `halted`: it makes a payment and never confirms it. */
export type StripeNext = Next | "halted"

/** An error as Stripe answers it to an order. */
export interface OrderError {
  readonly status: number
  readonly type: string
  readonly code?: string
  readonly param?: string
}

/** An answer of the simulator. */
export interface Answer {
  readonly status: number
  readonly body: object
}

/** The answer of an error. */
export function refused({ status, ...error }: OrderError, more: object = {}): Answer {
  return { status, body: { error: { message: "No.", ...error, ...more } } }
}

/** The index of the search is so far behind. */
const SEARCH_LAG_MS = 3_600_000

/** A PaymentIntent, as far as it is looked at. */
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

/** The page that a list asks for, the newest first. */
export function listIntents(intents: readonly Intent[], form: URLSearchParams): Answer {
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

/** What the search finds: nothing of the last hour. */
export function searchIntents(
  intents: readonly Intent[],
  form: URLSearchParams,
  now: number,
): Answer {
  const name = /^metadata\['payment'\]:'(\w+)'$/.exec(form.get("query") ?? "")?.[1]
  const data = intents
    .filter(({ metadata }) => metadata["payment"] === name)
    .filter(({ created }) => created * 1_000 < now - SEARCH_LAG_MS)
  return { status: 200, body: { object: "search_result", data, has_more: false, url: "" } }
}

/** Cancels one that has not come to an end. */
export function cancelIntent(intent: Intent): Answer {
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

/** What an order is answered by. */
interface Ordering {
  readonly intents: Intent[]
  readonly next: StripeNext
  readonly now: () => number
}

/** Makes one, and confirms it where the order says so. */
export function createIntent(state: Ordering, form: URLSearchParams): Answer {
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

function confirm(state: Ordering, intent: Intent, isHold: boolean): Answer {
  switch (state.next) {
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
