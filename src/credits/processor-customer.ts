/** Companies that have a card on file while the ledger does not know which customer of the processor they are. */
import type { Ports } from "../frame/ports.ts"

/** What an operator does about it. */
export const NO_CUSTOMER_ADVICE =
  "No customer of the payment processor is recorded for this company, so its card cannot be charged or read. " +
  "Run `card page`, put the card on file there, then run `card look`."

/** Whether the processor needs a customer to charge a company's card, and none is recorded. */
export function isCustomerUnknown(
  { cardPages }: Pick<Ports, "cardPages">,
  customerId: string | null,
): boolean {
  // The built-in processor, which has no pages, knows companies by our own ids.
  return cardPages !== null && customerId === null
}
