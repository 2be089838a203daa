/** Remembers why a payment processor did not take the last order, where its account or our key is the reason. */
import { ProviderMisconfigured } from "../outside.ts"
import type { Cards } from "./port.ts"

/** The same processor, which says `misconfigured` of the last order that this process sent. */
export function rememberOrders(cards: Omit<Cards, "misconfigured">): Cards {
  let fault: ProviderMisconfigured | null = null
  const remembering =
    <P, A extends object>(order: (payment: P) => Promise<A>) =>
    async (payment: P): Promise<A> => {
      try {
        const answer = await order(payment)
        // An answer without an id was found here, or says nothing about our account.
        if ("paymentId" in answer && answer.paymentId !== null) fault = null
        return answer
      } catch (error) {
        if (error instanceof ProviderMisconfigured) fault = error
        throw error
      }
    }
  return {
    ...cards,
    pay: remembering(cards.pay),
    hold: remembering(cards.hold),
    misconfigured: () => fault,
  }
}
