/**
 * The PaymentIntents behind payments and holds: each carries our name for it in its metadata (`payment`)
 * and is made once by that name as Stripe's idempotency key. Stripe's search is never asked, because its
 * index can be an hour behind.
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
/** A payment that names no customer is ordered within this time, with room for clocks that differ. */
const ORDER_WINDOW_MS = 15 * MINUTE_MS
/** Stripe may forget idempotency keys after 24 hours: an older name is looked up before it is used again. */
const KEY_LIFETIME_MS = 23 * 60 * MINUTE_MS
const PAGE_SIZE = 100
/** Shared payment tokens are only in the preview of Stripe's API. */
const TOKENS_API_VERSION = "2026-04-22.preview"

/** What an order came to: a PaymentIntent, or why there is none. */
type OrderOutcome =
  | { readonly intent: Stripe.PaymentIntent }
  | {
      readonly rejection: {
        readonly answer: PaymentFailure | "unconfirmed"
        readonly paymentId: string | null
      }
    }

/**
 * The PaymentIntent of a payment, by its id where that is known, else by its name; null where there is none.
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

/** Lists show a PaymentIntent as soon as it is there; when it was made and its customer are their only filters. */
async function findIdByKey(
  stripe: Stripe,
  { idempotencyKey, customerId, startedAt }: CardPayment,
): Promise<string | null> {
  const gte = Math.floor((startedAt - CLOCK_SKEW_MS) / 1_000)
  const lte = Math.ceil((startedAt + ORDER_WINDOW_MS) / 1_000)
  const ofAll: Stripe.PaymentIntentListParams = { created: { gte, lte }, limit: PAGE_SIZE }
  // An order of the company's card may be repeated for days; one of a wallet has no customer.
  const ofCustomer: readonly Stripe.PaymentIntentListParams[] =
    customerId === null ? [] : [{ customer: customerId, created: { gte }, limit: PAGE_SIZE }]
  let found: string | null = null
  for (const params of [...ofCustomer, ofAll]) {
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
 * Orders a payment once by its name. A name that Stripe may have forgotten is looked up first.
 *
 * @param more what a hold is ordered with besides
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function orderIntent(
  stripe: Stripe,
  clock: Clock,
  payment: PaymentOrder,
  more: Pick<Stripe.PaymentIntentCreateParams, "capture_method">,
): Promise<OrderOutcome> {
  const isOld = clock.now() - payment.startedAt >= KEY_LIFETIME_MS
  const known = isOld || payment.paymentId !== null ? await findIntent(stripe, payment) : null
  if (known !== null) return { intent: known }
  const source = await sourceOf(stripe, payment)
  if (source === null) return { rejection: { answer: "no_card", paymentId: null } }
  try {
    return { intent: await createIntent(stripe, payment, source, more) }
  } catch (error) {
    if (isKeyReused(error)) {
      const former = await withUnknownOutcome("Stripe", () => findIntent(stripe, payment))
      if (former !== null) return { intent: former }
      return { rejection: { answer: "unconfirmed", paymentId: null } }
    }
    const rejection = rejectionFromError(error)
    if (rejection === null) throw translateError("POST", error)
    return { rejection }
  }
}

/**
 * Uses up a payment's name with a PaymentIntent that is never confirmed, so that no late order can use it.
 * Answers the one that has the name from now on; null where an order arrived that cannot be found yet.
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
 * Cancels a PaymentIntent. Answers how it stands then: one that came to an end before stays so.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function cancelIntent(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent> {
  try {
    return await stripe.paymentIntents.cancel(id)
  } catch (error) {
    const isOther =
      error instanceof Stripe.errors.StripeInvalidRequestError &&
      error.code === "payment_intent_unexpected_state"
    if (!isOther || error.payment_intent === undefined) throw translateError("POST", error)
    return error.payment_intent
  }
}

type PaymentSource = Pick<Stripe.PaymentIntentCreateParams, "customer" | "payment_method"> & {
  readonly payment_method_data?: { readonly shared_payment_granted_token: string }
}

/**
 * What a payment is taken from; null where the company's customer has no card.
 *
 * @throws ProviderUnavailable where no customer is recorded, which says nothing about the card; ProviderOutcomeUnknown
 */
async function sourceOf(
  stripe: Stripe,
  { companyId, customerId, sharedPaymentToken }: PaymentOrder,
): Promise<PaymentSource | null> {
  if (sharedPaymentToken !== null) {
    return { payment_method_data: { shared_payment_granted_token: sharedPaymentToken } }
  }
  if (customerId === null) {
    throw new ProviderUnavailable(`No customer of Stripe is recorded for ${companyId}`)
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
 * A customer, with the default payment method; null where Stripe does not have it any more.
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
  more: Pick<Stripe.PaymentIntentCreateParams, "capture_method">,
): Promise<Stripe.PaymentIntent> {
  const params = {
    amount: amountMicros / MICROS_PER_CENT,
    currency: "usd",
    confirm: true,
    metadata: { payment: idempotencyKey, company: companyId },
    automatic_payment_methods: { enabled: true, allow_redirects: "never" as const },
    // No buyer sits at a screen to confirm: a payment that needs that is refused immediately.
    ...(source.customer === undefined ? {} : { off_session: true }),
    ...source,
    ...more,
  }
  const isByToken = source.payment_method_data !== undefined
  // The types of the package do not have the parameters of previews.
  return stripe.paymentIntents.create(params as object as Stripe.PaymentIntentCreateParams, {
    idempotencyKey,
    ...(isByToken ? { apiVersion: TOKENS_API_VERSION } : {}),
  })
}

const { errors } = Stripe

/** Parameters by which an order names the company's card. */
const CARD_PARAMS: ReadonlySet<unknown> = new Set(["customer", "payment_method"])
const TOKEN_PARAM = "shared_payment_granted_token"
/** Codes by which payment methods other than cards are declined. */
const DECLINES: ReadonlySet<unknown> = new Set([
  "payment_intent_authentication_failure",
  "payment_intent_payment_attempt_failed",
  "payment_method_customer_decline",
  "payment_method_provider_decline",
])

/** An error as Stripe describes it: in an answer, or as the last error of a payment. */
interface StripeErrorDetails {
  readonly type?: string | undefined
  readonly code?: string | undefined
  readonly param?: string | undefined
}

/** By which HTTP method a call is sent: a read changes nothing, so it leaves no outcome unknown. */
type Method = "GET" | "POST"

/** The answer of a call, with an error of Stripe as one of the port. */
export async function translateErrors<T>(method: Method, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw translateError(method, error)
  }
}

/** An error of Stripe as one of the port; any other stays as it is. */
function translateError(method: Method, error: unknown): unknown {
  if (!(error instanceof errors.StripeError)) return error
  const { statusCode } = error
  // An exchange that broke has no status.
  if (statusCode !== undefined && httpOutcome(method, statusCode) === "rejected") {
    const reason = error.message.replace(/\.$/, "")
    const message = `Stripe rejects the request: ${reason}`
    return new ProviderMisconfigured(message, { cause: error })
  }
  const isUnsent =
    error instanceof errors.StripeConnectionError && isNeverSentCode(connectionErrorCode(error))
  if (method === "GET" || error instanceof errors.StripeRateLimitError || isUnsent) {
    return new ProviderUnavailable(`Stripe took nothing: ${error.type}`, { cause: error })
  }
  return new ProviderOutcomeUnknown(`Stripe did not say: ${error.type}`, { cause: error })
}

function connectionErrorCode({
  detail,
}: InstanceType<typeof errors.StripeConnectionError>): unknown {
  return typeof detail === "object" && "code" in detail ? detail.code : undefined
}

/** Whether an order of this name arrived before, with other parameters or at this very moment. */
function isKeyReused(error: unknown): boolean {
  if (error instanceof errors.StripeIdempotencyError) return true
  return error instanceof errors.StripeError && error.statusCode === 409
}

/** Whether Stripe has no such object. */
function isNotFound(error: unknown): boolean {
  return error instanceof errors.StripeError && error.code === "resource_missing"
}

/** Why an order was refused; null where its error says nothing about the company's means of payment. */
function rejectionFromError(
  error: unknown,
): { readonly answer: PaymentFailure; readonly paymentId: string | null } | null {
  if (!(error instanceof errors.StripeError)) return null
  // Every 402 is one of these, whatever the payment method is.
  const isCard = error instanceof errors.StripeCardError
  const answer = paymentFailureFromStripe(isCard ? { code: error.code, type: "card_error" } : error)
  return answer === null ? null : { answer, paymentId: error.payment_intent?.id ?? null }
}

/** Why a payment was refused, by an error as Stripe describes it; null where it was for another reason. */
export function paymentFailureFromStripe({
  type,
  code,
  param,
}: StripeErrorDetails): PaymentFailure | null {
  if (code === "authentication_required") return "needs_owner"
  if (type === "card_error" || DECLINES.has(code)) return "declined"
  // The buyer sent the token: one that is used up, too small or none is no fault of ours.
  if (param?.includes(TOKEN_PARAM) === true) return "declined"
  return code === "resource_missing" && CARD_PARAMS.has(param) ? "no_card" : null
}
