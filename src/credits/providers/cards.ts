/** The payment processor: the built-in one, or Stripe where a key of it is set. */
import { z } from "zod"
import { CARDS_SIMULATOR, openSimulatedCards } from "../../../adapters/providers/cards/simulator.ts"
import type {
  CardSetupPages,
  CardProcessor,
  SimulatedCards,
} from "../../../adapters/providers/cards/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Provider } from "../../frame/provider.ts"
import { defineSettings } from "../../frame/settings.ts"
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import type { Probe } from "../../frame/http/health.ts"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly cards: CardProcessor
    /** The built-in payment processor's cards; null where payments go to a real one. */
    readonly simulatedCards: SimulatedCards | null
    /** The processor's own pages for cards; null where it has none. */
    readonly cardPages: CardSetupPages | null
  }
}

/** Which payment processor takes payments. */
export const cardSettings = defineSettings({
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
export const cardsProvider: Provider = {
  from: import.meta.url,
  name: "cards",
  chosenBy: (given) => (given["CARDS_STRIPE_KEY"] === undefined ? null : "CARDS_STRIPE_KEY"),
  takesMoney: true,
  simulator: CARDS_SIMULATOR,
  open: async (outside) => {
    const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } =
      outside.settings(cardSettings)
    if (secretKey === undefined) {
      const builtIn = openSimulatedCards(outside)
      return { cards: builtIn, simulatedCards: builtIn, cardPages: null }
    }
    try {
      const { openStripeCards } = await import("../../../adapters/providers/cards/stripe.ts")
      const stripe = openStripeCards({ secretKey, url, clock: outside.clock })
      return { cards: stripe, simulatedCards: null, cardPages: stripe }
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
  isRequired: false,
  fix: FIX,
  check: async (ports) => {
    const fault = ports.cards.configurationError()
    if (fault !== null) throw fault
  },
}

/** Whether Stripe takes the key; nothing where payments go to the built-in processor. */
export async function examineCards(examined: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } =
    examined.settings(cardSettings)
  if (secretKey === undefined) return []
  try {
    const { checkStripeConnection } = await import("../../../adapters/providers/cards/stripe.ts")
    await checkStripeConnection({ secretKey, url })
    return [okFinding(CHECK, "Stripe takes the key")]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") {
      const says = "CARDS_STRIPE_KEY is set, and the package stripe is not installed"
      return [{ check: CHECK, state: "wrong", says, fix: "npm install, without --omit=optional" }]
    }
    if (!isProviderError(error)) throw error
    const fix = "check CARDS_STRIPE_KEY and CARDS_STRIPE_URL, and that this machine reaches Stripe"
    return [{ check: CHECK, state: "wrong", says: error.message, fix }]
  }
}
