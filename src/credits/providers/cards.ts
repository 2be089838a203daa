/** The payment processor: Stripe if its key is set, else the simulator. */
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
    /** The simulator's cards; null with a real processor. */
    readonly simulatedCards: SimulatedCards | null
    /** The processor's own pages for cards; null if it has none. */
    readonly cardPages: CardSetupPages | null
  }
}

/** Settings of the payment processor. */
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
 * Provider of payments. The optional package of Stripe is loaded only if Stripe is configured.
 *
 * @throws StartupFault if that package is not installed
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
      const simulated = openSimulatedCards(outside)
      return { cards: simulated, simulatedCards: simulated, cardPages: null }
    }
    try {
      const { openStripeCards } = await import("../../../adapters/providers/cards/stripe.ts")
      const stripe = openStripeCards({ secretKey, url, clock: outside.clock })
      return { cards: stripe, simulatedCards: null, cardPages: stripe }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error
      const message =
        "CARDS_STRIPE_KEY is set, but the package stripe is not installed. Run npm install without " +
        "--omit=optional."
      throw new StartupFault(message, error)
    }
  },
}

const CHECK = "cards"

const FIX =
  "read in the log what the processor rejects, fix CARDS_STRIPE_KEY or the account's settings, and try a payment again"

/** Whether the processor accepted this process's last order. The API works without it. */
export const cardsProbe: Probe = {
  name: CHECK,
  isRequired: false,
  fix: FIX,
  check: async (ports) => {
    const fault = ports.cards.configurationError()
    if (fault !== null) throw fault
  },
}

/** Checks the Stripe key; no finding with the simulator. */
export async function examineCards(examined: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } =
    examined.settings(cardSettings)
  if (secretKey === undefined) return []
  try {
    const { checkStripeConnection } = await import("../../../adapters/providers/cards/stripe.ts")
    await checkStripeConnection({ secretKey, url })
    return [okFinding(CHECK, "Stripe accepts the key")]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") {
      const says = "CARDS_STRIPE_KEY is set, but the package stripe is not installed"
      return [
        { check: CHECK, state: "wrong", says, fix: "run npm install without --omit=optional" },
      ]
    }
    if (!isProviderError(error)) throw error
    const fix = "check CARDS_STRIPE_KEY and CARDS_STRIPE_URL, and that this machine reaches Stripe"
    return [{ check: CHECK, state: "wrong", says: error.message, fix }]
  }
}
