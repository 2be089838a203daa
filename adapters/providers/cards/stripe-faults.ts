/** What an error of Stripe says about a call: the payment is refused, nothing was done, or the outcome is unknown. */
import { Stripe } from "stripe"
import { httpOutcome, isNeverSent } from "../outcome.ts"
import { ProviderMisconfigured, ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { PaymentRefusal } from "./port.ts"

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
interface Described {
  readonly type?: string | undefined
  readonly code?: string | undefined
  readonly param?: string | undefined
}

/** By which HTTP method a call is sent: a read changes nothing, so it leaves no outcome unknown. */
type Method = "GET" | "POST"

/** The answer of a call, with an error of Stripe as one of the port. */
export async function heard<T>(method: Method, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw translated(method, error)
  }
}

/** An error of Stripe as one of the port; any other stays as it is. */
export function translated(method: Method, error: unknown): unknown {
  if (!(error instanceof errors.StripeError)) return error
  const { statusCode } = error
  // An exchange that broke has no status.
  if (statusCode !== undefined && httpOutcome(method, statusCode) === "rejected") {
    const reason = error.message.replace(/\.$/, "")
    const message = `Stripe rejects the request: ${reason}`
    return new ProviderMisconfigured(message, { cause: error })
  }
  const isUnsent = error instanceof errors.StripeConnectionError && isNeverSent(faultOf(error))
  if (method === "GET" || error instanceof errors.StripeRateLimitError || isUnsent) {
    return new ProviderUnavailable(`Stripe took nothing: ${error.type}`, { cause: error })
  }
  return new ProviderSilent(`Stripe did not say: ${error.type}`, { cause: error })
}

function faultOf({ detail }: InstanceType<typeof errors.StripeConnectionError>): unknown {
  return typeof detail === "object" && "code" in detail ? detail.code : undefined
}

/** Whether an order of this name arrived before, with other parameters or at this very moment. */
export function isNameUsed(error: unknown): boolean {
  if (error instanceof errors.StripeIdempotencyError) return true
  return error instanceof errors.StripeError && error.statusCode === 409
}

/** Whether Stripe has no such object. */
export function isMissing(error: unknown): boolean {
  return error instanceof errors.StripeError && error.code === "resource_missing"
}

/** Why an order was refused; null where its error says nothing about the company's means of payment. */
export function refusedBy(
  error: unknown,
): { readonly answer: PaymentRefusal; readonly paymentId: string | null } | null {
  if (!(error instanceof errors.StripeError)) return null
  // Every 402 is one of these, whatever the payment method is.
  const isCard = error instanceof errors.StripeCardError
  const answer = refusalIn(isCard ? { code: error.code, type: "card_error" } : error)
  return answer === null ? null : { answer, paymentId: error.payment_intent?.id ?? null }
}

/** Why a payment was refused, by an error as Stripe describes it; null where it was for another reason. */
export function refusalIn({ type, code, param }: Described): PaymentRefusal | null {
  if (code === "authentication_required") return "needs_owner"
  if (type === "card_error" || DECLINES.has(code)) return "declined"
  // The buyer sent the token: one that is used up, too small or none is no fault of ours.
  if (param?.includes(TOKEN_PARAM) === true) return "declined"
  return code === "resource_missing" && CARD_PARAMS.has(param) ? "no_card" : null
}
