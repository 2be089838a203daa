/**
 * The price book, one for all companies. Each change makes a new version, and every charge names the version of its
 * unit price.
 *
 * Stream `prices`. Version 1 is the default price book of docs/decisions/charging.md.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  integer,
  list,
  micros,
  enumOf,
  asciiText,
  record,
  instant,
} from "../kernel/event-format.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { PricedItem } from "./items.ts"
import { ITEMS, PRICED_ITEMS } from "./items.ts"
import { destinationClass } from "../kernel/destinations.ts"

const pricedUnit = record({ item: enumOf(...PRICED_ITEMS), unitPriceMicros: micros })

type PricedUnit = ValueOf<typeof pricedUnit>

/** The default price book, for `OpenPriceBook`. */
export const DEFAULT_PRICE_BOOK: readonly PricedUnit[] = PRICED_ITEMS.map((item) => ({
  item,
  unitPriceMicros: ITEMS[item].priceMicros,
}))

const destinationPrice = record({
  country: asciiText,
  textMicros: micros,
  callMicros: micros,
})

export type DestinationPrice = ValueOf<typeof destinationPrice>

/** The stored formats of the price book's events. */
export const priceFormats = {
  /** Version 1. Prices are events and not constants of the program, so that old charges can be checked. */
  PriceBookOpened: { version: 1, fields: { at: instant, prices: list(pricedUnit) } },
  PriceSet: {
    version: 1,
    fields: {
      at: instant,
      item: enumOf(...PRICED_ITEMS),
      unitPriceMicros: micros,
      version: integer,
    },
  },
  /** Prices of countries: the carrier's prices with a markup. */
  DestinationPricesSet: {
    version: 1,
    fields: {
      at: instant,
      /** The date of the carrier's prices, `YYYY-MM-DD`. */
      carrierPricesFrom: asciiText,
      /** The price in thousandths of the carrier's price. */
      markupPermille: integer,
      prices: list(destinationPrice),
      version: integer,
    },
  },
} satisfies EventFormats

/** Every event of the price book. */
export type PriceEvent = FactOf<typeof priceFormats>

/** Writes and reads the events of the price book. */
export const priceCodec = codecOf(priceFormats)

/** Opens the price book. When repeated, records the prices of items that it does not have yet. */
interface OpenPriceBook {
  readonly type: "OpenPriceBook"
  readonly prices: readonly PricedUnit[]
}

/** $10,000, so that large quantities stay within exact arithmetic. */
const MAX_UNIT_PRICE_MICROS: Micros = 10_000_000_000

interface SetPrice {
  readonly type: "SetPrice"
  readonly item: PricedItem
  readonly unitPriceMicros: Micros
}

/** Sets the prices of countries from the carrier's prices; countries that are not listed keep theirs. */
export interface SetDestinationPrices {
  readonly type: "SetDestinationPrices"
  readonly carrierPricesFrom: string
  readonly markupPermille: number
  readonly carrierPrices: readonly DestinationPrice[]
}

export type PriceCommand = SetPrice | OpenPriceBook | SetDestinationPrices

/** Prices of countries are rounded up to multiples of this. */
const ROUNDED_TO_MICROS: Micros = 100

interface PriceRefused {
  readonly type: "PriceRefused"
  readonly at: number
  readonly code: "bad_amount"
  readonly message: string
}

interface PriceBookState {
  opened: boolean
  version: number
  readonly prices: Record<PricedItem, Micros>
  /** Items whose price is recorded; the others have the program's default. */
  readonly recorded: Set<PricedItem>
  readonly destinations: Map<string, DestinationPrice>
  /** The terms of the latest list of countries; null for none. */
  destinationTerms: DestinationTerms | null
}

interface DestinationTerms {
  readonly carrierPricesFrom: string
  readonly markupPermille: number
}

export type PriceBook = PriceBookState

