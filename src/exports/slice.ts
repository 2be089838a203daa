/** Bills by HTTP, beyond the specification. */
import { exportOperations } from "./operate/export.ts"
import type { Slice } from "../frame/slice.ts"
import { exportBill } from "./routes/export-bill.ts"
import { billingSettings } from "./settings.ts"
import { listLines } from "./routes/list-lines.ts"

/** Bills and their lines by HTTP. */
export const billing: Slice = {
  name: "billing",
  settings: [billingSettings],
  routes: [listLines, exportBill],
  operations: exportOperations,
  topics: { export: "bills for finance" },
}
