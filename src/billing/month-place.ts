/**
 * Where in a ledger's stream a month stands, by the stream alone: the closing of the month before it,
 * and its own. A ledger's times never go back, so both are found by halving.
 */
import { LEDGER } from "../../domain/charging/aggregates.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { DamagedStream } from "../../adapters/eventstore/port.ts"
import type { LedgerEvent, MonthClosed } from "../../domain/charging/ledger-formats.ts"
import { monthName } from "../../domain/kernel/window.ts"
import { nextHash } from "../frame/writer/chain.ts"
import { NO_HASH, decodeStored, readMetadata } from "../frame/kernel/envelope.ts"
import { brokenChain } from "./bill.ts"

/** A stream up to a revision that stands still. */
export interface LedgerRead {
  readonly store: EventStore
  readonly stream: string
  /** The last revision that is looked at. */
  readonly upTo: number
}

/** The closing of a month as it is stored. */
interface Closing {
  readonly stored: StoredEvent
  readonly fact: MonthClosed
}

/** What stands between two months. */
interface Border {
  /** The last revision before it; -1 where the ledger began after it. */
  readonly last: number
  /** The closing of the month before it; null where there is none. */
  readonly closing: Closing | null
}

/** A month's place: its facts are those behind `before.last`, up to `end.last`. */
export interface MonthPlace {
  readonly before: Border
  readonly end: Border
  /** The hash that its first fact must be chained to. */
  readonly hashBefore: string
}

/** A fact of a ledger and when it was. */
export function factOf(stored: StoredEvent): LedgerEvent {
  return decodeStored(LEDGER.codec, stored)
}

/** The fact at a revision. @throws BillRefused where there is none; FormatFault where it is none */
export async function factAt(read: LedgerRead, revision: number): Promise<LedgerEvent> {
  return factOf(await storedAt(read, revision))
}

/** The hash at a revision, as it is stored. @throws BillRefused where nothing stands there */
export async function hashAt(read: LedgerRead, revision: number): Promise<string> {
  return readMetadata((await storedAt(read, revision)).metadata).hash
}

/** The place of the month from `from` until `until`. @throws BillRefused, FormatFault */
export async function placeOfMonth(
  read: LedgerRead,
  from: number,
  until: number,
): Promise<MonthPlace> {
  const before = await borderAt(read, from)
  const end = await borderAt(read, until)
  const hashBefore =
    before.closing?.fact.headHash ?? (before.last < 0 ? NO_HASH : await hashAt(read, before.last))
  return { before, end, hashBefore }
}

async function borderAt(read: LedgerRead, instant: number): Promise<Border> {
  const first = await firstFrom(read, instant)
  const isInside = first > 0 && first <= read.upTo
  const closing = isInside ? await closingFrom(read, first, monthName(instant - 1)) : null
  return { last: first - 1, closing }
}

/** The first revision whose fact is of `instant` or later; one too many where none is. */
async function firstFrom(read: LedgerRead, instant: number): Promise<number> {
  let [least, most] = [0, read.upTo + 1]
  while (least < most) {
    const middle = Math.floor((least + most) / 2)
    if ((await factAt(read, middle)).at >= instant) most = middle
    else least = middle + 1
  }
  return least
}

/** The closing of a month: closings that are recorded together follow their head one by one. */
async function closingFrom(
  { store, stream }: LedgerRead,
  first: number,
  month: string,
): Promise<Closing> {
  let hash: string | null = null
  let revision = first
  for await (const page of store.read(stream, { from: first })) {
    for (const stored of page) {
      const fact = factOf(stored)
      const place = { stream, revision: stored.revision }
      if (fact.type !== "MonthClosed") {
        throw brokenChain(place, `the closing of ${month}`, stored.type)
      }
      if (fact.headRevision !== first - 1) {
        throw brokenChain(place, `a closing behind ${first - 1}`, `one behind ${fact.headRevision}`)
      }
      hash = chainedHash(stored, revision, hash ?? fact.headHash)
      if (fact.month === month) return { stored, fact }
      revision += 1
    }
  }
  throw brokenChain({ stream, revision }, `the closing of ${month}`, "nothing")
}

/**
 * The hash of a stored event that must stand at a revision and be chained to the hash before it.
 *
 * @throws BillRefused where it is not
 */
export function chainedHash(stored: StoredEvent, revision: number, previousHash: string): string {
  try {
    return nextHash(stored, { revision: revision - 1, hash: previousHash })
  } catch (error) {
    if (!(error instanceof DamagedStream)) throw error
    const { stream, expected, found } = error.place
    throw brokenChain({ stream, revision }, expected, found)
  }
}

async function storedAt({ store, stream }: LedgerRead, revision: number): Promise<StoredEvent> {
  for await (const [stored] of store.read(stream, { from: revision, limit: 1 })) {
    if (stored?.revision === revision) return stored
  }
  throw brokenChain({ stream, revision }, `revision ${revision}`, "nothing")
}
