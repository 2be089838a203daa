/**
 * What the ledger says of a month, before a line of its bill is read: of a closed one the sealed
 * `MonthClosed`, of an open one the state of the ledger at its last fact. Both, the place of the month
 * and its lines (`ledger-lines.ts`) come from the ledger's stream; no read model is asked.
 */
import { LEDGER, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { MonthClosed } from "../../domain/charging/ledger-formats.ts"
import type { OpenMonth } from "../../domain/charging/ledger-views.ts"
import { openMonthOf } from "../../domain/charging/ledger-views.ts"
import { NO_SUMS } from "../../domain/charging/months.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { monthEnd, monthName, monthStart } from "../../domain/kernel/window.ts"
import type { Ports } from "../frame/ports.ts"
import type { BillHead, BillSums } from "./bill.ts"
import { BillRefused, brokenChain, unreadable } from "./bill.ts"
import type { LedgerRead, MonthPlace } from "./month-place.ts"
import { billingSettings } from "./settings.ts"
import { factAt, hashAt, placeOfMonth } from "./month-place.ts"

/** What a bill is made with. */
export type BillPorts = Pick<
  Ports,
  "runner" | "store" | "streams" | "sealing" | "clock" | "pacer" | "settings"
>

/** Which bill. */
export interface BillAsked {
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

/** Finds out what a month's bill must come to. @throws BillRefused where nobody can say */
export async function openBill(ports: BillPorts, asked: BillAsked): Promise<OpenedBill> {
  const stream = ledgerOf(asked.companyId).stream
  try {
    return await openedBill(ports, asked, stream)
  } catch (error) {
    throw error instanceof FormatFault ? unreadable(stream, error) : error
  }
}

async function openedBill(
  ports: BillPorts,
  { companyId, month }: BillAsked,
  stream: string,
): Promise<OpenedBill> {
  const from = Date.parse(`${month}-01T00:00:00.000Z`)
  const current = await ports.runner.readLatest({ aggregate: LEDGER, stream }, openMonthOf)
  if (current === null) {
    throw new BillRefused("unavailable", `The ledger of ${companyId} is not opened yet.`)
  }
  const read = { store: ports.store, stream, upTo: current.revision }
  await refuseNoMonth(ports, read, current, from)
  const until = monthEnd(from)
  const place = await placeOfMonth(read, from, until)
  const { before, end, hashBefore } = place
  const { BILLING_ISSUER: issuer } = ports.settings(billingSettings)
  const bare = { companyId, issuer, month, from, until }
  const head =
    end.closing === null
      ? { ...bare, ...openHead(current, from, await hashAt(read, current.revision)) }
      : { ...bare, ...closedHead(end.closing.fact) }
  checkOpening(read, place, current, head.openingMicros)
  const closedAt = end.closing?.stored.position ?? null
  return { head, after: before.last, upTo: end.last, hashBefore, closedAt }
}

/** There are bills from the month in which the ledger was opened to the current one. */
async function refuseNoMonth(
  { clock }: BillPorts,
  read: LedgerRead,
  current: OpenMonth,
  from: number,
): Promise<void> {
  const first = monthStart((await factAt(read, 0)).at)
  const last = Math.max(monthStart(clock.now()), current.start)
  if (from >= first && from <= last) return
  const [oldest, newest] = [monthName(first), monthName(last)]
  const message =
    oldest === newest
      ? `There is no bill for ${monthName(from)}: there is one for ${oldest} alone, in which the ledger was opened.`
      : `There is no bill for ${monthName(from)}: there are bills from ${oldest}, in which the ledger was opened, to ${newest}.`
  throw new BillRefused("validation", message)
}

/** A month opens with what the one before it closed with. */
function checkOpening(
  { stream }: LedgerRead,
  { before }: MonthPlace,
  { fundsMicros }: OpenMonth,
  openingMicros: Micros,
): void {
  // The first month opens with nothing, and one without a fact yet with what there is.
  const left = before.closing?.fact.fundsMicros ?? (before.last < 0 ? 0 : fundsMicros)
  if (left === openingMicros) return
  const place = { stream, revision: before.closing?.stored.revision ?? 0 }
  throw brokenChain(place, `${openingMicros} micros at the month's beginning`, `${left}`)
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
    sums: isCurrent ? sumsOf(current) : NO_SUMS,
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
