/** What errors of Stripe say of a call: that nothing was done, or that nobody knows. */
import { Stripe } from "stripe"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"

/** Faults of a connection that was never made. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])

/** The answer of a call, with an error of Stripe as one of the port. */
export async function heard<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw translated(error)
  }
}

/** An error of Stripe as one of the port; any other stays what it is. */
export function translated(error: unknown): unknown {
  const { errors } = Stripe
  if (
    error instanceof errors.StripeRateLimitError ||
    error instanceof errors.StripeAuthenticationError ||
    error instanceof errors.StripePermissionError ||
    (error instanceof errors.StripeConnectionError && NEVER_SENT.has(faultOf(error)))
  ) {
    return new ProviderUnavailable(`Stripe took nothing: ${error.type}`, { cause: error })
  }
  if (error instanceof errors.StripeError) {
    return new ProviderSilent(`Stripe did not say: ${error.type}`, { cause: error })
  }
  return error
}

function faultOf({ detail }: InstanceType<typeof Stripe.errors.StripeConnectionError>): unknown {
  return typeof detail === "object" && "code" in detail ? detail.code : undefined
}
