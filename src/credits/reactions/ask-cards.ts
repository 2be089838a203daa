/** Asking the payment processor, where its silence is an answer too. */
import type { Cards } from "../../../adapters/providers/cards/port.ts"
import { CardsSilent, CardsUnavailable } from "../../../adapters/providers/cards/port.ts"
import type { Ports } from "../../frame/ports.ts"
import { inTime } from "../../frame/effects/in-time.ts"

/** What the processor answers; null where it did not, or not in time. */
export async function askCards<T>(
  ports: Ports,
  ask: (cards: Cards) => Promise<T>,
): Promise<T | null> {
  try {
    const silence = () => new CardsSilent("the processor did not answer in time")
    return await inTime(ports, ask(ports.cards), silence)
  } catch (error) {
    if (error instanceof CardsSilent || error instanceof CardsUnavailable) return null
    throw error
  }
}
