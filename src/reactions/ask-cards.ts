/** Asking the payment processor, where its silence is an answer too. */
import type { Cards } from "../../adapters/cards/port.ts"
import { CardsSilent, CardsUnavailable } from "../../adapters/cards/port.ts"
import type { Ports } from "../ports.ts"
import { inTime } from "./in-time.ts"

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
