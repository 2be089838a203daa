/**
 * The PaymentIntents behind payments and holds. Each carries our key in its metadata (`payment`)
 * and uses it as Stripe's idempotency key. Stripe's search is not used, because its index can be an
 * hour behind.
 */
import { Stripe } from "stripe"
import type { Clock } from "../../machine/clock/port.ts"
import {
  ProviderUnavailable,
  withUnknownOutcome,
  ProviderMisconfigured,
  ProviderOutcomeUnknown,
} from "../provider-errors.ts"
import type { CardPayment, PaymentOrder, PaymentFailure } from "./port.ts"
import { httpOutcome, isNeverSentCode } from "../request-outcome.ts"

const MICROS_PER_CENT = 10_000
const MINUTE_MS = 60_000
/** Stripe's clock may be this far behind the ledger's. */
const CLOCK_SKEW_MS = 5 * MINUTE_MS
/** A payment without a customer is ordered within this time, including clock skew. */
const ORDER_WINDOW_MS = 15 * MINUTE_MS
/**
 * Stripe may forget idempotency keys after 24 hours: an older key is looked up before it is used
 * again.
 */
const KEY_LIFETIME_MS = 23 * 60 * MINUTE_MS
const PAGE_SIZE = 100
/** Shared payment tokens exist only in the preview version of Stripe's API. */
const TOKENS_API_VERSION = "2026-04-22.preview"

/** The result of an order: a PaymentIntent, or why there is none. */
type OrderOutcome =
  | { readonly intent: Stripe.PaymentIntent }
  | {
      readonly rejection: {
        readonly answer: PaymentFailure | "unconfirmed"
        readonly paymentId: string | null
      }
    }

/**
 * Finds the PaymentIntent of a payment by its id, or by our key while the id is unknown; null if
 * there is none.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function findIntent(
  stripe: Stripe,
  payment: CardPayment,
): Promise<Stripe.PaymentIntent | null> {
  const id = payment.paymentId ?? (await translateErrors("GET", findIdByKey(stripe, payment)))
  return id === null ? null : translateErrors("GET", stripe.paymentIntents.retrieve(id))
}

/** Lists include a PaymentIntent immediately, but filter only by creation time and customer. */
async function findIdByKey(
  stripe: Stripe,
  { idempotencyKey, customerId, startedAt }: CardPayment,
): Promise<string | null> {
  const gte = Math.floor((startedAt - CLOCK_SKEW_MS) / 1_000)
  const lte = Math.ceil((startedAt + ORDER_WINDOW_MS) / 1_000)
  const byTime: Stripe.PaymentIntentListParams = { created: { gte, lte }, limit: PAGE_SIZE }
  // An order on the company's card may be repeated for days; a wallet's order has no customer.
  const byCustomer: readonly Stripe.PaymentIntentListParams[] =
    customerId === null ? [] : [{ customer: customerId, created: { gte }, limit: PAGE_SIZE }]
  let found: string | null = null
  for (const params of [...byCustomer, byTime]) {
    for await (const { id, metadata, status } of stripe.paymentIntents.list(params)) {
      if (metadata["payment"] !== idempotencyKey) continue
      if (status === "succeeded") return id
      found ??= id
    }
    if (found !== null) return found
  }
  return null
}

