/** Choosing the payment processor: the built-in one, or Stripe where a key of it is set. */
import type { BuiltInCardsPorts } from "../../adapters/providers/cards/built-in.ts"
import { openBuiltInCards } from "../../adapters/providers/cards/built-in.ts"
import type { Cards } from "../../adapters/providers/cards/port.ts"
import type { StripeSettings } from "../../adapters/providers/cards/stripe.ts"
import { StartupFault } from "../../adapters/postgres/embedded/startup-fault.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"

/**
 * Opens the payment processor. Only where it is Stripe is its package loaded, which is an optional
 * one.
 *
 * @throws StartupFault where that package is not installed
 */
export async function openCards(
  outside: BuiltInCardsPorts,
  stripe: StripeSettings | null,
): Promise<{ readonly cards: Cards } & Pick<AdminPorts, "testCards">> {
  if (stripe === null) {
    const cards = openBuiltInCards(outside)
    return { cards, testCards: cards }
  }
  try {
    const { openStripeCards } = await import("../../adapters/providers/cards/stripe.ts")
    return { cards: openStripeCards(stripe), testCards: null }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error
    const message =
      "CARDS_STRIPE_KEY is set, and the package stripe is not installed: npm install, without " +
      "--omit=optional."
    throw new StartupFault(message, error)
  }
}
