/** Calls to the payment processor whose silence is a result, too. */
import type { CardProcessor } from "../../../adapters/providers/cards/port.ts"
import { providerResultOrNull } from "../../../adapters/providers/provider-errors.ts"
import type { Ports } from "../../frame/ports.ts"

/** Calls the processor; null if it did not answer in time. */
export function askCards<T>(
  { pacer, cards }: Pick<Ports, "cards" | "pacer">,
  call: (cards: CardProcessor) => Promise<T>,
): Promise<T | null> {
  return providerResultOrNull(pacer, "the processor", call(cards))
}
