/** What-if: whether a charge would fit, now or at a former place of the ledger. Stores nothing. */
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { Charge } from "../../domain/charging/ledger-commands.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { PRICED_ITEMS, priceBook, priceCodec, priceOf } from "../../domain/charging/price-book.ts"
import type { PricedItem } from "../../domain/charging/price-book.ts"
import { ledgerCodec } from "../../domain/charging/ledger-formats.ts"
import { whatIf } from "../../domain/charging/what-if.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { CHAIN_START, nextHash } from "../frame/writer/chain.ts"
import { readMetadata } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { placeOf } from "../frame/calls/position-token.ts"

/** Names that people use for items of the price book. */
const SHORT_NAMES: ReadonlyMap<string, PricedItem> = new Map([["text", "text_segment"]])

/** What is asked. */
export interface Question {
  readonly companyId: CompanyId
  readonly spender: Spender
  readonly item: PricedItem
  readonly quantity: number
  /** A former place: `Ledger-Position`, or `revision:<n>` of the ledger; null for now. */
  readonly at: string | null
}

/** The item of this name; null where the price book has none. */
export function itemNamed(name: string): PricedItem | null {
  const plain = name.trim().toLowerCase().replaceAll(/[ -]/g, "_")
  return SHORT_NAMES.get(plain) ?? PRICED_ITEMS.find((item) => item === plain) ?? null
}

/** There is no such place in the ledger. The message says why. */
export class NoSuchPlace extends Error {
  override readonly name = "NoSuchPlace"
}

/**
 * Answers a question by the rules of now.
 *
 * @throws NoSuchPlace, Unavailable, and what `Runner.read` throws
 */
export async function ask(ports: Pick<Ports, "runner" | "store" | "storeGeneration">, q: Question) {
  const { companyId, item, quantity, spender } = q
  const then = q.at === null ? null : await stateAt(ports, companyId, q.at)
  const price =
    then === null
      ? await ports.runner.read(PRICES, (book) => priceOf(book, item))
      : await priceAt(ports, then.position, item)
  const amountMicros = quantity * price.unitPriceMicros
  const charge = (at: number): Charge => ({
    ...{ type: "Charge", chargeId: "what-if", ...spender, class: "general", item, quantity },
    ...{ ...price, amountMicros, resource: null, requestedAt: at, dueAt: null, servedFrom: null },
    ...{ open: false, exempt: null, searchedTo: null },
  })
  const found =
    then === null
      ? await ports.runner.read(ledgerOf(companyId), (state, at) => ({
          at,
          ...whatIf(state, charge(at), at),
        }))
      : { at: then.at, ...whatIf(then.state, charge(then.at), then.at) }
  const { at, fits, code, limit, fitsAt, ...account } = found
  return {
    fits,
    code,
    item,
    quantity,
    unitPriceMicros: price.unitPriceMicros,
    amountMicros,
    limit: limit === null ? null : { ...limit, ...timesOf(limit) },
    fitsAt: fitsAt === null ? null : text(fitsAt),
    at: text(at),
    ...account,
  }
}

const text = (at: number): string => new Date(at).toISOString()

function timesOf({ windowStart, resetsAt }: { windowStart: number; resetsAt: number }) {
  return { windowStart: text(windowStart), resetsAt: text(resetsAt) }
}

/**
 * The ledger as it was right behind a place: folded from its first fact on.
 *
 * @throws NoSuchPlace, also for a place that is not there yet: it is nothing that was
 */
async function stateAt(
  { store, storeGeneration }: Pick<Ports, "store" | "storeGeneration">,
  companyId: CompanyId,
  named: string,
) {
  const { isWithin, isThere } = placeNamed(named, storeGeneration)
  let state = ledger.initial()
  let end = CHAIN_START
  let last: { readonly position: Position; readonly revision: number; readonly at: number } | null =
    null
  reading: for await (const page of store.read(ledgerOf(companyId).stream)) {
    for (const stored of page) {
      if (!isWithin(stored)) break reading
      end = { revision: stored.revision, hash: nextHash(stored, end) }
      const { version } = readMetadata(stored.metadata)
      const fact = ledgerCodec.decode(stored.type, version, stored.data)
      state = ledger.evolve(state, fact)
      last = { position: stored.position, revision: stored.revision, at: fact.at }
    }
  }
  if (last === null) throw new NoSuchPlace(`The ledger had no fact by ${named}.`)
  if (!isThere(last.revision, await store.head())) {
    const known = `revision:${last.revision}`
    throw new NoSuchPlace(`There is no ${named} yet: the ledger ends at ${known}.`)
  }
  return { state, ...last }
}

interface Place {
  /** Whether an event is of this place or before it. */
  readonly isWithin: (one: { readonly revision: number; readonly position: Position }) => boolean
  /** Whether a ledger of this last revision, in a store of this head, reaches it. */
  readonly isThere: (last: number, head: Position) => boolean
}

/** @throws NoSuchPlace where it names none */
function placeNamed(named: string, generation: number): Place {
  const revision = /^revision:(\d{1,15})$/.exec(named)?.[1]
  if (revision !== undefined) {
    const most = Number(revision)
    return { isWithin: (one) => one.revision <= most, isThere: (last) => last === most }
  }
  const place = placeOf(named)
  if (place === null)
    throw new NoSuchPlace(`A place is a Ledger-Position, or revision:N; "${named}" is neither.`)
  if (place.generation !== generation) {
    throw new NoSuchPlace("This Ledger-Position is of before the events were moved.")
  }
  return {
    isWithin: ({ position }) => comparePositions(position, place.position) <= 0,
    isThere: (_last, head) => comparePositions(place.position, head) <= 0,
  }
}

async function priceAt({ store }: Pick<Ports, "store">, to: Position, item: PricedItem) {
  let book = priceBook.initial()
  let end = CHAIN_START
  for await (const page of store.read(PRICES.stream)) {
    for (const stored of page) {
      const { position, type, metadata, data, revision } = stored
      if (comparePositions(position, to) > 0) return priceOf(book, item)
      end = { revision, hash: nextHash(stored, end) }
      book = priceBook.evolve(book, priceCodec.decode(type, readMetadata(metadata).version, data))
    }
  }
  return priceOf(book, item)
}