/**
 * Orders a payment, idempotent by its key. A key that Stripe may have forgotten is looked up first.
 *
 * @param options extra parameters of a hold
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function orderIntent(
  stripe: Stripe,
  clock: Clock,
  payment: PaymentOrder,
  options: Pick<Stripe.PaymentIntentCreateParams, "capture_method">,
): Promise<OrderOutcome> {
  const isOld = clock.now() - payment.startedAt >= KEY_LIFETIME_MS
  const known = isOld || payment.paymentId !== null ? await findIntent(stripe, payment) : null
  if (known !== null) return { intent: known }
  const source = await sourceOf(stripe, payment)
  if (source === null) return { rejection: { answer: "no_card", paymentId: null } }
  try {
    return { intent: await createIntent(stripe, payment, source, options) }
  } catch (error) {
    if (isKeyReused(error)) {
      const existing = await withUnknownOutcome("Stripe", () => findIntent(stripe, payment))
      if (existing !== null) return { intent: existing }
      return { rejection: { answer: "unconfirmed", paymentId: null } }
    }
    const rejection = rejectionFromError(error)
    if (rejection === null) throw translateError("POST", error)
    return { rejection }
  }
}

/**
 * Uses up a payment's key with a PaymentIntent that is never confirmed, so that no late order can
 * use it. Returns the PaymentIntent of the key; null if an order arrived that cannot be found yet.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function reserveIdempotencyKey(
  stripe: Stripe,
  payment: CardPayment,
): Promise<Stripe.PaymentIntent | null> {
  const { idempotencyKey, companyId, amountMicros } = payment
  const params = {
    amount: amountMicros / MICROS_PER_CENT,
    currency: "usd",
    metadata: { payment: idempotencyKey, company: companyId, withdrawn: "yes" },
  }
  try {
    return await stripe.paymentIntents.create(params, { idempotencyKey })
  } catch (error) {
    if (!isKeyReused(error)) throw translateError("POST", error)
    return findIntent(stripe, payment)
  }
}

/**
 * Cancels a PaymentIntent and returns its new state; one that already ended stays unchanged.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function cancelIntent(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent> {
  try {
    return await stripe.paymentIntents.cancel(id)
  } catch (error) {
    const hasEnded =
      error instanceof Stripe.errors.StripeInvalidRequestError &&
      error.code === "payment_intent_unexpected_state"
    if (!hasEnded || error.payment_intent === undefined) throw translateError("POST", error)
    return error.payment_intent
  }
}

type PaymentSource = Pick<Stripe.PaymentIntentCreateParams, "customer" | "payment_method"> & {
  readonly payment_method_data?: { readonly shared_payment_granted_token: string }
}

/**
 * The card or wallet of a payment; null if the company's customer has no card.
 *
 * @throws ProviderUnavailable if no customer is recorded, which says nothing about the card;
 * ProviderOutcomeUnknown
 */
async function sourceOf(
  stripe: Stripe,
  { companyId, customerId, sharedPaymentToken }: PaymentOrder,
): Promise<PaymentSource | null> {
  if (sharedPaymentToken !== null) {
    return { payment_method_data: { shared_payment_granted_token: sharedPaymentToken } }
  }
  if (customerId === null) {
    throw new ProviderUnavailable(
      `${companyId} has no Stripe customer. Open the card page to create one.`,
    )
  }
  const customer = await readCustomer(stripe, customerId)
  const method = customer?.invoice_settings.default_payment_method ?? null
  if (customer === null || method === null) return null
  return {
    customer: customer.id,
    payment_method: typeof method === "string" ? method : method.id,
  }
}

/**
 * Reads a customer with the default payment method; null if Stripe no longer has it.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function readCustomer(
  stripe: Stripe,
  customerId: string,
): Promise<Stripe.Customer | null> {
  const expand = ["invoice_settings.default_payment_method"]
  try {
    const customer = await stripe.customers.retrieve(customerId, { expand })
    return customer.deleted === true ? null : customer
  } catch (error) {
    if (isNotFound(error)) return null
    throw translateError("GET", error)
  }
}

function createIntent(
  stripe: Stripe,
  { idempotencyKey, companyId, amountMicros }: PaymentOrder,
  source: PaymentSource,
  options: Pick<Stripe.PaymentIntentCreateParams, "capture_method">,
): Promise<Stripe.PaymentIntent> {
  const params = {
    amount: amountMicros / MICROS_PER_CENT,
    currency: "usd",
    confirm: true,
    metadata: { payment: idempotencyKey, company: companyId },
    automatic_payment_methods: { enabled: true, allow_redirects: "never" as const },
    // No buyer is present to confirm: a payment that needs confirmation is refused immediately.
    ...(source.customer === undefined ? {} : { off_session: true }),
    ...source,
    ...options,
  }
  const isByToken = source.payment_method_data !== undefined
  // The package's types lack the parameters of preview versions.
  return stripe.paymentIntents.create(params as object as Stripe.PaymentIntentCreateParams, {
    idempotencyKey,
    ...(isByToken ? { apiVersion: TOKENS_API_VERSION } : {}),
  })
}

const { errors } = Stripe

/** Parameters of an order that name the company's card. */
const CARD_PARAMS: ReadonlySet<unknown> = new Set(["customer", "payment_method"])
const TOKEN_PARAM = "shared_payment_granted_token"
/** Decline codes of payment methods other than cards. */
const DECLINES: ReadonlySet<unknown> = new Set([
  "payment_intent_authentication_failure",
  "payment_intent_payment_attempt_failed",
  "payment_method_customer_decline",
  "payment_method_provider_decline",
])

