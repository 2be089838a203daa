/**
 * The deletion of a company, as far as its ledger decides it: it can be undone until the company's
 * data begins to be erased, and that may begin after some days. Both are decided in this one stream,
 * so never both happen.
 */
import type { BeginErasure, CloseOrReopen, LedgerRefused } from "./ledger-commands.ts"
import type { LedgerFact } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"

/** The data of a deleted company is kept for so long. */
const KEPT_MS = 14 * 86_400_000

/** From when on the data of a company that was deleted at `closedAt` is erased, UTC milliseconds. */
export function erasedFrom(closedAt: number): number {
  return closedAt + KEPT_MS
}

/** A deletion as it stands. */
export interface Deletion {
  /** From when on the company's data is erased, UTC milliseconds. */
  readonly erasedFrom: number
  /** There is no way back any more. */
  readonly erasing: boolean
}

/** The deletion of the company; null where it is not deleted. */
export function deletionOf({ closedAt, erasing }: Ledger): Deletion | null {
  return closedAt === null ? null : { erasedFrom: erasedFrom(closedAt), erasing }
}

/** Closes and reopens a ledger, and lets the erasure begin once its time has come. */
export function decideDeletion(
  { type }: CloseOrReopen | BeginErasure,
  { closedAt, erasing }: Ledger,
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
    case "BeginErasure": {
      if (erasing) return []
      if (closedAt !== null && at >= erasedFrom(closedAt)) return [{ type: "ErasureStarted", at }]
      const message = "Only a company that was deleted 14 days ago or earlier is erased."
      return { type: "LedgerRefused", at, code: "not_deleted", message }
    }
  }
}
