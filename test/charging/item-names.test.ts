/** What items are called for people, and how they are found by what people call them. */
import { expect, it } from "vitest"
import {
  ITEM_NAMES,
  RUSHED_CAMPAIGN,
  itemCalled,
  itemName,
  itemNamed,
} from "../../domain/charging/item-names.ts"
import { PRICED_ITEMS } from "../../domain/charging/price-book.ts"

const NAMES = [
  "Box minute, small",
  "Box minute, medium",
  "Box minute, large",
  "Box minute, extra large",
  "Text message segment",
  "Incoming text message",
  "Call minute",
  "Recording kept, minute and day",
  "Local number, month",
  "Toll-free number, month",
  "Email recipient",
  "Publish",
  "Address suggestion",
  "Address details",
  "API call",
  "Brand registration, low volume",
  "Brand registration, sole proprietor",
  "Brand registration, standard",
  "Campaign registration",
  "Campaign registration, rush",
]

it("has a name for each item of the price book, and goes back from the name to the item", () => {
  expect(PRICED_ITEMS.map(itemName)).toEqual(NAMES)
  expect(NAMES.map(itemCalled)).toEqual(PRICED_ITEMS)
  expect(ITEM_NAMES).toEqual([...PRICED_ITEMS, ...NAMES])
  // Bills keep the code for ever.
  expect(RUSHED_CAMPAIGN).toBe("campaign_fee_rush")
  expect(itemName(RUSHED_CAMPAIGN)).toBe("Campaign registration with rush")
})

it("calls an item of no book what it was named, also where each object has that name", () => {
  expect(itemName("gift_card")).toBe("gift_card")
  expect(itemName("constructor")).toBe("constructor")
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
] as const)("finds for the code %s the item %s", ([name, item]) => {
  expect(itemNamed(name)).toBe(item)
})

it.for([
  ["call minute", "call_minute"],
  ["  PUBLISH ", "deploy"],
  ["deploy", null],
  ["", null],
] as const)("finds for the name %s on a bill the item %s", ([name, item]) => {
  expect(itemCalled(name)).toBe(item)
})
