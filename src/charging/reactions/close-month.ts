/**
 * Closes a month of a company in which nothing else does: whatever an active company's ledger records
 * first in a new month closes the old one by itself. Closed already, nothing is recorded.
 */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import { monthEnd } from "../../../domain/kernel/window.ts"
import type { MonthWork } from "../../../projections/work.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

/** Closes every month that is over. */
export async function closeMonth(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const { month } = work.payload as MonthWork
  const companyId = work.companyId ?? ""
  const dueAt = monthEnd(Date.parse(`${month}-01T00:00:00Z`))
  // An operator may have called it early; it must not be done and gone before its time.
  if (ports.clock.now() < dueAt) return { result: "later", dueAt }
  const outcome = await ports.runner.execute(
    ledgerOf(companyId),
    { type: "CloseMonth" },
    causedBy(`close-month ${month}`),
  )
  if (!outcome.accepted) throw new Error(`the month could not be closed: ${outcome.refusal.type}`)
  return { result: "done" }
}
