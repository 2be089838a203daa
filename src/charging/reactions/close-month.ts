/**
 * Closes a month of a company in which nothing else does: whatever an active company's ledger records
 * first in a new month closes the old one by itself. Closed already, nothing is recorded.
 */
import { z } from "zod"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { monthEnd, monthName } from "../../../domain/kernel/window.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"

/** Closes every month that is over. */
export const closeMonth = reaction({
  kind: "close-month",
  // The month that is over when it is due, `YYYY-MM`.
  payload: z.object({ month: z.string() }),
  from: {
    LedgerOpened: ({ at }, { companyId }) => [monthOf(companyId, at)],
    MonthClosed: ({ at }, { companyId }) => [monthOf(companyId, at)],
  },
  giveUp: "owed",
  perform: async ({ runner, clock }, { companyId, payload: { month } }) => {
    const dueAt = monthEnd(Date.parse(`${month}-01T00:00:00Z`))
    // An operator may have called it early; it must not be done and gone before its time.
    if (clock.now() < dueAt) return { result: "later", dueAt }
    const cause = causedBy(`close-month ${month}`)
    const outcome = await runner.execute(ledgerOf(companyId), { type: "CloseMonth" }, cause)
    if (!outcome.accepted) {
      throw new Error(`the month could not be closed: ${outcome.refusal.type}`)
    }
    return { result: "done" }
  },
})

/**
 * The month of `at` is closed when it is over, for companies in which nothing happens by then; where
 * something does, its closing is recorded with it and this finds nothing to do.
 */
function monthOf(companyId: CompanyId, at: number) {
  const month = monthName(at)
  return { name: `${companyId}:${month}`, payload: { month }, dueAt: monthEnd(at) }
}
