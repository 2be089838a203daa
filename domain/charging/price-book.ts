/**
 * What things cost. One versioned price book for all companies; a change is a new version, never an
 * edit, and every charge names the version its unit price is from.
 *
 * Stream `prices`: an operator's clicks. Version 1 is the default book of decisions.md §3.
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

/** One item of the book and what a unit of it costs. */
type PricedUnit = ValueOf<typeof pricedUnit>

/** The default book, as `OpenPriceBook` takes it. */
export const DEFAULT_PRICE_BOOK: readonly PricedUnit[] = PRICED_ITEMS.map((item) => ({
  item,
  unitPriceMicros: ITEMS[item].priceMicros,
}))

const destinationPrice = record({
  /** Two letters (ISO 3166). */
  country: asciiText,
  /** A segment of a text to it. */
  textMicros: micros,
  /** A minute of a call that is forwarded to it. */
  callMicros: micros,
})

/** What one country costs. */
export type DestinationPrice = ValueOf<typeof destinationPrice>

/** Everything that can happen to the price book. */
export const priceFormats = {
  /** The book begins, as version 1: what an old charge names is a fact, not a constant of a program. */
  PriceBookOpened: { version: 1, fields: { at: instant, prices: list(pricedUnit) } },
  /** An item costs something else from now on. */
  PriceSet: {
    version: 1,
    fields: {
      at: instant,
      item: enumOf(...PRICED_ITEMS),
      unitPriceMicros: micros,
      /** The book's version that this begins. */
      version: integer,
    },
  },
  /** Countries cost something else from now on: the carrier's prices with a markup. */
  DestinationPricesSet: {
    version: 1,
    fields: {
      at: instant,
      /** Since when the carrier's prices are these, `YYYY-MM-DD`. */
      carrierPricesFrom: asciiText,
      /** How many thousandths of the carrier's price are asked. */
      markupPermille: integer,
      prices: list(destinationPrice),
      /** The book's version that this begins. */
      version: integer,
    },
  },
} satisfies EventFormats

/** Everything that can happen to the price book. */
export type PriceEvent = FactOf<typeof priceFormats>

/** Writes and reads price facts. */
export const priceCodec = codecOf(priceFormats)

/** Begins the book with these prices. Again: records the prices of items that the book does not have yet. */
interface OpenPriceBook {
  readonly type: "OpenPriceBook"
  readonly prices: readonly PricedUnit[]
}

/** No unit costs more: $10,000, so that what many of them cost stays within exact arithmetic. */
const MAX_UNIT_PRICE_MICROS: Micros = 10_000_000_000

/** Changes a price. The same price again: nothing new. */
interface SetPrice {
  readonly type: "SetPrice"
  readonly item: PricedItem
  readonly unitPriceMicros: Micros
}

/** Sets what countries cost, by the carrier's prices; those that are not listed keep theirs. */
export interface SetDestinationPrices {
  readonly type: "SetDestinationPrices"
  /** `YYYY-MM-DD`. */
  readonly carrierPricesFrom: string
  readonly markupPermille: number
  /** What the carrier asks. */
  readonly carrierPrices: readonly DestinationPrice[]
}

/** What can be asked of the price book. */
export type PriceCommand = SetPrice | OpenPriceBook | SetDestinationPrices

/** Prices of countries are whole multiples of this. */
const ROUNDED_TO_MICROS: Micros = 100

/** A price was refused. */
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
  /** The items whose price is a fact; the others have the program's default. */
  readonly recorded: Set<PricedItem>
  readonly destinations: Map<string, DestinationPrice>
  /** Of the list of countries that was set last; null for none. */
  destinationTerms: DestinationTerms | null
}

/** What the prices of countries are made from. */
interface DestinationTerms {
  readonly carrierPricesFrom: string
  readonly markupPermille: number
}

/** The price book as it stands. */
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
      // An item that a newer program brings: its price becomes a fact before anything is charged for it.
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

const isPrice = (asked: Micros): boolean =>
  asked >= 0 && asked <= MAX_UNIT_PRICE_MICROS && isMicros(asked)

function priceRefusal(at: number): PriceRefused {
  const message = "A price is 0 or more, and at most $10,000."
  return { type: "PriceRefused", at, code: "bad_amount", message }
}

function setDestinations(
  { carrierPricesFrom, markupPermille, carrierPrices }: SetDestinationPrices,
  { version }: PriceBook,
  at: number,
): readonly PriceEvent[] | PriceRefused {
  // Divided once, so that what comes out even is not rounded up by a fault of the division.
  const marked = (asked: Micros): Micros =>
    Math.ceil((asked * markupPermille) / (1_000 * ROUNDED_TO_MICROS)) * ROUNDED_TO_MICROS
  const prices = carrierPrices.map(({ country, textMicros, callMicros }) => {
    return { country, textMicros: marked(textMicros), callMicros: marked(callMicros) }
  })
  const asked = carrierPrices.flatMap(({ textMicros, callMicros }) => [textMicros, callMicros])
  const made = prices.flatMap(({ textMicros, callMicros }) => [textMicros, callMicros])
  if (markupPermille < 0 || ![...asked, ...made].every(isPrice)) return priceRefusal(at)
  const terms = { carrierPricesFrom, markupPermille }
  return [{ type: "DestinationPricesSet", at, ...terms, prices, version: version + 1 }]
}

/** What one unit of an item costs now, and the version that says so. */
export function priceOfItem(
  state: PriceBook,
  item: PricedItem,
): { readonly unitPriceMicros: Micros; readonly priceVersion: number } {
  return { unitPriceMicros: state.prices[item], priceVersion: state.version }
}

/** What a country costs by the list of countries; null where it is on none. */
export function listedDestinationPrice(
  { destinations }: PriceBook,
  country: string,
): DestinationPrice | null {
  return destinations.get(country) ?? null
}

/** What the prices of countries are made from; null where none were set. */
export function destinationTermsOf(state: PriceBook): DestinationTerms | null {
  return state.destinationTerms
}

/** The book's version. */
export function priceBookVersion({ version }: PriceBook): number {
  return version
}

/** What countries cost that no operator has set a price for. */
const DEFAULT_DESTINATION_PRICES = {
  self_serve: { textMicros: 100_000, callMicros: 60_000 },
  support: { textMicros: 250_000, callMicros: 400_000 },
} as const

/** What a country costs now, and the price book's version that says so. */
export function destinationPriceOf(
  book: PriceBook,
  country: string,
): Omit<DestinationPrice, "country"> & { readonly priceVersion: number } {
  const priceVersion = priceBookVersion(book)
  const whose = destinationClass(country)
  if (whose === "always") {
    const textMicros = priceOfItem(book, "text_segment").unitPriceMicros
    const callMicros = priceOfItem(book, "call_minute").unitPriceMicros
    return { textMicros, callMicros, priceVersion }
  }
  const { textMicros, callMicros } =
    listedDestinationPrice(book, country) ??
    DEFAULT_DESTINATION_PRICES[whose === "self_serve" ? whose : "support"]
  return { textMicros, callMicros, priceVersion }
}
