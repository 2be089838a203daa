/**
 * A bill: what is known of a month before its first line, the one fold over its lines, and whether
 * both come to the same. Every format is a writer over this (`formats.ts`).
 */
import type { MonthSums } from "../../domain/charging/months.ts"
import { ZERO_MONTH_SUMS } from "../../domain/charging/months.ts"
import type { FormatFault } from "../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"

/** What moved the funds in a month, each as a sum of its own; `charged` counts what was taken. */
export type BillSums = Readonly<MonthSums>

/** What the ledger says of a month. */
export interface BillHead {
  readonly companyId: CompanyId
  /** Who bills. */
  readonly issuer: string
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Its first millisecond, and the first after it. */
  readonly from: number
  readonly until: number
  /** A closed month never changes again; of an open one this is all there is so far. */
  readonly state: "open" | "closed"
  readonly openingMicros: Micros
  readonly closingMicros: Micros
  /** What the lines must come to. */
  readonly sums: BillSums
  /** The last fact of the ledger that it goes up to. */
  readonly head: { readonly revision: number; readonly hash: string }
}

/** The head as one text: `ledger-co_…@<revision>:<hash>`. */
export function formatBillHead({ companyId, head }: BillHead): string {
  return `ledger-${companyId}@${head.revision}:${head.hash}`
}

/** A piece of a file. */
export type FileChunk = string | Uint8Array

/** Writes a bill in one format: what to send first, for each page of lines, and last. */
export interface BillWriter {
  readonly begin: () => FileChunk
  readonly lines: (lines: readonly BillLine[]) => FileChunk
  readonly end: () => FileChunk | Promise<FileChunk>
}

/** The export cannot be made as it was asked for. */
export class BillRejected extends Error {
  override readonly name = "BillRejected"
  readonly code: BillRejectionCode
  constructor(code: BillRejectionCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Asked for what cannot be (`validation`), not yet (`unavailable`), or at odds with what is stored. */
type BillRejectionCode = "validation" | "unavailable" | "conflict"

/** The stream is not as it was sealed: where, what must be there, and what is. */
export function brokenChainError(
  { stream, revision }: { readonly stream: string; readonly revision: number },
  expected: string,
  found: string,
): BillRejected {
  const message =
    `${stream} is not as it was sealed at revision ${revision}: expected ${expected}, ` +
    `found ${found}; run "audit verify".`
  return new BillRejected("conflict", message)
}

/** A fact that this program cannot read. */
export function unreadableFactError(stream: string, fault: FormatFault): BillRejected {
  const message = `${stream} cannot be read: ${fault.message}; run "audit verify".`
  return new BillRejected("unavailable", message)
}

/** The fold over the lines of a bill. */
export interface BillTotals {
  readonly add: (lines: readonly BillLine[]) => void
  /** How many lines there were. */
  readonly lines: () => number
  /** The sum of their amounts: the change of the funds. */
  readonly totalMicros: () => Micros
  readonly sums: () => BillSums
}

/** Begins to sum up lines. */
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

/** Sees that the lines come to what the ledger says. @throws BillRejected where they do not */
export function checkBillSums(head: BillHead, fold: BillTotals): void {
  const fault = firstSumFault(head, fold.sums(), fold.totalMicros())
  if (fault === null) return
  const message = `The lines of ${head.month} do not add up: ${fault}. Nothing was kept; run "audit verify".`
  throw new BillRejected("conflict", message)
}

const SUM_LABELS: Readonly<Record<keyof BillSums, string>> = {
  addedMicros: "funds added",
  purchasedMicros: "funds purchased",
  correctedMicros: "funds corrected",
  chargedMicros: "charged",
  reducedMicros: "given back",
  charges: "charges",
}

/** The first sum that is not as the ledger has it. */
function firstSumFault(head: BillHead, sums: BillSums, total: Micros): string | null {
  for (const name of Object.keys(SUM_LABELS) as (keyof BillSums)[]) {
    if (sums[name] === head.sums[name]) continue
    const unit = name === "charges" ? "" : " micros"
    return `${SUM_LABELS[name]} is ${sums[name]}${unit} by its lines and ${head.sums[name]} by the ledger`
  }
  if (head.openingMicros + total === head.closingMicros) return null
  return (
    `they change the funds by ${total} micros, and the ledger went from ` +
    `${head.openingMicros} to ${head.closingMicros}`
  )
}
