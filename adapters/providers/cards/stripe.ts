/**
 * Payments by Stripe. A company is the customer whose id its account records, its card that customer's
 * default payment method; a payment or a hold is a PaymentIntent (`stripe-intents.ts`).
 */
import { Stripe } from "stripe"
import type { Clock } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown } from "../provider-errors.ts"
import { trackConfigurationError } from "./simulator.ts"
import type { CardSetupPages, CardProcessor, HoldAnswer, PaymentAnswer } from "./port.ts"
import {
  translateErrors,
  paymentFailureFromStripe,
  cancelIntent,
  findIntent,
  reserveIdempotencyKey,
  orderIntent,
  readCustomer,
} from "./stripe-intents.ts"

const TIMEOUT_MS = 8_000

/** How Stripe is reached. */
export interface StripeSettings {
  readonly secretKey: string
  /** Another address than Stripe's own; null for that. */
  readonly url: string | null
  /** The clock by which payments are begun. */
  readonly clock: Clock
}

/** Opens the adapter. It calls nobody before the first payment. */
export function openStripeCards({
  clock,
  ...account
}: StripeSettings): CardProcessor & CardSetupPages {
  const stripe = createClient(account)
  const cards = trackConfigurationError({
    ...stripePayments(stripe, clock),
    ...stripeHolds(stripe, clock),
  })
  return { ...cards, ...openStripeSetupPages(stripe) }
}

/**
 * Asks Stripe for what payments are looked up by; changes nothing.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function checkStripeConnection(account: Omit<StripeSettings, "clock">): Promise<void> {
  await translateErrors("GET", createClient(account).paymentIntents.list({ limit: 1 }))
}

function createClient({ secretKey, url }: Omit<StripeSettings, "clock">): Stripe {
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    // What went unanswered is asked about, by a reaction that outlives this process.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(url === null ? {} : stripeHostOptions(new URL(url))),
  })
}

function stripeHostOptions({ protocol, hostname, port }: URL) {
  const isPlain = protocol === "http:"
  return {
    protocol: isPlain ? ("http" as const) : ("https" as const),
    host: hostname,
    port: port === "" ? (isPlain ? "80" : "443") : port,
  }
}

function stripePayments(
  stripe: Stripe,
  clock: Clock,
): Pick<CardProcessor, "pay" | "checkPaymentStatus" | "cancelPayment"> {
  return {
    pay: async (payment) => {
      const made = await orderIntent(stripe, clock, payment, {})
      return "intent" in made ? paymentAnswerOf(made.intent) : made.rejection
    },
    checkPaymentStatus: async (payment) => {
      const found = await findIntent(stripe, payment)
      return found === null ? { answer: "unknown" } : paymentAnswerOf(found)
    },
    cancelPayment: async (payment) => {
      const found =
        (await findIntent(stripe, payment)) ?? (await reserveIdempotencyKey(stripe, payment))
      if (found === null) return { answer: "unconfirmed", paymentId: null }
      const known = paymentAnswerOf(found)
      if (known.answer !== "unconfirmed") return known
      return paymentAnswerOf(await cancelIntent(stripe, found.id))
    },
  }
}

/** Sums that cards hold for a moment: payments that wait to be captured, and are cancelled instead. */
function stripeHolds(
  stripe: Stripe,
  clock: Clock,
): Pick<CardProcessor, "hold" | "checkHoldStatus" | "release"> {
  return {
    hold: async (hold) => {
      const order = { ...hold, sharedPaymentToken: null }
      const made = await orderIntent(stripe, clock, order, { capture_method: "manual" })
      return "intent" in made ? holdAnswerOf(made.intent) : { answer: made.rejection.answer }
    },
    checkHoldStatus: async (hold) => {
      const found = await findIntent(stripe, hold)
      return found === null ? { answer: "unknown" } : holdAnswerOf(found)
    },
    release: async (hold) => {
      const found = (await findIntent(stripe, hold)) ?? (await reserveIdempotencyKey(stripe, hold))
      if (found === null) return { answer: "unconfirmed" }
      const known = holdAnswerOf(found)
      if (known.answer !== "held" && known.answer !== "unconfirmed") return known
      const left = holdAnswerOf(await cancelIntent(stripe, found.id))
      if (left.answer === "held") throw new ProviderOutcomeUnknown("Stripe still holds the sum")
      return left
    },
  }
}

/** What a PaymentIntent says of its payment. */
function paymentAnswerOf(intent: Stripe.PaymentIntent): PaymentAnswer {
  const { id: paymentId, status, latest_charge: charge, last_payment_error: error } = intent
  switch (status) {
    case "succeeded":
      return { answer: "paid", paymentId }
    case "processing":
      return { answer: "processing", paymentId }
    case "requires_action":
      return { answer: "needs_owner", paymentId }
    case "requires_payment_method":
      // Without an error it was made and never confirmed. One about our account is no refusal either.
      return {
        answer: (error === null ? null : paymentFailureFromStripe(error)) ?? "unconfirmed",
        paymentId,
      }
    case "canceled": {
      const isCardUntried = charge === null && error === null
      const failed = { answer: "payment_failed", paymentId } as const
      return isCardUntried ? { ...failed, isCardUntried } : failed
    }
    default:
      return { answer: "unconfirmed", paymentId }
  }
}

/** What a PaymentIntent says of its hold. */
function holdAnswerOf(intent: Stripe.PaymentIntent): HoldAnswer {
  const { id: paymentId, status, latest_charge: charge, last_payment_error: error } = intent
  if (status === "requires_capture") return { answer: "held", paymentId }
  // One that was cancelled before it was held has no charge.
  if (status === "canceled" && charge !== null && error === null) return { answer: "released" }
  const { answer } = paymentAnswerOf(intent)
  // Somebody took by hand what was to be held: the card is good, and nothing is held any more.
  return { answer: answer === "paid" ? "released" : answer }
}

/** Opens them. It calls nobody before the first page. */
function openStripeSetupPages(stripe: Stripe): CardSetupPages {
  return {
    ensureCustomer: async (companyId, formerId) => {
      const former = formerId === null ? null : await readCustomer(stripe, formerId)
      if (former !== null) return former.id
      const params = { description: companyId, metadata: { company: companyId } }
      // Two who ask for it at once get the same one; after one that is gone there is another.
      const after = formerId === null ? "" : `-after-${formerId}`
      const idempotencyKey = `customer-${companyId}${after}`
      return (await translateErrors("POST", stripe.customers.create(params, { idempotencyKey }))).id
    },
    openPage: async (customerId, returnTo) => {
      const asked = stripe.billingPortal.sessions.create({
        customer: customerId,
        return_url: returnTo,
        flow_data: { type: "payment_method_update" },
      })
      return (await translateErrors("POST", asked)).url
    },
    cardAddedAt: async (customerId) => {
      const customer = await readCustomer(stripe, customerId)
      const method = customer?.invoice_settings.default_payment_method ?? null
      return method === null || typeof method === "string" ? null : method.created * 1_000
    },
  }
}
