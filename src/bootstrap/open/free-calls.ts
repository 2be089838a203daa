/** Seeing before a server takes calls that none of them is free where real money is taken. */
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"

/**
 * Refuses to serve where Stripe takes payments and calls of the API are free, which is for volume
 * tests: they may have been made free before its key was set. An operator's commands still work, so
 * that the price can be mended.
 *
 * @throws StartupFault with the fix
 */
export async function refuseFreeCalls({
  runner,
  testCards,
}: Pick<AdminPorts, "runner" | "testCards">): Promise<void> {
  if (testCards !== null) return
  const priceMicros = await runner.readLatest(PRICES, (book) => {
    return priceOf(book, "api_call").unitPriceMicros
  })
  if (priceMicros > 0) return
  throw new StartupFault(
    "CARDS_STRIPE_KEY is set and calls of the API are free, which is for volume tests only: give " +
      "them a price with `company-ledger price set api_call --dollars 0.0001`.",
  )
}
