/**
 * Payments by Stripe. A company is the customer whose metadata names it (`company`), its card that
 * customer's default payment method; a payment is a PaymentIntent whose metadata names it
 * (`payment`), made once by its name as Stripe's idempotency key.
 */
import { Stripe } from "stripe"
import type {
  CardPayment,
  CardPages,
  Cards,
  HoldAnswer,
  OrderedPayment,
  PaymentAnswer,
  PaymentKnowledge,
  PaymentRefusal,
} from "./port.ts"
import { heard, translated } from "./stripe-faults.ts"
import { findCustomer, openStripePages } from "./stripe-pages.ts"

const TIMEOUT_MS = 8_000
const MICROS_PER_CENT = 10_000
/** Shared payment tokens are in the preview of Stripe's API alone. */
const TOKENS_VERSION = "2026-04-22.preview"

/** How Stripe is reached. */
export interface StripeSettings {
  readonly secretKey: string
  /** Another address than Stripe's own; null for that. */
  readonly url: string | null
}

/** Opens the adapter. It calls nobody before the first payment. */
export function openStripeCards({ secretKey, url }: StripeSettings): Cards & CardPages {
  const stripe = new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    // What went unanswered is asked about, by a reaction that outlives this process.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(url === null ? {} : addressOf(new URL(url))),
  })
  const ask = async (payment: CardPayment): Promise<PaymentKnowledge> => {
    const found = await find(stripe, payment)
    return found === null ? { answer: "unknown" } : answerOf(found)
  }
  return {
    ...holdsBy(stripe),
    ...openStripePages(stripe),
    ask,
    pay: async (payment) => {
      const source = await sourceOf(stripe, payment)
      if (source === null) return { answer: "no_card" }
      try {
        return answerOf(await create(stripe, payment, source, {}))
      } catch (error) {
        const known = isOtherPayment(error) ? await ask(payment) : refusedBy(error)
        if (known !== null && known.answer !== "unknown") return known
        throw translated(error)
      }
    },
    withdraw: async (payment) => {
      const known = await ask(payment)
      return known.answer === "unknown" ? occupy(stripe, payment) : known
    },
  }
}

function addressOf({ protocol, hostname, port }: URL) {
  const isPlain = protocol === "http:"
  return {
    protocol: isPlain ? ("http" as const) : ("https" as const),
    host: hostname,
    port: port === "" ? (isPlain ? "80" : "443") : port,
  }
}

/** Sums that cards hold for a moment: payments that wait to be captured, and are cancelled instead. */
function holdsBy(stripe: Stripe): Pick<Cards, "hold" | "askHold" | "release"> {
  const askHold: Cards["askHold"] = async (hold) => {
    const found = await find(stripe, hold)
    return found === null ? { answer: "unknown" } : holdAnswerOf(found)
  }
  return {
    askHold,
    hold: async (hold) => {
      const ordered = { ...hold, sharedPaymentToken: null }
      const source = await sourceOf(stripe, ordered)
      if (source === null) return { answer: "no_card" }
      try {
        return holdAnswerOf(await create(stripe, ordered, source, { capture_method: "manual" }))
      } catch (error) {
        const known = isOtherPayment(error) ? await askHold(hold) : refusedBy(error)
        if (known !== null && known.answer !== "unknown") return known
        throw translated(error)
      }
    },
    release: async (hold, paymentId) => {
      // A search may not find yet what was made a moment ago.
      const known =
        paymentId === null ? await askHold(hold) : { answer: "held" as const, paymentId }
      if (known.answer === "unknown") return occupy(stripe, hold)
      if (known.answer !== "held") return known
      await cancel(stripe, known.paymentId)
      return { answer: "released" }
    },
  }
}

/** The PaymentIntent of this name; null where none is found. */
async function find(stripe: Stripe, { name }: CardPayment): Promise<Stripe.PaymentIntent | null> {
  const query = `metadata['payment']:'${name}'`
  const { data } = await heard(stripe.paymentIntents.search({ query, limit: 10 }))
  return data.find(({ status }) => status === "succeeded") ?? data[0] ?? null
}

type Source = Pick<Stripe.PaymentIntentCreateParams, "customer" | "payment_method"> & {
  readonly payment_method_data?: { readonly shared_payment_granted_token: string }
}

