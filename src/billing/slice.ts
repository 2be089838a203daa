/** Bills by HTTP, beyond the specification. */
import { billOperations, exportOperations } from "./operate/bills.ts"
import type { Slice } from "../frame/slice.ts"
import { exportBill, listBillingLines } from "./routes.ts"
import { billingSettings } from "./settings.ts"

/** Bills and their lines by HTTP. */
export const billingSlice: Slice = {
  name: "billing",
  settings: [billingSettings],
  groups: {
    billing: `The bill: its lines as JSON, and a month of it as a file for bookkeeping.

Of the money of a line, charges are below zero. A closed month never changes: what is given back later stands in the month
in which it was. Neither counted nor charged.`,
  },
  routes: [listBillingLines, exportBill],
  commands: [...exportOperations, ...billOperations],
  topics: { export: "bills for finance", bill: "companies' bills" },
}
