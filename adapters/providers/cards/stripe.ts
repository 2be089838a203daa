/**
 * Card payments by Stripe. A company is a customer with its card as the default payment method; a
 * payment or a hold is a PaymentIntent (`stripe-intents.ts`).
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

/** How to reach Stripe. */
export interface StripeSettings {
  readonly secretKey: string
  /** Another address than Stripe's own; null for Stripe's. */
  readonly url: string | null
  /** The clock of `startedAt`. */
  readonly clock: Clock
}

/** Opens the adapter; it connects for the first payment. */
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
 * Checks the connection with the same read that finds payments; changes nothing.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function checkStripeConnection(account: Omit<StripeSettings, "clock">): Promise<void> {
  await translateErrors("GET", createClient(account).paymentIntents.list({ limit: 1 }))
}

function createClient({ secretKey, url }: Omit<StripeSettings, "clock">): Stripe {
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    // A reaction that survives this process checks unanswered calls.
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
      const order = await orderIntent(stripe, clock, payment, {})
      return "intent" in order ? paymentAnswerOf(order.intent) : order.rejection
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

/** Holds: payments with manual capture that are canceled instead of captured. */
function stripeHolds(
  stripe: Stripe,
  clock: Clock,
): Pick<CardProcessor, "hold" | "checkHoldStatus" | "release"> {
  return {
    hold: async (hold) => {
      const orderParams = { ...hold, sharedPaymentToken: null }
      const order = await orderIntent(stripe, clock, orderParams, { capture_method: "manual" })
      return "intent" in order ? holdAnswerOf(order.intent) : { answer: order.rejection.answer }
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
      const released = holdAnswerOf(await cancelIntent(stripe, found.id))
      if (released.answer === "held")
        throw new ProviderOutcomeUnknown("Stripe still holds the amount after the cancellation")
      return released
    },
  }
}

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
      // Without an error it was never confirmed; an error about our account is not a failure
      // either.
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

function holdAnswerOf(intent: Stripe.PaymentIntent): HoldAnswer {
  const { id: paymentId, status, latest_charge: charge, last_payment_error: error } = intent
  if (status === "requires_capture") return { answer: "held", paymentId }
  // A hold that was canceled before it was placed has no charge.
  if (status === "canceled" && charge !== null && error === null) return { answer: "released" }
  const { answer } = paymentAnswerOf(intent)
  // A person captured the hold in Stripe's dashboard: the card is good, and nothing is held any
  // more.
  return { answer: answer === "paid" ? "released" : answer }
}

function openStripeSetupPages(stripe: Stripe): CardSetupPages {
  return {
    ensureCustomer: async (companyId, formerId) => {
      const former = formerId === null ? null : await readCustomer(stripe, formerId)
      if (former !== null) return former.id
      const params = { description: companyId, metadata: { company: companyId } }
      // Concurrent calls get the same customer; after a deleted customer the key is a new one.
      const after = formerId === null ? "" : `-after-${formerId}`
      const idempotencyKey = `customer-${companyId}${after}`
      return (await translateErrors("POST", stripe.customers.create(params, { idempotencyKey }))).id
    },
    openPage: async (customerId, returnTo) => {
      const session = stripe.billingPortal.sessions.create({
        customer: customerId,
        return_url: returnTo,
        flow_data: { type: "payment_method_update" },
      })
      return (await translateErrors("POST", session)).url
    },
    cardAddedAt: async (customerId) => {
      const customer = await readCustomer(stripe, customerId)
      const method = customer?.invoice_settings.default_payment_method ?? null
      return method === null || typeof method === "string" ? null : method.created * 1_000
    },
  }
}
