/**
 * What things cost. One versioned price book for all companies; a change is a new version, never an
 * edit, and every charge names the version its unit price is from.
 *
 * Stream `prices`: an operator's clicks. Version 1 is the default book of decisions.md §3.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import type { ValueOf } from "../kernel/kind.ts"
import { codecOf, int, list, micros, oneOf, record, time } from "../kernel/format.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"

/** The default book: unit prices in micros. */
export const DEFAULT_PRICES = {
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
} as const satisfies Record<string, Micros>

/** The name of something with a price. */
export type PricedItem = keyof typeof DEFAULT_PRICES

/** Every priced item, in the order of the default book. */
export const PRICED_ITEMS = Object.keys(DEFAULT_PRICES) as readonly PricedItem[]

const pricedUnit = record({ item: oneOf(...PRICED_ITEMS), unitPriceMicros: micros })

/** One item of the book and what a unit of it costs. */
export type PricedUnit = ValueOf<typeof pricedUnit>

/** Everything that can happen to the price book. */
export const priceFormats = {
  /** The book begins, as version 1: what an old charge names is a fact, not a constant of a program. */
  PriceBookOpened: { version: 1, fields: { at: time, prices: list(pricedUnit) } },
  /** An item costs something else from now on. */
  PriceSet: {
    version: 1,
    fields: {
      at: time,
      item: oneOf(...PRICED_ITEMS),
      unitPriceMicros: micros,
      /** The book's version that this begins. */
      version: int,
    },
  },
} satisfies FormatTable

/** Everything that can happen to the price book. */
export type PriceEvent = FactOf<typeof priceFormats>

/** Writes and reads price facts. */
export const priceCodec = codecOf(priceFormats)

/** Begins the book with these prices. Again: nothing new. */
export interface OpenPriceBook {
  readonly type: "OpenPriceBook"
  readonly prices: readonly PricedUnit[]
}

/** No unit costs more: $10,000, so that what many of them cost stays within exact arithmetic. */
const MOST_UNIT_PRICE_MICROS: Micros = 10_000_000_000

/** Changes a price. The same price again: nothing new. */
export interface SetPrice {
  readonly type: "SetPrice"
  readonly item: PricedItem
  readonly unitPriceMicros: Micros
}

/** A price was refused. */
export interface PriceRefused {
  readonly type: "PriceRefused"
  readonly at: number
  readonly code: "bad_amount"
  readonly message: string
}

interface PriceBookState {
  opened: boolean
  version: number
  readonly prices: Record<PricedItem, Micros>
}

/** The price book as it stands. */
export type PriceBook = PriceBookState

/** The rules of the price book. */
export const priceBook: Decider<SetPrice | OpenPriceBook, PriceBook, PriceEvent, PriceRefused> = {
  initial: () => ({ opened: false, version: 1, prices: { ...DEFAULT_PRICES } }),
  decide: (command, state, { at }) => {
    if (command.type === "OpenPriceBook") {
      return state.opened ? [] : [{ type: "PriceBookOpened", at, prices: command.prices }]
    }
    const { item, unitPriceMicros } = command
    const isPrice = unitPriceMicros >= 0 && unitPriceMicros <= MOST_UNIT_PRICE_MICROS
    if (!isPrice || !isMicros(unitPriceMicros)) {
      const message = "A price is 0 or more, and at most $10,000."
      return { type: "PriceRefused", at, code: "bad_amount", message }
    }
    if (state.prices[item] === unitPriceMicros) return []
    return [{ type: "PriceSet", at, item, unitPriceMicros, version: state.version + 1 }]
  },
  evolve: (state, event) => {
    if (event.type === "PriceBookOpened") {
      state.opened = true
      for (const { item, unitPriceMicros } of event.prices) state.prices[item] = unitPriceMicros
      return state
    }
    state.version = event.version
    state.prices[event.item] = event.unitPriceMicros
    return state
  },
}

/** The default book, as `OpenPriceBook` takes it. */
export const DEFAULT_BOOK: readonly PricedUnit[] = PRICED_ITEMS.map((item) => ({
  item,
  unitPriceMicros: DEFAULT_PRICES[item],
}))

/** What one unit of an item costs now, and the version that says so. */
export function priceOf(
  state: PriceBook,
  item: PricedItem,
): { readonly unitPriceMicros: Micros; readonly priceVersion: number } {
  return { unitPriceMicros: state.prices[item], priceVersion: state.version }
}
