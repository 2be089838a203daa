/** Companies whose card is on file, while their customer at the processor is not recorded. */
import type { Ports } from "../frame/ports.ts"

export const NO_CUSTOMER_ADVICE =
  "The company's customer at the payment processor is not recorded, so its card cannot be charged or read. " +
  "Run `card page`, add the card there, then run `card refresh`."

/** Whether the processor needs a customer to charge a company's card, and none is recorded. */
export function isCustomerUnknown(
  { cardPages }: Pick<Ports, "cardPages">,
  customerId: string | null,
): boolean {
  // The simulator has no pages, and finds companies by our own ids.
  return cardPages !== null && customerId === null
}
