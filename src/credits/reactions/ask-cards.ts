/** Asking the payment processor, where its silence is an answer too. */
import type { CardProcessor } from "../../../adapters/providers/cards/port.ts"
import { providerResultOrNull } from "../../../adapters/providers/provider-errors.ts"
import type { Ports } from "../../frame/ports.ts"

/** What the processor answers; null where it did not, or not in time. */
export function askCards<T>(
  { pacer, cards }: Pick<Ports, "cards" | "pacer">,
  ask: (cards: CardProcessor) => Promise<T>,
): Promise<T | null> {
  return providerResultOrNull(pacer, "the processor", ask(cards))
}
