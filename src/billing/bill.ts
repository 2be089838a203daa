/**
 * The model of a bill: the head of a month, the totals of its lines, and the check that both agree.
 * Every format is a writer for it (`formats.ts`).
 */
import type { MonthSums } from "../../domain/charging/months.ts"
import { ZERO_MONTH_SUMS } from "../../domain/charging/months.ts"
import type { FormatFault } from "../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"

/** The movements of the funds in a month, each a sum. */
export type BillSums = Readonly<MonthSums>

/** The head of a month's bill, from the ledger. */
export interface BillHead {
  readonly companyId: CompanyId
  readonly issuer: string
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Its first millisecond, and the first after it. */
  readonly from: number
  readonly until: number
  /** A closed month never changes; an open one holds the amounts so far. */
  readonly state: "open" | "closed"
  readonly openingMicros: Micros
  readonly closingMicros: Micros
  /** The expected sums of the lines. */
  readonly sums: BillSums
  /** The last fact of the ledger in the bill. */
  readonly head: { readonly revision: number; readonly hash: string }
}

/** Formats the head: `ledger-co_…@<revision>:<hash>`. */
export function formatBillHead({ companyId, head }: BillHead): string {
  return `ledger-${companyId}@${head.revision}:${head.hash}`
}

export type FileChunk = string | Uint8Array

/** Writes a bill in one format: the beginning, each page of lines, and the end. */
export interface BillWriter {
  readonly begin: () => FileChunk
  readonly lines: (lines: readonly BillLine[]) => FileChunk
  readonly end: () => FileChunk | Promise<FileChunk>
}

/** The bill cannot be written. */
export class BillRejected extends Error {
  override readonly name = "BillRejected"
  readonly code: BillRejectionCode
  constructor(code: BillRejectionCode, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * `validation`: there is no such bill; `unavailable`: not yet; `conflict`: it contradicts the
 * ledger.
 */
type BillRejectionCode = "validation" | "unavailable" | "conflict"

/** Builds the error for a stream that is not as it was recorded. */
export function brokenChainError(
  { stream, revision }: { readonly stream: string; readonly revision: number },
  expected: string,
  found: string,
): BillRejected {
  const message =
    `${stream} was changed at revision ${revision}: expected ${expected}, found ${found}. ` +
    `Run "audit verify".`
  return new BillRejected("conflict", message)
}

/** Builds the error for a fact that this program cannot read. */
export function unreadableFactError(stream: string, fault: FormatFault): BillRejected {
  const message = `${stream} cannot be read: ${fault.message}. Run "audit verify".`
  return new BillRejected("unavailable", message)
}

export interface BillTotals {
  readonly add: (lines: readonly BillLine[]) => void
  readonly lines: () => number
  /** The sum of their amounts: the change of the funds. */
  readonly totalMicros: () => Micros
  readonly sums: () => BillSums
}

/** Creates empty totals. */
export function openBillTotals(): BillTotals {
  const sums: MonthSums = { ...ZERO_MONTH_SUMS }
  let lines = 0
  const total = () =>
    sums.addedMicros +
    sums.purchasedMicros +
    sums.correctedMicros -
    sums.chargedMicros +
    sums.reducedMicros
  return {
    add: (page) => {
      lines += page.length
      for (const { kind, amountMicros } of page) {
        if (kind === "charge" || kind === "api_calls" || kind === "rent") {
          sums.chargedMicros -= amountMicros
          sums.charges += 1
        } else if (kind === "give_back") sums.reducedMicros += amountMicros
        else if (kind === "purchase") sums.purchasedMicros += amountMicros
        else if (kind === "funds_added") sums.addedMicros += amountMicros
        else sums.correctedMicros += amountMicros
      }
    },
    lines: () => lines,
    totalMicros: total,
    sums: () => sums,
  }
}

/** Checks that the lines add up to the ledger's sums. @throws BillRejected if they do not */
export function checkBillSums(head: BillHead, fold: BillTotals): void {
  const fault = firstSumFault(head, fold.sums(), fold.totalMicros())
  if (fault === null) return
  const message = `The lines of ${head.month} do not add up: ${fault}. No file was written. Run "audit verify".`
  throw new BillRejected("conflict", message)
}

const SUM_LABELS: Readonly<Record<keyof BillSums, string>> = {
  addedMicros: "funds added",
  purchasedMicros: "funds purchased",
  correctedMicros: "funds corrected",
  chargedMicros: "charged",
  reducedMicros: "refunded",
  charges: "charges",
}

/** Describes the first sum that differs from the ledger's. */
function firstSumFault(head: BillHead, sums: BillSums, total: Micros): string | null {
  for (const name of Object.keys(SUM_LABELS) as (keyof BillSums)[]) {
    if (sums[name] === head.sums[name]) continue
    const unit = name === "charges" ? "" : " micros"
    return `${SUM_LABELS[name]} is ${sums[name]}${unit} by the lines and ${head.sums[name]} by the ledger`
  }
  if (head.openingMicros + total === head.closingMicros) return null
  return (
    `the lines change the funds by ${total} micros, and the ledger went from ` +
    `${head.openingMicros} to ${head.closingMicros}`
  )
}
