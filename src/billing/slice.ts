/** The billing slice: bills over HTTP, beyond the specification. */
import { billOperations, exportOperations } from "./operate/bills.ts"
import type { Slice } from "../frame/slice.ts"
import { exportBill, listBillingLines } from "./routes.ts"
import { billingSettings } from "./settings.ts"

/** Routes and operations of bills. */
export const billingSlice: Slice = {
  name: "billing",
  settings: [billingSettings],
  groups: {
    billing: `The bill: its lines as JSON, and a month of it as a file for bookkeeping.

Charges are negative amounts. A closed month never changes: a later refund is in the month in which it was made.
These calls are not counted or charged.`,
  },
  routes: [listBillingLines, exportBill],
  commands: [...exportOperations, ...billOperations],
  topics: { export: "bills for finance", bill: "companies' bills" },
}
