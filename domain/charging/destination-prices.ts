/** What texts and calls to a country cost. */
import type { DestinationPrice, PriceBook } from "./price-book.ts"
import { bookVersion, listedPriceOf, priceOf } from "./price-book.ts"
import { destinationClass } from "../kernel/destinations.ts"

/** What countries cost that no operator has set a price for. */
const UNLISTED = {
  self_serve: { textMicros: 100_000, callMicros: 60_000 },
  support: { textMicros: 250_000, callMicros: 400_000 },
} as const

/** What a country costs now, and the price book's version that says so. */
export function destinationPriceOf(
  book: PriceBook,
  country: string,
): Omit<DestinationPrice, "country"> & { readonly priceVersion: number } {
  const priceVersion = bookVersion(book)
  const whose = destinationClass(country)
  if (whose === "always") {
    const textMicros = priceOf(book, "text_segment").unitPriceMicros
    const callMicros = priceOf(book, "call_minute").unitPriceMicros
    return { textMicros, callMicros, priceVersion }
  }
  const { textMicros, callMicros } =
    listedPriceOf(book, country) ?? UNLISTED[whose === "self_serve" ? whose : "support"]
  return { textMicros, callMicros, priceVersion }
}
