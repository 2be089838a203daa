/**
 * All items that have a price. The price book, bills, exports and FOCUS derive from this table. Events store the
 * codes and their order, so neither ever changes.
 */
import type { Micros } from "../kernel/money.ts"

/** A service that groups items on bills. */
export interface ServiceCategory {
  readonly name: string
  /** `ServiceCategory` of FOCUS 1.2. */
  readonly category: string
}

interface ItemRow {
  /** Name for people. */
  readonly label: string
  /** Unit in the singular; empty for an item that is sold as a whole. */
  readonly unit: string
  readonly service: ServiceCategory
  readonly priceMicros: Micros
}

const BOXES: ServiceCategory = { name: "Boxes", category: "Compute" }
const PHONE: ServiceCategory = { name: "Phone", category: "Integration" }
const EMAIL: ServiceCategory = { name: "Email", category: "Business Applications" }
const PUBLISHING: ServiceCategory = { name: "Publishing", category: "Developer Tools" }
const PLACES: ServiceCategory = { name: "Places", category: "Web" }
const API: ServiceCategory = { name: "API", category: "Integration" }
const CARRIERS: ServiceCategory = {
  name: "Phone registration",
  category: "Management and Governance",
}

const row = (
  label: string,
  unit: string,
  service: ServiceCategory,
  priceMicros: Micros,
): ItemRow => ({
  label,
  unit,
  service,
  priceMicros,
})

/** Every priced item in the order of the default price book: label, unit, service, price in micro-dollars. */
export const ITEMS = {
  box_minute_small: row("Box minute, small", "minute", BOXES, 2_000),
  box_minute_medium: row("Box minute, medium", "minute", BOXES, 4_000),
  box_minute_large: row("Box minute, large", "minute", BOXES, 8_000),
  box_minute_xlarge: row("Box minute, extra large", "minute", BOXES, 16_000),
  text_segment: row("Text message segment", "segment", PHONE, 9_000),
  text_incoming: row("Incoming text message", "", PHONE, 0),
  call_minute: row("Call minute", "minute", PHONE, 12_000),
  recording_minute_day: row("Recording kept, minute and day", "minute", PHONE, 20),
  number_month_local: row("Local number, month", "month", PHONE, 1_500_000),
  number_month_toll_free: row("Toll-free number, month", "month", PHONE, 2_500_000),
  email_recipient: row("Email recipient", "recipient", EMAIL, 1_000),
  deploy: row("Publish", "", PUBLISHING, 250_000),
  address_suggestion: row("Address suggestion", "", PLACES, 3_000),
  address_details: row("Address details", "", PLACES, 20_000),
  api_call: row("API call", "call", API, 100),
  brand_fee_low_volume: row("Brand registration, low volume", "", CARRIERS, 4_500_000),
  brand_fee_sole_proprietor: row("Brand registration, sole proprietor", "", CARRIERS, 4_500_000),
  brand_fee_standard: row("Brand registration, standard", "", CARRIERS, 46_000_000),
  campaign_fee: row("Campaign registration", "", CARRIERS, 15_000_000),
  campaign_rush: row("Campaign registration, rush", "", CARRIERS, 29_000_000),
}

export type PricedItem = keyof typeof ITEMS

/** The codes of all priced items, in the order of the default price book. */
export const PRICED_ITEMS = Object.keys(ITEMS) as readonly PricedItem[]

/** The item code of a rushed campaign: one charge for two items of the price book. */
export const RUSHED_CAMPAIGN_ITEM = "campaign_fee_rush"

/** A map and not an object: companies choose item names, and "constructor" is not an item. */
const ROWS: ReadonlyMap<string, ItemRow> = new Map([
  ...Object.entries(ITEMS),
  [RUSHED_CAMPAIGN_ITEM, { ...ITEMS.campaign_rush, label: "Campaign registration with rush" }],
])

/** Services by the first word of an item's code. */
const SERVICES: ReadonlyMap<string, ServiceCategory> = new Map(
  PRICED_ITEMS.map((item) => [firstWord(item), ITEMS[item].service]),
)

/** Returns the label of an item; its code if it is not in the table. */
export function itemLabelOf(item: string): string {
  return ROWS.get(item)?.label ?? item
}

/** Returns the unit of an item; empty for an item that is sold as a whole. */
export function itemUnitOf(item: string): string {
  return ROWS.get(item)?.unit ?? ""
}

/** Returns the service of an item by the first word of its code; null if unknown. */
export function billingServiceOf(item: string): ServiceCategory | null {
  return SERVICES.get(firstWord(item)) ?? null
}

function firstWord(item: string): string {
  return item.split("_", 1)[0] ?? ""
}

const SHORT_NAMES: ReadonlyMap<string, PricedItem> = new Map([["text", "text_segment"]])

/** Finds an item by code or short name; null if there is none. */
export function itemByName(name: string): PricedItem | null {
  const code = name.trim().toLowerCase().replaceAll(/[ -]/g, "_")
  return SHORT_NAMES.get(code) ?? PRICED_ITEMS.find((item) => item === code) ?? null
}

/** Finds an item by its label; null if there is none. */
export function itemByLabel(name: string): PricedItem | null {
  const label = name.trim().toLowerCase()
  return PRICED_ITEMS.find((item) => itemLabelOf(item).toLowerCase() === label) ?? null
}

/** The codes of all priced items, followed by their labels. */
export const ITEM_NAMES: readonly string[] = [...PRICED_ITEMS, ...PRICED_ITEMS.map(itemLabelOf)]
