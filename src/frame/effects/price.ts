/** Prices of requests. */
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import type { PricedItem } from "../../../domain/charging/items.ts"
import { priceOfItem } from "../../../domain/charging/price-book.ts"
import type { Ports } from "../ports.ts"
import type { SpendingClass } from "../../../domain/charging/limits.ts"
import type { Micros } from "../../../domain/kernel/money.ts"

/** The price of one request, and the item of the price book that it is for. */
export interface Price {
  readonly item: string
  readonly quantity: number
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
  readonly amountMicros: Micros
  readonly class?: SpendingClass
}

/** The price of one, by the price book as it stands. */
export async function unitPrice(
  { runner }: Pick<Ports, "runner">,
  item: PricedItem,
): Promise<Price> {
  const price = await runner.read(PRICES_STREAM, (book) => priceOfItem(book, item))
  return { item, quantity: 1, ...price, amountMicros: price.unitPriceMicros }
}
