/**
 * Deletion of a company, as decided by its ledger: it can be undone until erasure starts, which is possible after
 * 14 days. Both are decided in one stream, so never both happen.
 */
import type { StartErasure, CloseOrReopenLedger, LedgerRefused } from "./ledger-commands.ts"
import type { LedgerFact } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"

const RETENTION_MS = 14 * 86_400_000

/** Returns when the data of a company that was deleted at `closedAt` is erased, UTC milliseconds. */
export function erasureStartsAt(closedAt: number): number {
  return closedAt + RETENTION_MS
}

export interface CompanyDeletion {
  readonly erasureStartsAt: number
  /** The deletion can no longer be undone. */
  readonly isErasing: boolean
}

/** Returns the deletion of the company; null if it is not deleted. */
export function deletionOf({ closedAt, erasing: isErasing }: LedgerState): CompanyDeletion | null {
  return closedAt === null ? null : { erasureStartsAt: erasureStartsAt(closedAt), isErasing }
}

/** Decides closing, reopening and the start of erasure. */
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
        "This company was deleted at least 14 days ago; its data is erased and cannot be restored."
      return { type: "LedgerRefused", at, code: "company_erased", message }
    }
    case "StartErasure": {
      if (erasing) return []
      if (closedAt !== null && at >= erasureStartsAt(closedAt))
        return [{ type: "ErasureStarted", at }]
      const message = "Only a company that was deleted at least 14 days ago can be erased."
      return { type: "LedgerRefused", at, code: "not_deleted", message }
    }
  }
}
