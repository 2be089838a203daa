/** Prices of texts and calls to a country: from an operator's list of carrier prices, or by country class. */
import { describe, expect, it } from "vitest"
import type { DestinationPrice, SetDestinationPrices } from "../../domain/charging/price-book.ts"
import {
  destinationPriceOf,
  destinationTermsOf,
  listedDestinationPrice,
  priceBookDecider,
} from "../../domain/charging/price-book.ts"
import { foldFacts, given, withUsualFields } from "../support/decider-spec.ts"
import { NOW } from "./ledger-facts.ts"

const france: DestinationPrice = { country: "FR", textMicros: 72_000, callMicros: 12_000 }
const terms = { carrierPricesFrom: "2026-03-01", markupPermille: 1_250 }
const set = withUsualFields<SetDestinationPrices & { readonly at: number }>({
  type: "SetDestinationPrices",
  at: NOW,
  ...terms,
  carrierPrices: [france],
})
const prices = [{ ...france, textMicros: 90_000, callMicros: 15_000 }]
const fact = { type: "DestinationPricesSet", at: NOW, ...terms, prices, version: 2 } as const

describe("SetDestinationPrices", () => {
  it("records the carrier's prices with the markup, as a new version of the price book", () => {
    given(priceBookDecider).when(set()).records(fact)
    given(priceBookDecider, fact)
      .when(set())
      .records({ ...fact, version: 3 })
  })

  it.for([
    [1_000, 1_000, 1_000],
    [1_001, 1_000, 1_100],
    [1_099, 1_001, 1_200],
    [100, 1_000, 100],
    [1, 1_000, 100],
    [0, 1_000, 0],
    [110, 1_100, 200],
    [9_000, 0, 0],
  ] as const)(
    "rounds %d micros at %d thousandths up to a multiple of 100: %d",
    ([carrierMicros, markupPermille, micros]) => {
      const one = { country: "FR", textMicros: carrierMicros, callMicros: carrierMicros }
      given(priceBookDecider)
        .when(set({ markupPermille, carrierPrices: [one] }))
        .records({
          ...fact,
          markupPermille,
          prices: [{ ...one, textMicros: micros, callMicros: micros }],
        })
    },
  )

  it("accepts prices up to $10,000 after the markup", () => {
    const most = { ...france, callMicros: 10_000_000_000 }
    given(priceBookDecider)
      .when(set({ markupPermille: 1_000, carrierPrices: [most] }))
      .records({ ...fact, markupPermille: 1_000, prices: [most] })
    given(priceBookDecider)
      .when(set({ markupPermille: 1_001, carrierPrices: [most] }))
      .refuses("bad_amount")
  })

  it.for<[string, Partial<SetDestinationPrices>]>([
    ["a markup below zero", { markupPermille: -1 }],
    ["a price below zero", { carrierPrices: [{ ...france, textMicros: -1 }] }],
    ["a price of half a micro", { carrierPrices: [{ ...france, callMicros: 0.5 }] }],
    [
      "one wrong price among right ones",
      { carrierPrices: [france, { ...france, textMicros: -1 }] },
    ],
  ])("rejects %s", ([, wrong]) => {
    given(priceBookDecider)
      .when(set(wrong))
      .refuses("bad_amount", { message: "A price must be between $0 and $10,000." })
  })
})

const book = () => foldFacts(priceBookDecider, fact)

describe("the price of a country", () => {
  it("is on the list, with its terms, and stays when other countries change", () => {
    expect(listedDestinationPrice(book(), "FR")).toEqual(prices[0])
    expect(listedDestinationPrice(book(), "DE")).toBeNull()
    expect(destinationTermsOf(book())).toEqual(terms)
    expect(destinationTermsOf(foldFacts(priceBookDecider))).toBeNull()
    const spain = { ...france, country: "ES" }
    const later = foldFacts(priceBookDecider, fact, { ...fact, prices: [spain], version: 3 })
    expect([listedDestinationPrice(later, "FR"), listedDestinationPrice(later, "ES")]).toEqual([
      prices[0],
      spain,
    ])
  })

  it("at home is that of the price book's items, whatever the list contains", () => {
    const home = { ...fact, prices: [{ ...france, country: "US" }] }
    expect(destinationPriceOf(foldFacts(priceBookDecider, home), "US")).toEqual({
      textMicros: 9_000,
      callMicros: 12_000,
      priceVersion: 2,
    })
  })

  it.for([
    ["FR", 90_000, 15_000],
    ["DE", 100_000, 60_000],
    ["BR", 250_000, 400_000],
    // No company can enable these countries, but they have a price.
    ["KP", 250_000, 400_000],
  ] as const)(
    "is, for %s, %d for a text and %d for a minute",
    ([country, textMicros, callMicros]) => {
      const found = destinationPriceOf(book(), country)
      expect(found).toEqual({ textMicros, callMicros, priceVersion: 2 })
    },
  )
})
