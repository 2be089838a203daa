/** Prices of requests. */
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import type { PricedItem } from "../../../domain/charging/items.ts"
import { priceOfItem } from "../../../domain/charging/price-book.ts"
import type { Ports } from "../ports.ts"
import type { SpendingClass } from "../../../domain/charging/limits.ts"
import type { Micros } from "../../../domain/kernel/money.ts"

/** The price of one request, with its item of the price book. */
export interface Price {
  readonly item: string
  readonly quantity: number
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
  readonly amountMicros: Micros
  readonly class?: SpendingClass
}

/** Returns the current price of one unit. */
export async function unitPrice(
  { runner }: Pick<Ports, "runner">,
  item: PricedItem,
): Promise<Price> {
  const price = await runner.read(PRICES_STREAM, (book) => priceOfItem(book, item))
  return { item, quantity: 1, ...price, amountMicros: price.unitPriceMicros }
}
