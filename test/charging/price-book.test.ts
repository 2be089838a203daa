import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import { ITEMS, PRICED_ITEMS } from "../../domain/charging/items.ts"
import {
  DEFAULT_PRICE_BOOK,
  priceBookDecider,
  priceOfItem,
} from "../../domain/charging/price-book.ts"
import { foldFacts, given } from "../support/decider-spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const set = { type: "SetPrice", at: NOW, item: "text_segment", unitPriceMicros: 9_500 } as const
const fact = { ...set, type: "PriceSet", version: 2 } as const

const NEWER = [
  { item: "deploy", unitPriceMicros: 7 },
  { item: "api_call", unitPriceMicros: 8 },
] as const

describe("OpenPriceBook", () => {
  const prices = [{ item: "text_segment", unitPriceMicros: 9_000 }] as const
  const open = { type: "OpenPriceBook", at: NOW, prices } as const
  const opened = { type: "PriceBookOpened", at: NOW, prices } as const

  it("records the first version", () => {
    given(priceBookDecider).when(open).records(opened)
    given(priceBookDecider)
      .when({ ...open, prices: DEFAULT_PRICE_BOOK })
      .records({ ...opened, prices: DEFAULT_PRICE_BOOK })
  })

  it("records nothing once the book is open, whatever its prices", () => {
    given(priceBookDecider, opened)
      .when({ ...open, prices: [{ item: "text_segment", unitPriceMicros: 1 }] })
      .recordsNothing()
  })

  it("records prices of items that a newer program version adds, once", () => {
    const newer = { ...open, prices: [...prices, ...NEWER] }
    const facts = NEWER.map((unit, i) => ({
      type: "PriceSet" as const,
      at: NOW,
      ...unit,
      version: 2 + i,
    }))
    given(priceBookDecider, opened)
      .when(newer)
      .records(...facts)
    given(priceBookDecider, opened, ...facts)
      .when(newer)
      .recordsNothing()
  })

  it("sets all prices from then on, as version 1", () => {
    const book = foldFacts(priceBookDecider, {
      ...opened,
      prices: [{ item: "deploy", unitPriceMicros: 7 }],
    })
    expect(priceOfItem(book, "deploy")).toEqual({ unitPriceMicros: 7, priceVersion: 1 })
  })
})

describe("SetPrice", () => {
  it("makes a new version of the book", () => {
    given(priceBookDecider).when(set).records(fact)
    given(priceBookDecider, fact)
      .when({ ...set, item: "deploy", unitPriceMicros: 0 })
      .records({ ...fact, item: "deploy", unitPriceMicros: 0, version: 3 })
  })

  it("records nothing if the price is unchanged", () => {
    given(priceBookDecider, fact).when(set).recordsNothing()
    given(priceBookDecider)
      .when({ ...set, unitPriceMicros: 9_000 })
      .recordsNothing()
  })

  it("accepts prices of zero and of $10,000", () => {
    for (const unitPriceMicros of [0, 10_000_000_000]) {
      given(priceBookDecider)
        .when({ ...set, unitPriceMicros })
        .records({ ...fact, unitPriceMicros })
    }
  })

  it.each([-1, 0.5, Number.NaN, 10_000_000_001])("is rejected for %d micros", (unitPriceMicros) => {
    given(priceBookDecider)
      .when({ ...set, unitPriceMicros })
      .refuses("bad_amount")
  })
})

describe("the price book", () => {
  it("has its own stream, and a default price for every item", () => {
    expect(PRICES_STREAM.stream).toBe("prices")
    expect(DEFAULT_PRICE_BOOK).toHaveLength(PRICED_ITEMS.length)
    expect(DEFAULT_PRICE_BOOK).toContainEqual({ item: "text_segment", unitPriceMicros: 9_000 })
    const book = foldFacts(priceBookDecider, {
      type: "PriceBookOpened",
      at: NOW,
      prices: DEFAULT_PRICE_BOOK,
    })
    expect(book).toEqual({
      ...foldFacts(priceBookDecider),
      opened: true,
      recorded: new Set(PRICED_ITEMS),
    })
  })

  it("starts as version 1 with the default prices", () => {
    const book = foldFacts(priceBookDecider)
    expect(PRICED_ITEMS.map((item) => priceOfItem(book, item))).toEqual(
      PRICED_ITEMS.map((item) => ({ unitPriceMicros: ITEMS[item].priceMicros, priceVersion: 1 })),
    )
  })

  it("returns a price with the version that set it, and keeps other prices", () => {
    const book = foldFacts(priceBookDecider, fact)
    expect(priceOfItem(book, "text_segment")).toEqual({ unitPriceMicros: 9_500, priceVersion: 2 })
    expect(priceOfItem(book, "deploy")).toEqual({ unitPriceMicros: 250_000, priceVersion: 2 })
  })

  it("is not shared between states: a change in one affects no other", () => {
    foldFacts(priceBookDecider, fact)
    expect(priceOfItem(foldFacts(priceBookDecider), "text_segment").unitPriceMicros).toBe(9_000)
  })

  it("has the default prices of the specification, in micros", () => {
    expect(foldFacts(priceBookDecider).prices).toEqual({
      box_minute_small: 2_000,
      box_minute_medium: 4_000,
      box_minute_large: 8_000,
      box_minute_xlarge: 16_000,
      text_segment: 9_000,
      text_incoming: 0,
      call_minute: 12_000,
      recording_minute_day: 20,
      number_month_local: 1_500_000,
      number_month_toll_free: 2_500_000,
      email_recipient: 1_000,
      deploy: 250_000,
      address_suggestion: 3_000,
      address_details: 20_000,
      api_call: 100,
      brand_fee_low_volume: 4_500_000,
      brand_fee_sole_proprietor: 4_500_000,
      brand_fee_standard: 46_000_000,
      campaign_fee: 15_000_000,
      campaign_rush: 29_000_000,
    })
  })
})
