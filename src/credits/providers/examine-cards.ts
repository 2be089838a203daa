/** What `/readyz` and `doctor` say of the payment processor. */
import { isOutside } from "../../../adapters/providers/outside.ts"
import type { Probe } from "../../frame/http/health.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { cardSettings } from "./cards.ts"

const CHECK = "cards"
const FIX =
  "the log names what the processor rejects: fix CARDS_STRIPE_KEY or the account's settings, then order again"

/** Whether the processor takes orders, by the last one that this process sent. Calls of the API go on without it. */
export const cardsProbe: Probe = {
  name: CHECK,
  isNeeded: false,
  fix: FIX,
  look: async ({ cards }) => {
    const fault = cards.misconfigured()
    if (fault !== null) throw fault
  },
}

/** Whether Stripe takes the key; nothing where payments go to the built-in processor. */
export async function examineCards({ settings }: Examined): Promise<readonly Finding[]> {
  const { CARDS_STRIPE_KEY: secretKey, CARDS_STRIPE_URL: url = null } = settings(cardSettings)
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
