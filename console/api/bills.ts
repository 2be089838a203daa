/** The months with bills, newest first. */
export interface BillList {
  readonly bills: readonly Bill[]
}

/** A month's bill: opening balance, changes and closing balance. Amounts are micro-dollars. */
export interface Bill {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  readonly state: "open" | "closed"
  readonly openingMicros: number
  readonly addedMicros: number
  readonly purchasedMicros: number
  readonly correctedMicros: number
  readonly chargedMicros: number
  readonly reducedMicros: number
  readonly closingMicros: number
  readonly charges: number
}

/** Download formats of a bill: format, title, purpose and file name extension. */
export const BILL_DOWNLOAD_FORMATS = [
  ["pdf", "PDF", "For a person, with names", "pdf"],
  ["csv", "CSV", "For a spreadsheet", "csv"],
  ["ndjson", "NDJSON", "For programs: one line per entry", "ndjson"],
  ["focus-csv", "FOCUS, as CSV", "For FinOps tools", "focus.csv"],
  ["focus-parquet", "FOCUS, as Parquet", "For a data warehouse", "focus.parquet"],
  ["hledger", "hledger", "For plain text accounting", "journal"],
] as const

const monthFormat = new Intl.DateTimeFormat("en", {
  year: "numeric",
  month: "long",
  timeZone: "UTC",
})

/** The name of a month: `November 2026`. */
export function monthText(month: string): string {
  const at = new Date(`${month}-01T00:00:00.000Z`)
  return Number.isNaN(at.getTime()) ? month : monthFormat.format(at)
}

/** The name of a plan: `payg` is `Pay as you go`. */
export function planText(plan: string): string {
  return plan === "payg" ? "Pay as you go" : `$${plan} a month`
}

/** How a company pays. */
export function paysText(pays: string): string {
  return pays === "card" ? "By card, at the end of the month" : "From prepaid funds"
}
