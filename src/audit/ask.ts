/** What-if: whether a charge would fit, now or at a former place of the ledger. Stores nothing. */
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { Charge } from "../../domain/charging/ledger-commands.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import type { PricedItem } from "../../domain/charging/items.ts"
import { whatIf } from "../../domain/charging/what-if.ts"
import type { StreamOf } from "../../domain/kernel/aggregate.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Foldable, Loaded } from "../frame/writer/runner/load.ts"
import { fold, unfolded } from "../frame/writer/runner/load.ts"
import type { Ports } from "../frame/ports.ts"
import { placeOf } from "../frame/routes/checks/6-position.ts"

/** What is asked. */
export interface Question {
  readonly companyId: CompanyId
  readonly spender: Spender
  readonly item: PricedItem
  readonly quantity: number
  /** A former place: `Ledger-Position`, or `revision:<n>` of the ledger; null for now. */
  readonly at: string | null
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
    type: "Charge",
    chargeId: "what-if",
    ...spender,
    class: "general",
    item,
    quantity,
    ...price,
    amountMicros,
    resource: null,
    requestedAt: at,
    dueAt: null,
    servedFrom: null,
    isPending: false,
    exemption: null,
    searchedTo: null,
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
  const { state, position, revision, at } = await foldedTo(store, ledgerOf(companyId), isWithin)
  if (position === null) throw new NoSuchPlace(`The ledger had no fact by ${named}.`)
  if (!isThere(revision, await store.head())) {
    const known = `revision:${revision}`
    throw new NoSuchPlace(`There is no ${named} yet: the ledger ends at ${known}.`)
  }
  return { state, position, at }
}

/** A stream folded from its first fact to the last that is within. */
async function foldedTo<S, E extends Fact>(
  store: Ports["store"],
  { aggregate, stream }: StreamOf<Foldable<S, E>>,
  isWithin: Place["isWithin"],
): Promise<Loaded<S>> {
  const loaded = unfolded(aggregate)
  for await (const page of store.read(stream)) {
    const within = page.filter(isWithin)
    fold(aggregate, loaded, within)
    if (within.length < page.length) break
  }
  return loaded
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
  const isWithin: Place["isWithin"] = ({ position }) => comparePositions(position, to) <= 0
  return priceOf((await foldedTo(store, PRICES, isWithin)).state, item)
}
