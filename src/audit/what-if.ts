/**
 * Answers what-if questions: whether a charge would fit, now or at an earlier position. Stores
 * nothing.
 */
import { PRICES_STREAM, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { ChargeCommand } from "../../domain/charging/ledger-commands.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { priceOfItem } from "../../domain/charging/price-book.ts"
import type { PricedItem } from "../../domain/charging/items.ts"
import { dryRunCharge } from "../../domain/charging/charge-dry-run.ts"
import type { AggregateStream } from "../../domain/kernel/aggregate.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Foldable, LoadedState } from "../frame/writer/runner/load.ts"
import { foldEvents, initialState } from "../frame/writer/runner/load.ts"
import type { Ports } from "../frame/ports.ts"
import { parsePositionToken } from "../frame/routes/checks/6-position.ts"

/** A what-if question. */
export interface WhatIfQuestion {
  readonly companyId: CompanyId
  readonly spender: Spender
  readonly item: PricedItem
  readonly quantity: number
  /** An earlier `Ledger-Position`, or `revision:<n>` of the ledger; null for now. */
  readonly at: string | null
}

/** The ledger has no such position. The message says why. */
export class NoSuchPosition extends Error {
  override readonly name = "NoSuchPosition"
}

/**
 * Answers a question by the current rules.
 *
 * @throws NoSuchPosition, Unavailable, and the errors of `Runner.read`
 */
export async function answerWhatIf(
  ports: Pick<Ports, "runner" | "store" | "storeGeneration">,
  q: WhatIfQuestion,
) {
  const { companyId, item, quantity, spender } = q
  const then = q.at === null ? null : await stateAt(ports, companyId, q.at)
  const price =
    then === null
      ? await ports.runner.read(PRICES_STREAM, (book) => priceOfItem(book, item))
      : await priceAt(ports, then.position, item)
  const amountMicros = quantity * price.unitPriceMicros
  const charge = (at: number): ChargeCommand => ({
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
    searchedUpTo: null,
  })
  const found =
    then === null
      ? await ports.runner.read(ledgerStreamOf(companyId), (state, at) => ({
          at,
          ...dryRunCharge(state, charge(at), at),
        }))
      : { at: then.at, ...dryRunCharge(then.state, charge(then.at), then.at) }
  const { at, fits, code, limit, fitsAt, ...account } = found
  return {
    fits,
    code,
    item,
    quantity,
    unitPriceMicros: price.unitPriceMicros,
    amountMicros,
    limit: limit === null ? null : { ...limit, ...formatWindow(limit) },
    fitsAt: fitsAt === null ? null : isoText(fitsAt),
    at: isoText(at),
    ...account,
  }
}

const isoText = (at: number): string => new Date(at).toISOString()

function formatWindow({ windowStart, resetsAt }: { windowStart: number; resetsAt: number }) {
  return { windowStart: isoText(windowStart), resetsAt: isoText(resetsAt) }
}

/**
 * Folds the ledger up to a position.
 *
 * @throws NoSuchPosition, also for a position that does not exist yet
 */
async function stateAt(
  { store, storeGeneration }: Pick<Ports, "store" | "storeGeneration">,
  companyId: CompanyId,
  named: string,
) {
  const { isWithin, isReached } = parsePositionBound(named, storeGeneration)
  const { state, position, revision, at } = await foldWithin(
    store,
    ledgerStreamOf(companyId),
    isWithin,
  )
  if (position === null) throw new NoSuchPosition(`The ledger had no facts at ${named}.`)
  if (!isReached(revision, await store.head())) {
    throw new NoSuchPosition(
      `Position ${named} does not exist yet: the ledger ends at revision:${revision}.`,
    )
  }
  return { state, position, at }
}

/** Folds a stream from its first fact to the last that is within the bound. */
async function foldWithin<S, E extends Fact>(
  store: Ports["store"],
  { aggregate, stream }: AggregateStream<Foldable<S, E>>,
  isWithin: PositionBound["isWithin"],
): Promise<LoadedState<S>> {
  const loaded = initialState(aggregate)
  for await (const page of store.read(stream)) {
    const within = page.filter(isWithin)
    foldEvents(aggregate, loaded, within)
    if (within.length < page.length) break
  }
  return loaded
}

interface PositionBound {
  /** Whether an event is at this position or before it. */
  readonly isWithin: (one: { readonly revision: number; readonly position: Position }) => boolean
  /** Whether a ledger with this last revision, in a store with this head, reaches the position. */
  readonly isReached: (last: number, head: Position) => boolean
}

/** @throws NoSuchPosition if the text is not a position */
function parsePositionBound(named: string, generation: number): PositionBound {
  const revision = /^revision:(\d{1,15})$/.exec(named)?.[1]
  if (revision !== undefined) {
    const most = Number(revision)
    return { isWithin: (one) => one.revision <= most, isReached: (last) => last === most }
  }
  const token = parsePositionToken(named)
  if (token === null) {
    throw new NoSuchPosition(
      `Position "${named}" is malformed. Use a Ledger-Position, or revision:N.`,
    )
  }
  if (token.generation !== generation) {
    throw new NoSuchPosition("This Ledger-Position is from before the events were migrated.")
  }
  return {
    isWithin: ({ position }) => comparePositions(position, token.position) <= 0,
    isReached: (_last, head) => comparePositions(token.position, head) <= 0,
  }
}

async function priceAt({ store }: Pick<Ports, "store">, to: Position, item: PricedItem) {
  const isWithin: PositionBound["isWithin"] = ({ position }) => comparePositions(position, to) <= 0
  return priceOfItem((await foldWithin(store, PRICES_STREAM, isWithin)).state, item)
}