/** Stripe's error object, from a response or a payment's last error. */
interface StripeErrorDetails {
  readonly type?: string | undefined
  readonly code?: string | undefined
  readonly param?: string | undefined
}

/** HTTP method of a call: a read changes nothing, so its outcome is never unknown. */
type Method = "GET" | "POST"

/** Awaits a call and translates Stripe's errors to those of the port. */
export async function translateErrors<T>(method: Method, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw translateError(method, error)
  }
}

/** Translates an error of Stripe; other errors stay unchanged. */
function translateError(method: Method, error: unknown): unknown {
  if (!(error instanceof errors.StripeError)) return error
  const { statusCode } = error
  // A broken exchange has no status.
  if (statusCode !== undefined && httpOutcome(method, statusCode) === "rejected") {
    const reason = error.message.replace(/\.$/, "")
    const message = `Stripe rejects the request: ${reason}`
    return new ProviderMisconfigured(message, { cause: error })
  }
  const isUnsent =
    error instanceof errors.StripeConnectionError && isNeverSentCode(connectionErrorCode(error))
  if (method === "GET" || error instanceof errors.StripeRateLimitError || isUnsent) {
    return new ProviderUnavailable(`Stripe did not process the request: ${error.type}`, {
      cause: error,
    })
  }
  return new ProviderOutcomeUnknown(
    `Stripe did not answer; the request may have been executed: ${error.type}`,
    { cause: error },
  )
}

function connectionErrorCode({
  detail,
}: InstanceType<typeof errors.StripeConnectionError>): unknown {
  return typeof detail === "object" && "code" in detail ? detail.code : undefined
}

/** Whether another order used this key, with other parameters or concurrently. */
function isKeyReused(error: unknown): boolean {
  if (error instanceof errors.StripeIdempotencyError) return true
  return error instanceof errors.StripeError && error.statusCode === 409
}

function isNotFound(error: unknown): boolean {
  return error instanceof errors.StripeError && error.code === "resource_missing"
}

/** Why an order was refused; null if the error says nothing about the card or wallet. */
function rejectionFromError(
  error: unknown,
): { readonly answer: PaymentFailure; readonly paymentId: string | null } | null {
  if (!(error instanceof errors.StripeError)) return null
  // Stripe sends every 402 as a card error, whatever the payment method.
  const isCard = error instanceof errors.StripeCardError
  const answer = paymentFailureFromStripe(isCard ? { code: error.code, type: "card_error" } : error)
  return answer === null ? null : { answer, paymentId: error.payment_intent?.id ?? null }
}

/** Maps an error of Stripe to a payment failure; null if it has another cause. */
export function paymentFailureFromStripe({
  type,
  code,
  param,
}: StripeErrorDetails): PaymentFailure | null {
  if (code === "authentication_required") return "needs_owner"
  if (type === "card_error" || DECLINES.has(code)) return "declined"
  // The buyer sent the token; a used, insufficient or invalid one is not our fault.
  if (param?.includes(TOKEN_PARAM) === true) return "declined"
  return code === "resource_missing" && CARD_PARAMS.has(param) ? "no_card" : null
}
