/** Asking the payment processor, where its silence is an answer too. */
import type { Cards } from "../../../adapters/providers/cards/port.ts"
import { knownInTime } from "../../../adapters/providers/outside.ts"
import type { Ports } from "../../frame/ports.ts"

/** What the processor answers; null where it did not, or not in time. */
export function askCards<T>(
  { pacer, cards }: Pick<Ports, "cards" | "pacer">,
  ask: (cards: Cards) => Promise<T>,
): Promise<T | null> {
  return knownInTime(pacer, "the processor", ask(cards))
}
