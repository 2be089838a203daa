/** The first prices are the first fact of an installation. */
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { DEFAULT_BOOK } from "../../../domain/charging/price-book.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Runner } from "../../frame/writer/run.ts"

/** Opens the price book, unless that was done. */
export async function openPriceBook(runner: Runner): Promise<void> {
  const openBook = { type: "OpenPriceBook" as const, prices: DEFAULT_BOOK }
  await runner.execute(PRICES, openBook, causedBy("open-price-book"))
}
