/** What the carriers' reviews cost, by the price book as it stands. */
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { RUSHED_CAMPAIGN } from "../../../domain/charging/item-names.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"
import type { Fee } from "../../../domain/registration/registration-commands.ts"
import type { BrandType } from "../../../domain/registration/registration-events.ts"
import type { Price } from "../../frame/effects/charged-spec.ts"
import { priceOfOne } from "../../frame/effects/price-of-one.ts"
import type { Ports } from "../../frame/ports.ts"

/** What of an attempt's fee was charged as this item; null where it was free. */
export function feeCharged(item: string | null): Fee {
  if (item === null) return "none"
  if (item === RUSHED_CAMPAIGN) return "fee_with_rush"
  return item === "campaign_rush" ? "rush" : "fee"
}

/** What a review of a business costs. */
export function businessFee(ports: Pick<Ports, "runner">, brandType: BrandType): Promise<Price> {
  return priceOfOne(ports, `brand_fee_${brandType}`)
}

/** What a review of a campaign costs; with rush both fees are one charge (decisions.md §9). */
export async function campaignFee(
  ports: Pick<Ports, "runner">,
  kind: Exclude<Fee, "none">,
): Promise<Price> {
  if (kind !== "fee_with_rush") {
    return priceOfOne(ports, kind === "fee" ? "campaign_fee" : "campaign_rush")
  }
  return ports.runner.read(PRICES, (book) => {
    const { unitPriceMicros: fee, priceVersion } = priceOf(book, "campaign_fee")
    const unitPriceMicros = fee + priceOf(book, "campaign_rush").unitPriceMicros
    const of = { unitPriceMicros, priceVersion, amountMicros: unitPriceMicros }
    return { item: RUSHED_CAMPAIGN, quantity: 1, ...of }
  })
}
