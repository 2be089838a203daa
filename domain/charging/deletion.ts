/**
 * The deletion of a company, as far as its ledger decides it: it can be undone until the company's
 * data begins to be erased, and that may begin after some days. Both are decided in this one stream,
 * so never both happen.
 */
import type { StartErasure, CloseOrReopenLedger, LedgerRefused } from "./ledger-commands.ts"
import type { LedgerFact } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"

/** The data of a deleted company is kept for so long. */
const RETENTION_MS = 14 * 86_400_000

/** From when on the data of a company that was deleted at `closedAt` is erased, UTC milliseconds. */
export function erasureStartsAt(closedAt: number): number {
  return closedAt + RETENTION_MS
}

/** A deletion as it stands. */
export interface CompanyDeletion {
  /** From when on the company's data is erased, UTC milliseconds. */
  readonly erasureStartsAt: number
  /** There is no way back any more. */
  readonly isErasing: boolean
}

/** The deletion of the company; null where it is not deleted. */
export function deletionOf({ closedAt, erasing: isErasing }: LedgerState): CompanyDeletion | null {
  return closedAt === null ? null : { erasureStartsAt: erasureStartsAt(closedAt), isErasing }
}

/** Closes and reopens a ledger, and lets the erasure begin once its time has come. */
export function decideDeletion(
  { type }: CloseOrReopenLedger | StartErasure,
  { closedAt, erasing }: LedgerState,
  at: number,
): readonly LedgerFact<"LedgerClosed" | "LedgerReopened" | "ErasureStarted">[] | LedgerRefused {
  switch (type) {
    case "CloseLedger":
      return closedAt === null ? [{ type: "LedgerClosed", at }] : []
    case "ReopenLedger": {
      if (!erasing) return closedAt === null ? [] : [{ type: "LedgerReopened", at }]
      const message =
        "This company was deleted 14 days ago or earlier: its data is erased and cannot come back."
      return { type: "LedgerRefused", at, code: "company_erased", message }
    }
    case "StartErasure": {
      if (erasing) return []
      if (closedAt !== null && at >= erasureStartsAt(closedAt))
        return [{ type: "ErasureStarted", at }]
      const message = "Only a company that was deleted 14 days ago or earlier is erased."
      return { type: "LedgerRefused", at, code: "not_deleted", message }
    }
  }
}