/** The rules of the price book. */
export const priceBookDecider: Decider<PriceCommand, PriceBook, PriceEvent, PriceRefused> = {
  initial: () => ({
    opened: false,
    version: 1,
    prices: defaultPrices(),
    recorded: new Set(),
    destinations: new Map(),
    destinationTerms: null,
  }),
  decide: (command, state, { at }) => {
    if (command.type === "OpenPriceBook") {
      if (!state.opened) return [{ type: "PriceBookOpened", at, prices: command.prices }]
      // An item of a newer program: its price is recorded before anything is charged for it.
      return command.prices
        .filter(({ item }) => !state.recorded.has(item))
        .map((unit, i) => ({ type: "PriceSet", at, ...unit, version: state.version + 1 + i }))
    }
    if (command.type === "SetDestinationPrices") return setDestinations(command, state, at)
    const { item, unitPriceMicros } = command
    if (!isPrice(unitPriceMicros)) return priceRefusal(at)
    if (state.prices[item] === unitPriceMicros) return []
    return [{ type: "PriceSet", at, item, unitPriceMicros, version: state.version + 1 }]
  },
  evolve: (state, event) => {
    if (event.type === "PriceBookOpened") {
      state.opened = true
      for (const unit of event.prices) setPrice(state, unit)
      return state
    }
    state.version = event.version
    if (event.type === "DestinationPricesSet") {
      for (const price of event.prices) state.destinations.set(price.country, price)
      const { carrierPricesFrom, markupPermille } = event
      state.destinationTerms = { carrierPricesFrom, markupPermille }
      return state
    }
    setPrice(state, event)
    return state
  },
}

function setPrice({ prices, recorded }: PriceBook, { item, unitPriceMicros }: PricedUnit): void {
  prices[item] = unitPriceMicros
  recorded.add(item)
}

function defaultPrices(): Record<PricedItem, Micros> {
  const prices = DEFAULT_PRICE_BOOK.map(({ item, unitPriceMicros }) => [item, unitPriceMicros])
  return Object.fromEntries(prices) as Record<PricedItem, Micros>
}

const isPrice = (amount: Micros): boolean =>
  amount >= 0 && amount <= MAX_UNIT_PRICE_MICROS && isMicros(amount)

function priceRefusal(at: number): PriceRefused {
  const message = "A price must be between $0 and $10,000."
  return { type: "PriceRefused", at, code: "bad_amount", message }
}

function setDestinations(
  { carrierPricesFrom, markupPermille, carrierPrices }: SetDestinationPrices,
  { version }: PriceBook,
  at: number,
): readonly PriceEvent[] | PriceRefused {
  // Divided once, so that an even result is not rounded up by an error of the division.
  const withMarkup = (amount: Micros): Micros =>
    Math.ceil((amount * markupPermille) / (1_000 * ROUNDED_TO_MICROS)) * ROUNDED_TO_MICROS
  const prices = carrierPrices.map(({ country, textMicros, callMicros }) => {
    return { country, textMicros: withMarkup(textMicros), callMicros: withMarkup(callMicros) }
  })
  const carrierAmounts = carrierPrices.flatMap(({ textMicros, callMicros }) => [
    textMicros,
    callMicros,
  ])
  const amounts = prices.flatMap(({ textMicros, callMicros }) => [textMicros, callMicros])
  if (markupPermille < 0 || ![...carrierAmounts, ...amounts].every(isPrice)) return priceRefusal(at)
  const terms = { carrierPricesFrom, markupPermille }
  return [{ type: "DestinationPricesSet", at, ...terms, prices, version: version + 1 }]
}

/** Returns the unit price of an item and the version of the price book. */
export function priceOfItem(
  state: PriceBook,
  item: PricedItem,
): { readonly unitPriceMicros: Micros; readonly priceVersion: number } {
  return { unitPriceMicros: state.prices[item], priceVersion: state.version }
}

/** Returns the listed price of a country; null if it is not listed. */
export function listedDestinationPrice(
  { destinations }: PriceBook,
  country: string,
): DestinationPrice | null {
  return destinations.get(country) ?? null
}

/** Returns how the prices of countries are calculated; null if none were set. */
export function destinationTermsOf(state: PriceBook): DestinationTerms | null {
  return state.destinationTerms
}

/** Returns the version of the price book. */
export function priceBookVersion({ version }: PriceBook): number {
  return version
}

/** Prices of countries for which an operator has set none. */
const DEFAULT_DESTINATION_PRICES = {
  self_serve: { textMicros: 100_000, callMicros: 60_000 },
  support: { textMicros: 250_000, callMicros: 400_000 },
} as const

/** Returns the price of a country and the version of the price book. */
export function destinationPriceOf(
  book: PriceBook,
  country: string,
): Omit<DestinationPrice, "country"> & { readonly priceVersion: number } {
  const priceVersion = priceBookVersion(book)
  const destination = destinationClass(country)
  if (destination === "always") {
    const textMicros = priceOfItem(book, "text_segment").unitPriceMicros
    const callMicros = priceOfItem(book, "call_minute").unitPriceMicros
    return { textMicros, callMicros, priceVersion }
  }
  const { textMicros, callMicros } =
    listedDestinationPrice(book, country) ??
    DEFAULT_DESTINATION_PRICES[destination === "self_serve" ? destination : "support"]
  return { textMicros, callMicros, priceVersion }
}
