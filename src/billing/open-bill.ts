/**
 * What the ledger says of a month, before a line of its bill is read: of a closed one the sealed
 * `MonthClosed`, of an open one the state of the ledger at its last fact. Both, the place of the month
 * and its lines (`write-bill.ts`) come from the ledger's stream; no read model is asked.
 */
import { LEDGER_AGGREGATE, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { Position, EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { CorruptStream } from "../../adapters/eventstore/port.ts"
import type { MonthClosed, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { CurrentMonth } from "../../domain/charging/ledger-views.ts"
import { currentMonthOf } from "../../domain/charging/ledger-views.ts"
import { ZERO_MONTH_SUMS } from "../../domain/charging/months.ts"
import { FormatFault } from "../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { monthEnd, formatMonth, monthStart } from "../../domain/kernel/window.ts"
import type { Ports } from "../frame/ports.ts"
import type { BillHead, BillSums } from "./bill.ts"
import { BillRejected, brokenChainError, unreadableFactError } from "./bill.ts"
import { billingSettings } from "./settings.ts"
import { nextHash } from "../frame/writer/runner/load.ts"
import { NO_HASH, decodeStored, readMetadata } from "../frame/kernel/envelope.ts"

/** What a bill is made with. */
export type BillPorts = Pick<
  Ports,
  "runner" | "store" | "streams" | "sealing" | "clock" | "pacer" | "settings"
>

/** Which bill. */
export interface BillRequest {
  readonly companyId: CompanyId
  /** `YYYY-MM`, UTC. */
  readonly month: string
}

/** A bill that can be read: its lines are those of revisions above `after` and at most `upTo`. */
export interface OpenedBill {
  readonly head: BillHead
  readonly after: number
  readonly upTo: number
  /** The hash of `after`: what its first fact is chained to. */
  readonly hashBefore: string
  /** Where in the global order the month was closed; null while it is open. */
  readonly closedAt: Position | null
}

/** Finds out what a month's bill must come to. @throws BillRejected where nobody can say */
export async function openBill(ports: BillPorts, asked: BillRequest): Promise<OpenedBill> {
  const stream = ledgerStreamOf(asked.companyId).stream
  try {
    return await readBill(ports, asked, stream)
  } catch (error) {
    throw error instanceof FormatFault ? unreadableFactError(stream, error) : error
  }
}

async function readBill(
  ports: BillPorts,
  { companyId, month }: BillRequest,
  stream: string,
): Promise<OpenedBill> {
  const from = Date.parse(`${month}-01T00:00:00.000Z`)
  const current = await ports.runner.readLatest(
    { aggregate: LEDGER_AGGREGATE, stream },
    currentMonthOf,
  )
  if (current === null) {
    throw new BillRejected("unavailable", `The ledger of ${companyId} is not opened yet.`)
  }
  const read = { store: ports.store, stream, upTo: current.revision }
  await rejectMissingMonth(ports, read, current, from)
  const until = monthEnd(from)
  const place = await findMonthRange(read, from, until)
  const { before, end, hashBefore } = place
  const { BILLING_ISSUER: issuer } = ports.settings(billingSettings)
  const bare = { companyId, issuer, month, from, until }
  const head =
    end.closing === null
      ? { ...bare, ...openHead(current, from, await hashAt(read, current.revision)) }
      : { ...bare, ...closedHead(end.closing.fact) }
  checkOpening(read, place, current, head.openingMicros)
  const closedAt = end.closing?.stored.position ?? null
  return { head, after: before.lastRevision, upTo: end.lastRevision, hashBefore, closedAt }
}

/** There are bills from the month in which the ledger was opened to the current one. */
async function rejectMissingMonth(
  { clock }: BillPorts,
  read: LedgerSnapshot,
  current: CurrentMonth,
  from: number,
): Promise<void> {
  const first = monthStart((await factAt(read, 0)).at)
  const last = Math.max(monthStart(clock.now()), current.start)
  if (from >= first && from <= last) return
  const [oldest, newest] = [formatMonth(first), formatMonth(last)]
  const message =
    oldest === newest
      ? `There is no bill for ${formatMonth(from)}: there is one for ${oldest} alone, in which the ledger was opened.`
      : `There is no bill for ${formatMonth(from)}: there are bills from ${oldest}, in which the ledger was opened, to ${newest}.`
  throw new BillRejected("validation", message)
}

/** A month opens with what the one before it closed with. */
function checkOpening(
  { stream }: LedgerSnapshot,
  { before }: MonthRange,
  { fundsMicros }: CurrentMonth,
  openingMicros: Micros,
): void {
  // The first month opens with nothing, and one without a fact yet with what there is.
  const left = before.closing?.fact.fundsMicros ?? (before.lastRevision < 0 ? 0 : fundsMicros)
  if (left === openingMicros) return
  const place = { stream, revision: before.closing?.stored.revision ?? 0 }
  throw brokenChainError(place, `${openingMicros} micros at the month's beginning`, `${left}`)
}

function closedHead(fact: MonthClosed) {
  const { openingMicros, fundsMicros, headRevision, headHash } = fact
  return {
    state: "closed" as const,
    openingMicros,
    closingMicros: fundsMicros,
    sums: sumsOf(fact),
    head: { revision: headRevision, hash: headHash },
  }
}

/** Of a month that began after the ledger's last fact there is nothing yet. */
function openHead(current: CurrentMonth, from: number, hash: string) {
  const { revision, fundsMicros, openingMicros, start } = current
  const isCurrent = start === from
  return {
    state: "open" as const,
    openingMicros: isCurrent ? openingMicros : fundsMicros,
    closingMicros: fundsMicros,
    sums: isCurrent ? sumsOf(current) : ZERO_MONTH_SUMS,
    head: { revision, hash },
  }
}

function sumsOf(month: BillSums): BillSums {
  const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, reducedMicros } = month
  const { charges } = month
  return {
    addedMicros,
    purchasedMicros,
    correctedMicros,
    chargedMicros,
    reducedMicros,
    charges,
  }
}

// Where in a ledger's stream a month stands, by the stream alone: the closing of the month before it,
// and its own. A ledger's times never go back, so both are found by halving.

/** A stream up to a revision that stands still. */
interface LedgerSnapshot {
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
interface MonthBoundary {
  /** The last revision before it; -1 where the ledger began after it. */
  readonly lastRevision: number
  /** The closing of the month before it; null where there is none. */
  readonly closing: Closing | null
}

/** A month's place: its facts are those behind `before.last`, up to `end.last`. */
interface MonthRange {
  readonly before: MonthBoundary
  readonly end: MonthBoundary
  /** The hash that its first fact must be chained to. */
  readonly hashBefore: string
}

/** A fact of a ledger and when it was. */
export function decodeLedgerFact(stored: StoredEvent): LedgerEvent {
  return decodeStored(LEDGER_AGGREGATE.codec, stored)
}

/** The fact at a revision. @throws BillRejected where there is none; FormatFault where it is none */
async function factAt(read: LedgerSnapshot, revision: number): Promise<LedgerEvent> {
  return decodeLedgerFact(await storedAt(read, revision))
}

/** The hash at a revision, as it is stored. @throws BillRejected where nothing stands there */
async function hashAt(read: LedgerSnapshot, revision: number): Promise<string> {
  return readMetadata((await storedAt(read, revision)).metadata).hash
}

/** The place of the month from `from` until `until`. @throws BillRejected, FormatFault */
async function findMonthRange(
  read: LedgerSnapshot,
  from: number,
  until: number,
): Promise<MonthRange> {
  const before = await findMonthBoundary(read, from)
  const end = await findMonthBoundary(read, until)
  const hashBefore =
    before.closing?.fact.headHash ??
    (before.lastRevision < 0 ? NO_HASH : await hashAt(read, before.lastRevision))
  return { before, end, hashBefore }
}

async function findMonthBoundary(read: LedgerSnapshot, instant: number): Promise<MonthBoundary> {
  const first = await firstRevisionFrom(read, instant)
  const isInside = first > 0 && first <= read.upTo
  const closing = isInside ? await findClosing(read, first, formatMonth(instant - 1)) : null
  return { lastRevision: first - 1, closing }
}

/** The first revision whose fact is of `instant` or later; one too many where none is. */
async function firstRevisionFrom(read: LedgerSnapshot, instant: number): Promise<number> {
  let [least, most] = [0, read.upTo + 1]
  while (least < most) {
    const middle = Math.floor((least + most) / 2)
    if ((await factAt(read, middle)).at >= instant) most = middle
    else least = middle + 1
  }
  return least
}

/** The closing of a month: closings that are recorded together follow their head one by one. */
async function findClosing(
  { store, stream }: LedgerSnapshot,
  first: number,
  month: string,
): Promise<Closing> {
  let hash: string | null = null
  let revision = first
  for await (const page of store.read(stream, { from: first })) {
    for (const stored of page) {
      const fact = decodeLedgerFact(stored)
      const place = { stream, revision: stored.revision }
      if (fact.type !== "MonthClosed") {
        throw brokenChainError(place, `the closing of ${month}`, stored.type)
      }
      if (fact.headRevision !== first - 1) {
        throw brokenChainError(
          place,
          `a closing behind ${first - 1}`,
          `one behind ${fact.headRevision}`,
        )
      }
      hash = verifyChainedHash(stored, revision, hash ?? fact.headHash)
      if (fact.month === month) return { stored, fact }
      revision += 1
    }
  }
  throw brokenChainError({ stream, revision }, `the closing of ${month}`, "nothing")
}

/**
 * The hash of a stored event that must stand at a revision and be chained to the hash before it.
 *
 * @throws BillRejected where it is not
 */
export function verifyChainedHash(
  stored: StoredEvent,
  revision: number,
  previousHash: string,
): string {
  try {
    return nextHash(stored, { revision: revision - 1, hash: previousHash })
  } catch (error) {
    if (!(error instanceof CorruptStream)) throw error
    const { stream, expected, found } = error.corruption
    throw brokenChainError({ stream, revision }, expected, found)
  }
}

async function storedAt({ store, stream }: LedgerSnapshot, revision: number): Promise<StoredEvent> {
  for await (const [stored] of store.read(stream, { from: revision, limit: 1 })) {
    if (stored?.revision === revision) return stored
  }
  throw brokenChainError({ stream, revision }, `revision ${revision}`, "nothing")
}
