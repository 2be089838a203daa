/** What one of something costs. */
import { PRICES } from "../../../domain/charging/aggregates.ts"
import type { PricedItem } from "../../../domain/charging/items.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"
import type { Ports } from "../ports.ts"
import type { Price } from "./charged-spec.ts"

/** The price of one, by the price book as it stands. */
export async function priceOfOne(
  { runner }: Pick<Ports, "runner">,
  item: PricedItem,
): Promise<Price> {
  const price = await runner.read(PRICES, (book) => priceOf(book, item))
  return { item, quantity: 1, ...price, amountMicros: price.unitPriceMicros }
}
