/** A bill for tests of its formats: its head, and a line to make others from. */
import { NO_SUMS } from "../../domain/charging/months.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead } from "../../src/exports/bill.ts"

/** The head of an open month in which nothing happened. */
export const HEAD: BillHead = {
  companyId: "co_aaaaaa",
  issuer: "Company Platform",
  month: "1970-01",
  from: 0,
  until: 31 * 86_400_000,
  state: "open",
  openingMicros: 0,
  closingMicros: 0,
  sums: NO_SUMS,
  head: { revision: 41, hash: "ab".repeat(32) },
}

/** A charge of two things, the dearest there can be. */
export const LINE: BillLine = {
  revision: 7,
  kind: "charge",
  chargeId: "chg_1",
  corrects: "",
  correctedAt: null,
  at: 0,
  servedFrom: 86_400_000,
  item: "thing",
  quantity: "2",
  unitPriceMicros: "1",
  amountMicros: -9_000_000_000_000_001,
  personId: "",
  keyId: "",
  class: "ai",
  resource: "",
  priceVersion: "3",
  description: "",
}
