/**
 * What the ledger says of a month, before a line of its bill is read: of a closed one the sealed
 * `MonthClosed`, of an open one the state of the ledger at its last fact. The lines come from a read
 * model, so that what they must add up to is known from elsewhere.
 */
import type { Kysely } from "kysely"
import type { Position, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { MonthClosed } from "../../domain/charging/ledger-events.ts"
import type { OpenMonth } from "../../domain/charging/ledger-views.ts"
import { openMonthOf } from "../../domain/charging/ledger-views.ts"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { monthEnd } from "../../domain/kernel/window.ts"
import { monthRange } from "../../projections/months.ts"
import { LEDGER } from "../aggregates.ts"
import { readMetadata } from "../envelope.ts"
import type { Ports } from "../ports.ts"
import { recordedOf } from "../recorded.ts"
import type { BillHead, BillSums } from "./bill.ts"
import { BillRefused } from "./bill.ts"

/** What a bill is made with. */
export type BillPorts = Pick<Ports, "runner" | "store" | "projector" | "sealing" | "pacer">

/** Reads the read models, as an operator or as the company whose bill it is. */
// Each query names the tables it needs.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type BillRead = <T>(query: (db: Kysely<any>) => Promise<T>) => Promise<T>

/** Which bill, and how long its read models may take to catch up. */
export interface BillAsked {
  readonly companyId: CompanyId
  /** `YYYY-MM`, UTC. */
  readonly month: string
  readonly read: BillRead
  readonly waitMs: number
}

/** A bill that can be read: its lines are those of revisions above `after` and at most `upTo`. */
export interface OpenedBill {
  readonly head: BillHead
  readonly after: number
  readonly upTo: number
  /** Where in the global order the month was closed; null while it is open. */
  readonly closedAt: Position | null
}

/** What a month without a fact comes to. */
const NOTHING: BillSums = {
  addedMicros: 0,
  purchasedMicros: 0,
  correctedMicros: 0,
  chargedMicros: 0,
  givenBackMicros: 0,
  charges: 0,
}

/** Finds out what a month's bill must come to. @throws BillRefused where nobody can say */
export async function openBill(ports: BillPorts, asked: BillAsked): Promise<OpenedBill> {
  const { companyId, month, read, waitMs } = asked
  const stream = ledgerStream(companyId)
  const from = Date.parse(`${month}-01T00:00:00.000Z`)
  const current = await ports.runner
    .lookAtTail(LEDGER, stream, openMonthOf)
    .catch((error: unknown) => {
      throw error instanceof FormatFault ? unreadable(stream, error) : error
    })
  await waitForLines(ports, waitMs)
  const { after, upTo } = await read((db) => monthRange(db, companyId, month))
  const bare = { companyId, month, from, until: monthEnd(from) }
  if (upTo !== null) {
    const { stored, fact } = await closingOf(ports, stream, month, upTo)
    const head = { ...bare, ...closedHead(fact) }
    return { head, after, upTo, closedAt: stored.position }
  }
  if (current === null || current.start > from) {
    // It was over before there was a ledger, and can never change.
    const ends = { state: "closed" as const, openingMicros: 0, closingMicros: 0, head: null }
    return { head: { ...bare, ...ends, sums: NOTHING }, after: -1, upTo: -1, closedAt: null }
  }
  const hash = await hashAt(ports, stream, current.revision)
  const head = { ...bare, ...openHead(current, from, hash) }
  const isCurrent = current.start === from
  return {
    head,
    after: isCurrent ? after : current.revision,
    upTo: current.revision,
    closedAt: null,
  }
}

/** Waits until the lines of everything stored so far are there. @throws BillRefused: they are not */
async function waitForLines(
  { projector, store }: Pick<BillPorts, "projector" | "store">,
  waitMs: number,
): Promise<void> {
  if (await projector.waitFor(await store.head(), waitMs, ["charges", "months"])) return
  const message =
    'The read model "charges" or "months" is stopped or behind; see "projections status".'
  throw new BillRefused("unavailable", message)
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
function openHead(current: OpenMonth, from: number, hash: string) {
  const { revision, fundsMicros, openingMicros, start } = current
  const isCurrent = start === from
  return {
    state: "open" as const,
    openingMicros: isCurrent ? openingMicros : fundsMicros,
    closingMicros: fundsMicros,
    sums: isCurrent ? sumsOf(current) : NOTHING,
    head: { revision, hash },
  }
}

function sumsOf(month: BillSums): BillSums {
  const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, givenBackMicros } = month
  const { charges } = month
  return {
    ...{ addedMicros, purchasedMicros, correctedMicros, chargedMicros, givenBackMicros },
    charges,
  }
}

/** The closing of a month: closings that are recorded together follow their head one by one. */
async function closingOf(
  { store }: BillPorts,
  stream: string,
  month: string,
  headRevision: number,
): Promise<{ readonly stored: StoredEvent; readonly fact: MonthClosed }> {
  for await (const page of store.read(stream, { from: headRevision + 1 })) {
    for (const stored of page) {
      const { fact } = recordedOf(stored)
      if (fact.type !== "MonthClosed") throw brokenAt(stream, stored.revision)
      if (fact.month === month) return { stored, fact }
    }
  }
  throw brokenAt(stream, headRevision)
}

async function hashAt({ store }: BillPorts, stream: string, revision: number): Promise<string> {
  for await (const [last] of store.read(stream, { from: revision, limit: 1 })) {
    if (last !== undefined) return readMetadata(last.metadata).hash
  }
  throw brokenAt(stream, revision)
}

function unreadable(stream: string, fault: FormatFault): BillRefused {
  const message = `${stream} cannot be read: ${fault.message}; run "audit verify".`
  return new BillRefused("unavailable", message)
}

function brokenAt(stream: string, revision: number): BillRefused {
  const message = `${stream} is not as its read models say from revision ${revision} on; run "audit verify".`
  return new BillRefused("conflict", message)
}
