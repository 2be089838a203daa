/** The payment processor: the built-in one, or Stripe where a key of it is set. */
import { z } from "zod"
import { CARDS, openBuiltInCards } from "../../../adapters/providers/cards/built-in.ts"
import type { CardPages, Cards, TestCards } from "../../../adapters/providers/cards/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Provider } from "../../frame/provider.ts"
import { settings } from "../../frame/settings.ts"
import { isOutside } from "../../../adapters/providers/outside.ts"
import type { Probe } from "../../frame/http/health.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly cards: Cards
    /** The built-in payment processor's cards; null where payments go to a real one. */
    readonly testCards: TestCards | null
    /** The processor's own pages for cards; null where it has none. */
    readonly cardPages: CardPages | null
  }
}

/** Which payment processor takes payments. */
export const cardSettings = settings({
  from: import.meta.url,
  schema: z.object({
    CARDS_STRIPE_KEY: z
      .string()
      .regex(/^(sk|rk)_\w+$/, "must be a secret key of Stripe: sk_… or rk_…")
      .optional(),
    CARDS_STRIPE_URL: z
      .url({ protocol: /^https?$/, error: "must be an address such as https://api.stripe.com" })
      .optional(),
  }),
  secret: ["CARDS_STRIPE_KEY"],
})

/**
 * Takes payments. Only where Stripe does is its package loaded, which is an optional one.
 *
 * @throws StartupFault where that package is not installed
 */
export const cards: Provider = {
  from: import.meta.url,
  name: "cards",
  chosenBy: (given) => (given["CARDS_STRIPE_KEY"] === undefined ? null : "CARDS_STRIPE_KEY"),
  takesMoney: true,
  simulator: CARDS,
  open: async (outside) => {
    const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } =
      outside.settings(cardSettings)
    if (secretKey === undefined) {
      const builtIn = openBuiltInCards(outside)
      return { cards: builtIn, testCards: builtIn, cardPages: null }
    }
    try {
      const { openStripeCards } = await import("../../../adapters/providers/cards/stripe.ts")
      const stripe = openStripeCards({ secretKey, url, clock: outside.clock })
      return { cards: stripe, testCards: null, cardPages: stripe }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error
      const message =
        "CARDS_STRIPE_KEY is set, and the package stripe is not installed: npm install, without " +
        "--omit=optional."
      throw new StartupFault(message, error)
    }
  },
}

const CHECK = "cards"

const FIX =
  "the log names what the processor rejects: fix CARDS_STRIPE_KEY or the account's settings, then order again"

/** Whether the processor takes orders, by the last one that this process sent. Calls of the API go on without it. */
export const cardsProbe: Probe = {
  name: CHECK,
  isNeeded: false,
  fix: FIX,
  look: async (ports) => {
    const fault = ports.cards.misconfigured()
    if (fault !== null) throw fault
  },
}

/** Whether Stripe takes the key; nothing where payments go to the built-in processor. */
export async function examineCards(examined: Examined): Promise<readonly Finding[]> {
  const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } =
    examined.settings(cardSettings)
  if (secretKey === undefined) return []
  try {
    const { tryStripe } = await import("../../../adapters/providers/cards/stripe.ts")
    await tryStripe({ secretKey, url })
    return [well(CHECK, "Stripe takes the key")]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") {
      const says = "CARDS_STRIPE_KEY is set, and the package stripe is not installed"
      return [{ check: CHECK, state: "wrong", says, fix: "npm install, without --omit=optional" }]
    }
    if (!isOutside(error)) throw error
    const fix = "check CARDS_STRIPE_KEY and CARDS_STRIPE_URL, and that this machine reaches Stripe"
    return [{ check: CHECK, state: "wrong", says: error.message, fix }]
  }
}
