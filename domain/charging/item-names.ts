/** What items are called for people; a bill's rows keep their codes, which never change. */
import type { PricedItem } from "./price-book.ts"
import { PRICED_ITEMS } from "./price-book.ts"

const NAMES: Readonly<Record<PricedItem, string>> = {
  box_minute_small: "Box minute, small",
  box_minute_medium: "Box minute, medium",
  box_minute_large: "Box minute, large",
  box_minute_xlarge: "Box minute, extra large",
  text_segment: "Text message segment",
  text_incoming: "Incoming text message",
  call_minute: "Call minute",
  recording_minute_day: "Recording kept, minute and day",
  number_month_local: "Local number, month",
  number_month_toll_free: "Toll-free number, month",
  email_recipient: "Email recipient",
  deploy: "Publish",
  address_suggestion: "Address suggestion",
  address_details: "Address details",
  api_call: "API call",
  brand_fee_low_volume: "Brand registration, low volume",
  brand_fee_sole_proprietor: "Brand registration, sole proprietor",
  brand_fee_standard: "Brand registration, standard",
  campaign_fee: "Campaign registration",
  campaign_rush: "Campaign registration, rush",
}

/** What a campaign with rush is charged as, in one charge: the sum of two items of the price book. */
export const RUSHED_CAMPAIGN = "campaign_fee_rush"

/** Anybody may name an item, so names that every object has are none of these. */
const KNOWN: ReadonlyMap<string, string> = new Map([
  ...Object.entries(NAMES),
  [RUSHED_CAMPAIGN, "Campaign registration with rush"],
])

/** What an item is called; one that the price book does not have is called what it was named. */
export function itemName(item: string): string {
  return KNOWN.get(item) ?? item
}

/** Names that people use for items of the price book. */
const SHORT_NAMES: ReadonlyMap<string, PricedItem> = new Map([["text", "text_segment"]])

/** The item that goes by this name in the price book; null where it has none. */
export function itemNamed(name: string): PricedItem | null {
  const plain = name.trim().toLowerCase().replaceAll(/[ -]/g, "_")
  return SHORT_NAMES.get(plain) ?? PRICED_ITEMS.find((item) => item === plain) ?? null
}

/** The item that is called so on a bill; null where none is. */
export function itemCalled(name: string): PricedItem | null {
  const called = name.trim().toLowerCase()
  return PRICED_ITEMS.find((item) => NAMES[item].toLowerCase() === called) ?? null
}

/** What items of the price book go by: in the book, and on a bill. */
export const ITEM_NAMES: readonly string[] = [...PRICED_ITEMS, ...Object.values(NAMES)]
