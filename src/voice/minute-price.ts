/** What the minutes of a call cost: by who takes it, and beyond the US and Canada by their country. */
import { PRICES } from "../../domain/charging/aggregates.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import { destinationPriceOf } from "../../domain/charging/destination-prices.ts"
import type { CallSettings } from "../../domain/phone/number-settings.ts"
import type { CallFact } from "../../domain/voice/call-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { callable } from "../frame/kernel/phone-number.ts"
import type { Ports } from "../frame/ports.ts"

/** The prices that a call keeps, whatever becomes of the book. */
type CallPrices = Pick<CallFact<"CallOffered">, "minuteMicros" | "legMicros" | "priceVersion">

/** What a call costs that comes to a number with these settings. */
export async function pricesOfCall(
  { runner, sealing }: Ports,
  companyId: CompanyId,
  { ringTo }: CallSettings,
): Promise<CallPrices> {
  const phones = await Promise.all(ringTo.map(({ phone }) => sealing.open(companyId, phone)))
  // Who cannot be called is not: their country costs nothing.
  const countries = phones.map((phone) => callable(phone ?? "")?.country ?? null)
  return runner.read(PRICES, (book) => {
    const { unitPriceMicros: minuteMicros, priceVersion } = priceOf(book, "call_minute")
    const legMicros = countries.map((country) =>
      country === null ? minuteMicros : destinationPriceOf(book, country).callMicros,
    )
    return { minuteMicros, legMicros, priceVersion }
  })
}