/** What a payment is taken from; null where the company has no card. */
async function sourceOf(
  stripe: Stripe,
  { companyId, sharedPaymentToken }: OrderedPayment,
): Promise<Source | null> {
  if (sharedPaymentToken !== null) {
    return { payment_method_data: { shared_payment_granted_token: sharedPaymentToken } }
  }
  const customer = await findCustomer(stripe, companyId)
  const method = customer?.invoice_settings.default_payment_method ?? null
  if (customer === null || method === null) return null
  const payment_method = typeof method === "string" ? method : method.id
  return { customer: customer.id, payment_method }
}

function create(
  stripe: Stripe,
  { name, companyId, amountMicros }: OrderedPayment,
  source: Source,
  more: Pick<Stripe.PaymentIntentCreateParams, "capture_method">,
): Promise<Stripe.PaymentIntent> {
  const params = {
    amount: amountMicros / MICROS_PER_CENT,
    currency: "usd",
    confirm: true,
    metadata: { payment: name, company: companyId },
    automatic_payment_methods: { enabled: true, allow_redirects: "never" as const },
    // Nobody sits at a screen to confirm: what needs that is refused at once.
    ...(source.customer === undefined ? {} : { off_session: true }),
    ...source,
    ...more,
  }
  const isByToken = source.payment_method_data !== undefined
  // The types of the package know nothing of previews.
  return stripe.paymentIntents.create(params as object as Stripe.PaymentIntentCreateParams, {
    idempotencyKey: name,
    ...(isByToken ? { apiVersion: TOKENS_VERSION } : {}),
  })
}

/** Uses up a payment's name with one that is never confirmed, so that no late order can use it. */
async function occupy(
  stripe: Stripe,
  { name, companyId, amountMicros }: CardPayment,
): Promise<{ readonly answer: "payment_failed" }> {
  const params = {
    amount: amountMicros / MICROS_PER_CENT,
    currency: "usd",
    metadata: { payment: name, company: companyId, withdrawn: "yes" },
  }
  const made = await heard(stripe.paymentIntents.create(params, { idempotencyKey: name }))
  await cancel(stripe, made.id)
  return { answer: "payment_failed" }
}

/** Cancels a PaymentIntent; one that is cancelled stays so. */
async function cancel(stripe: Stripe, paymentId: string): Promise<void> {
  try {
    await stripe.paymentIntents.cancel(paymentId)
  } catch (error) {
    const isRefused = error instanceof Stripe.errors.StripeInvalidRequestError
    if (!isRefused || error.payment_intent?.status !== "canceled") throw translated(error)
  }
}

/** What a PaymentIntent says of its payment. */
function answerOf(intent: Stripe.PaymentIntent): PaymentAnswer {
  const { id: paymentId, status, last_payment_error: error } = intent
  switch (status) {
    case "succeeded":
      return { answer: "paid", paymentId }
    case "processing":
      return { answer: "processing", paymentId }
    case "requires_action":
      return { answer: "needs_owner" }
    case "requires_payment_method":
      return { answer: error === null ? "payment_failed" : reasonOf(error) }
    case "canceled":
      return { answer: "payment_failed" }
    default:
      return { answer: "unconfirmed", paymentId }
  }
}

/** What a PaymentIntent says of its hold. */
function holdAnswerOf(intent: Stripe.PaymentIntent): HoldAnswer {
  const { id: paymentId, status, metadata, last_payment_error: error } = intent
  if (status === "requires_capture") return { answer: "held", paymentId }
  if (status === "canceled" && metadata["withdrawn"] === undefined && error === null) {
    return { answer: "released" }
  }
  const { answer } = answerOf(intent)
  // Somebody took by hand what was to be held: the card is good, and nothing is held any more.
  return { answer: answer === "paid" ? "released" : answer }
}

function reasonOf({ code, type }: { readonly code?: string | undefined; readonly type: string }) {
  if (code === "authentication_required") return "needs_owner" as const
  return type === "card_error" ? ("declined" as const) : ("payment_failed" as const)
}

/** Whether the name was used before, with other words or at this very moment. */
function isOtherPayment(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeIdempotencyError
}

/** The no of an error that is one; null where it says nothing of the payment. */
function refusedBy(error: unknown): { readonly answer: PaymentRefusal } | null {
  if (error instanceof Stripe.errors.StripeCardError) {
    return { answer: reasonOf({ code: error.code, type: "card_error" }) }
  }
  const isRefused = error instanceof Stripe.errors.StripeInvalidRequestError
  return isRefused ? { answer: "payment_failed" } : null
}
