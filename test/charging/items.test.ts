/** The table of priced items: names, units, services, and the search for an item by name. */
import { expect, it } from "vitest"
import {
  ITEM_NAMES,
  itemByLabel,
  itemLabelOf,
  itemByName,
  PRICED_ITEMS,
  RUSHED_CAMPAIGN_ITEM,
  billingServiceOf,
  itemUnitOf,
} from "../../domain/charging/items.ts"

/** Code, name, unit, service and category; bills have used them from the start. */
const ROWS = [
  ["box_minute_small", "Box minute, small", "minute", "Boxes", "Compute"],
  ["box_minute_medium", "Box minute, medium", "minute", "Boxes", "Compute"],
  ["box_minute_large", "Box minute, large", "minute", "Boxes", "Compute"],
  ["box_minute_xlarge", "Box minute, extra large", "minute", "Boxes", "Compute"],
  ["text_segment", "Text message segment", "segment", "Phone", "Integration"],
  ["text_incoming", "Incoming text message", "", "Phone", "Integration"],
  ["call_minute", "Call minute", "minute", "Phone", "Integration"],
  ["recording_minute_day", "Recording kept, minute and day", "minute", "Phone", "Integration"],
  ["number_month_local", "Local number, month", "month", "Phone", "Integration"],
  ["number_month_toll_free", "Toll-free number, month", "month", "Phone", "Integration"],
  ["email_recipient", "Email recipient", "recipient", "Email", "Business Applications"],
  ["deploy", "Publish", "", "Publishing", "Developer Tools"],
  ["address_suggestion", "Address suggestion", "", "Places", "Web"],
  ["address_details", "Address details", "", "Places", "Web"],
  ["api_call", "API call", "call", "API", "Integration"],
  [
    "brand_fee_low_volume",
    "Brand registration, low volume",
    "",
    "Phone registration",
    "Management and Governance",
  ],
  [
    "brand_fee_sole_proprietor",
    "Brand registration, sole proprietor",
    "",
    "Phone registration",
    "Management and Governance",
  ],
  [
    "brand_fee_standard",
    "Brand registration, standard",
    "",
    "Phone registration",
    "Management and Governance",
  ],
  ["campaign_fee", "Campaign registration", "", "Phone registration", "Management and Governance"],
  [
    "campaign_rush",
    "Campaign registration, rush",
    "",
    "Phone registration",
    "Management and Governance",
  ],
] as const
const NAMES = ROWS.map(([, name]) => name)

it("keeps the order, codes, names, units and services of the price book's items", () => {
  const rows = PRICED_ITEMS.map((item) => {
    const { name, category } = billingServiceOf(item) ?? {}
    return [item, itemLabelOf(item), itemUnitOf(item), name, category]
  })
  expect(rows).toEqual(ROWS)
})

it("finds an item by its name", () => {
  expect(NAMES.map(itemByLabel)).toEqual(PRICED_ITEMS)
  expect(ITEM_NAMES).toEqual([...PRICED_ITEMS, ...NAMES])
})

it("names the two items of a rushed campaign", () => {
  // Bills keep the code forever.
  expect(RUSHED_CAMPAIGN_ITEM).toBe("campaign_fee_rush")
  expect(itemLabelOf(RUSHED_CAMPAIGN_ITEM)).toBe("Campaign registration with rush")
  expect(itemUnitOf(RUSHED_CAMPAIGN_ITEM)).toBe("")
  expect(billingServiceOf(RUSHED_CAMPAIGN_ITEM)?.name).toBe("Phone registration")
  expect(itemByLabel("Campaign registration with rush")).toBeNull()
})

it("finds the service of a custom item by the first word of its code", () => {
  expect(billingServiceOf("text_model")?.name).toBe("Phone")
  expect(billingServiceOf("texts")).toBeNull()
  expect(billingServiceOf("constructor")).toBeNull()
})

it("shows an unknown item's own name, even if it is a property of every object", () => {
  expect(itemLabelOf("gift_card")).toBe("gift_card")
  expect(itemLabelOf("constructor")).toBe("constructor")
})

it.for([
  ["text_segment", "text_segment"],
  ["text", "text_segment"],
  ["  Text-Segment ", "text_segment"],
  ["call minute", "call_minute"],
  ["BOX MINUTE SMALL", "box_minute_small"],
  ["Call  minute", null],
  ["minute", null],
  ["", null],
] as const)("finds, for the code %s, the item %s", ([name, item]) => {
  expect(itemByName(name)).toBe(item)
})

it.for([
  ["call minute", "call_minute"],
  ["  PUBLISH ", "deploy"],
  ["deploy", null],
  ["", null],
] as const)("finds, for the name %s on a bill, the item %s", ([name, item]) => {
  expect(itemByLabel(name)).toBe(item)
})
