/**
 * Opens a bill: reads a month's head from the ledger's stream, before its lines. A closed month has
 * the fact `MonthClosed`, an open one the ledger's current state. No read model is used.
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

export type BillPorts = Pick<
  Ports,
  "runner" | "store" | "streams" | "sealing" | "clock" | "pacer" | "settings"
>

export interface BillRequest {
  readonly companyId: CompanyId
  /** `YYYY-MM`, UTC. */
  readonly month: string
}

/** An opened bill: its lines are the facts with revisions above `after` and at most `upTo`. */
export interface OpenedBill {
  readonly head: BillHead
  readonly after: number
  readonly upTo: number
  /** Hash of the event at `after`, which the first fact is chained to. */
  readonly hashBefore: string
  /** Position in the global order at which the month was closed; null while it is open. */
  readonly closedAt: Position | null
}

/** Opens a month's bill. @throws BillRejected if there is no such bill or it cannot be read */
export async function openBill(ports: BillPorts, request: BillRequest): Promise<OpenedBill> {
  const stream = ledgerStreamOf(request.companyId).stream
  try {
    return await readBill(ports, request, stream)
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
    throw new BillRejected("unavailable", `The ledger of ${companyId} is not open yet. Try again.`)
  }
  const read = { store: ports.store, stream, upTo: current.revision }
  await rejectMissingMonth(ports, read, current, from)
  const until = monthEnd(from)
  const range = await findMonthRange(read, from, until)
  const { before, end, hashBefore } = range
  const { BILLING_ISSUER: issuer } = ports.settings(billingSettings)
  const common = { companyId, issuer, month, from, until }
  const head =
    end.closing === null
      ? { ...common, ...openHead(current, from, await hashAt(read, current.revision)) }
      : { ...common, ...closedHead(end.closing.fact) }
  checkOpening(read, range, current, head.openingMicros)
  const closedAt = end.closing?.stored.position ?? null
  return { head, after: before.lastRevision, upTo: end.lastRevision, hashBefore, closedAt }
}

/** Rejects months before the ledger was opened and after the current month. */
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
      ? `There is no bill for ${formatMonth(from)}. The ledger was opened in ${oldest}, so this is its only bill.`
      : `There is no bill for ${formatMonth(from)}. Bills exist from ${oldest}, when the ledger was opened, to ${newest}.`
  throw new BillRejected("validation", message)
}

/** Checks that a month opens with the closing funds of the month before it. */
function checkOpening(
  { stream }: LedgerSnapshot,
  { before }: MonthRange,
  { fundsMicros }: CurrentMonth,
  openingMicros: Micros,
): void {
  // The first month opens with zero, and a month without facts with the current funds.
  const left = before.closing?.fact.fundsMicros ?? (before.lastRevision < 0 ? 0 : fundsMicros)
  if (left === openingMicros) return
  const location = { stream, revision: before.closing?.stored.revision ?? 0 }
  throw brokenChainError(location, `${openingMicros} micros at the month's beginning`, `${left}`)
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

/** A month that began after the ledger's last fact has no movements yet. */
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

// Finds a month in a ledger's stream: the closing of the month before it, and its own. A ledger's
// times never go back, so both are found by binary search.

/** A stream up to a fixed revision. */
interface LedgerSnapshot {
  readonly store: EventStore
  readonly stream: string
  /** The last revision to read. */
  readonly upTo: number
}

interface Closing {
  readonly stored: StoredEvent
  readonly fact: MonthClosed
}

interface MonthBoundary {
  /** The last revision before it; -1 if the ledger began later. */
  readonly lastRevision: number
  /** The closing of the month before it; null where there is none. */
  readonly closing: Closing | null
}

/** The range of a month: the facts after `before.lastRevision`, up to `end.lastRevision`. */
interface MonthRange {
  readonly before: MonthBoundary
  readonly end: MonthBoundary
  /** The hash that its first fact must be chained to. */
  readonly hashBefore: string
}

/** Decodes a stored fact of a ledger. */
export function decodeLedgerFact(stored: StoredEvent): LedgerEvent {
  return decodeStored(LEDGER_AGGREGATE.codec, stored)
}

/**
 * The fact at a revision. @throws BillRejected if there is none; FormatFault if it cannot be
 * decoded
 */
async function factAt(read: LedgerSnapshot, revision: number): Promise<LedgerEvent> {
  return decodeLedgerFact(await storedAt(read, revision))
}

/** The stored hash at a revision. @throws BillRejected if there is none */
async function hashAt(read: LedgerSnapshot, revision: number): Promise<string> {
  return readMetadata((await storedAt(read, revision)).metadata).hash
}

/** Finds the range of the month from `from` until `until`. @throws BillRejected, FormatFault */
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

/** The first revision whose fact is at `instant` or later; `upTo + 1` if there is none. */
async function firstRevisionFrom(read: LedgerSnapshot, instant: number): Promise<number> {
  let [least, most] = [0, read.upTo + 1]
  while (least < most) {
    const middle = Math.floor((least + most) / 2)
    if ((await factAt(read, middle)).at >= instant) most = middle
    else least = middle + 1
  }
  return least
}

/** Finds the closing of a month: closings recorded together follow each other. */
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
      const location = { stream, revision: stored.revision }
      if (fact.type !== "MonthClosed") {
        throw brokenChainError(location, `the closing of ${month}`, stored.type)
      }
      if (fact.headRevision !== first - 1) {
        throw brokenChainError(
          location,
          `a closing after ${first - 1}`,
          `one after ${fact.headRevision}`,
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
 * Returns the hash of a stored event after checking its revision and its chain.
 *
 * @throws BillRejected if either is wrong
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
