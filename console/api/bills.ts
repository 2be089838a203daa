/** The months that the company has bills of, the newest first. */
export interface BillList {
  readonly bills: readonly Bill[]
}

/** A month: what it began with, what moved the funds in it, what it left. Amounts are micros. */
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

/** The forms that a month can be downloaded in: the name, what it is for, and what its file ends in. */
export const BILL_DOWNLOAD_FORMATS = [
  ["pdf", "PDF", "For a person, with names", "pdf"],
  ["csv", "CSV", "For a spreadsheet", "csv"],
  ["ndjson", "NDJSON", "For a program: a line each", "ndjson"],
  ["focus-csv", "FOCUS, as CSV", "For FinOps tools", "focus.csv"],
  ["focus-parquet", "FOCUS, as Parquet", "For a data warehouse", "focus.parquet"],
  ["hledger", "hledger", "For plain text accounting", "journal"],
] as const

const monthFormat = new Intl.DateTimeFormat("en", {
  year: "numeric",
  month: "long",
  timeZone: "UTC",
})

/** What a month is called: `November 2026`. */
export function monthText(month: string): string {
  const at = new Date(`${month}-01T00:00:00.000Z`)
  return Number.isNaN(at.getTime()) ? month : monthFormat.format(at)
}

/** What a plan is called: `payg` is `Pay as you go`. */
export function planText(plan: string): string {
  return plan === "payg" ? "Pay as you go" : `$${plan} a month`
}

/** What a company pays from. */
export function paysText(pays: string): string {
  return pays === "card" ? "By card, at the end of the month" : "From prepaid funds"
}
